"""RandDPGen, by scores, by noisy marginals and by the paper's text."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from dpmosaic.curator.mechanisms.randdpgen.by_scores import ROUND, ROUNDS, SCORES
from dpmosaic.curator.mechanisms.randdpgen.randdpgen import RandDPGen
from support.spending import spent_by_step

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2})


class DefaultContract:
    """Inherited by the tests of both kinds of selection of the default."""

    def test_a_huge_budget_gives_the_exact_workload(self, chain_table, run):
        table = chain_table()
        fitted, _ = run(self.mechanism(), table, Budget(zcdp_rho=1e8))
        for clique in itertools.combinations(DOMAIN.names, 2):
            assert np.allclose(fitted.model.marginal(clique), table.marginal(clique), atol=12), clique

    def test_it_is_closer_than_independence_where_attributes_depend(self, chain_table, run):
        table = chain_table()

        def error(mechanism):
            fitted, _ = run(mechanism, table, Budget(1.0, 1e-9))
            pairs = itertools.combinations(DOMAIN.names, 2)
            return sum(np.abs(fitted.model.marginal(c) - table.marginal(c)).sum() for c in pairs)

        assert error(self.mechanism()) < 0.5 * error(Independent())

    def test_selection_costs_nothing(self, chain_table, run):
        _, measurer = run(self.mechanism(), chain_table(), Budget(1.0, 1e-9))
        assert all(charge.sigmas for charge in measurer.accountant.charges)

    def test_the_model_stays_within_its_limit(self, run, wide_table):
        limit = 600 * 8 / 2**20
        mechanism = replace(self.mechanism(), max_model_mb=limit)
        fitted, _ = run(mechanism, wide_table(), Budget(20.0, 1e-9))
        assert fitted.model.size_mb <= limit
        assert len({done.clique for done in fitted.rounds}) >= 2

    def test_skips_marginals_that_the_model_cannot_compute(self, monkeypatch, chain_table, run):
        monkeypatch.setattr("dpmosaic.curator.pgm.inference.queries.LARGEST_TABLE_CELLS", 7)
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(5.0, 1e-9))
        assert measurer.accountant.spent > measurer.accountant.granted * Fraction(999, 1000)
        assert all(np.isfinite(bound.l1) for bound in fitted.bounds)
        assert len(fitted.bounds) < 6

    def test_candidates_with_too_many_cells_are_dropped(self, chain_table, run):
        fitted, _ = run(replace(self.mechanism(), maxsize=6), chain_table(), Budget(5.0, 1e-9))
        assert {len(m.clique) for m in fitted.measurements} == {1, 2}
        assert max(m.values.size for m in fitted.measurements if len(m.clique) == 2) <= 6

    def test_refuses_a_model_that_cannot_be_small_enough_before_any_charge(
        self, chain_table, measurer_over, run
    ):
        mechanism = replace(self.mechanism(), max_model_mb=1e-6)
        measurer = measurer_over(chain_table(), Fraction(1))
        with pytest.raises(ModelError, match="max_model_mb"):
            mechanism.run(measurer, Workload.all_kway(DOMAIN, 2), RandomStream.from_seed(1), ignore)
        assert measurer.accountant.charges == ()


class TestRandDPGenByMarginals(DefaultContract):
    def mechanism(self):
        return RandDPGen(selection="marginals")

    def test_states_its_kind_of_selection(self, chain_table, run):
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(1.0, 1e-9))
        assert fitted.selection == BY_MARGINALS
        assert not any(charge.scores for charge in measurer.accountant.charges)

    def test_a_round_that_learns_little_quadruples_the_cost_of_the_next(self, chain_table, run):
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(5.0, 1e-9))
        granted = float(measurer.accountant.granted)
        first = (1 - 0.3 - 0.1) * granted / (16 * 4)
        assert len(fitted.rounds) > 2
        for done in fitted.rounds:
            # A round without a worthwhile candidate is skipped and also quadruples the cost.
            power = np.log(done.zcdp_rho / first) / np.log(4)
            assert power == pytest.approx(round(power), abs=1e-6)
        for now, following in itertools.pairwise(fitted.rounds):
            assert following.zcdp_rho >= now.zcdp_rho * (4 if now.annealed else 1) * (1 - 1e-9)


BY_SCORES = "exact L1 distances with noise"
BY_MARGINALS = "L1 distances estimated from noisy marginals"


class TestRandDPGenByScores(DefaultContract):
    def mechanism(self):
        return RandDPGen()

    def test_the_budget_is_split_into_one_way_marginals_scores_rounds_and_a_last_round(
        self, chain_table, run
    ):
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(5.0, 1e-9))
        for charge in measurer.accountant.charges:
            assert charge.scores == (charge.step == "scores")
        spent, granted = spent_by_step(measurer), float(measurer.granted)
        rounds = spent["round"] / ROUND
        assert rounds == pytest.approx(round(rounds))
        assert 1 <= round(rounds) <= ROUNDS
        assert spent["one-way"] == pytest.approx(0.1)
        assert spent["scores"] == pytest.approx(SCORES)
        assert sum(spent.values()) == pytest.approx(1)
        assert sum(done.zcdp_rho for done in fitted.rounds) == pytest.approx(spent["round"] * granted)
        assert fitted.selection == BY_SCORES

    @pytest.mark.parametrize("seed", range(4))
    def test_selects_a_dependent_pair_before_independent_ones(self, seed, run, pairs_table):
        """The distance is 1,000 records and more, the noise of a score has a deviation of about 60."""
        fitted, _ = run(self.mechanism(), pairs_table((0.9, 0.0), seed=seed), Budget(4.0, 1e-9), seed=seed)
        assert fitted.rounds[0].clique == ("a", "b")

    @pytest.mark.parametrize("heavy", [("a", "b"), ("c", "d")])
    def test_of_two_pairs_that_depend_alike_the_one_of_more_weight_comes_first(self, heavy, run, pairs_table):
        table = pairs_table((0.7, 0.7))
        cliques = tuple(itertools.combinations("abcd", 2))
        weights = tuple(20.0 if clique == heavy else 1.0 for clique in cliques)
        workload = Workload(cliques, weights)
        fitted, _ = run(self.mechanism(), table, Budget(4.0, 1e-9), workload=workload)
        assert fitted.rounds[0].clique == heavy

    def test_the_models_limit_grows_with_the_rounds(self, run, wide_table):
        limit = 600 * 8 / 2**20
        seen = []
        mechanism = replace(self.mechanism(), max_model_mb=limit)
        fitted, _ = run(mechanism, wide_table(), Budget(20.0, 1e-9), report=seen.append)
        numbers = [progress.round for progress in seen if progress.step == "round"]
        sizes = list(dict.fromkeys(done.model_mb for done in fitted.rounds))
        assert len(numbers) == len(sizes) >= 2
        assert all(size <= limit * number / ROUNDS for number, size in zip(numbers, sizes, strict=True))

    def test_every_candidate_is_scored_in_every_round_and_once_more_against_the_released_model(
        self, scored, chain_table, run
    ):
        table = chain_table()
        fitted, _ = run(self.mechanism(), table, Budget(1.0, 1e-9))
        pairs = list(itertools.combinations(DOMAIN.names, 2))
        assert [cliques for cliques, _, _ in scored] == [pairs] * (ROUNDS + 1)
        _, references, _ = scored[-1]
        for clique, reference in zip(pairs, references, strict=True):
            assert reference.tolist() == np.rint(fitted.model.marginal(clique)).astype(int).tolist()

    @pytest.mark.slow
    def test_each_score_is_the_distance_to_the_model_and_noise_of_the_stated_deviation(
        self, scored, chain_table, run
    ):
        """Chi-square over 60 scores: two-sided, p < 1e-6."""
        errors = []
        for seed in range(2):
            table = chain_table(seed=seed)
            run(self.mechanism(), table, Budget(1.0, 1e-9), seed=seed)
            for cliques, references, scores in scored:
                exact = [
                    np.abs(table.marginal(c) - r).sum() for c, r in zip(cliques, references, strict=True)
                ]
                errors += ((scores.values - exact) / scores.sigma).tolist()
            scored.clear()
        assert len(errors) == 60
        below = stats.chi2.cdf(np.sum(np.square(errors)), 60)
        assert 5e-7 < below < 1 - 5e-7

    @pytest.mark.slow
    def test_a_marginal_that_no_round_selected_has_a_bound_by_its_score_and_it_holds(self, run, wide_table):
        """60 bounds that fail with at most 5 % each; independent ones fail 13 times with p < 1e-4."""
        failures = unselected = 0
        mechanism = replace(self.mechanism(), max_model_mb=300 * 8 / 2**20)
        for seed in range(4):
            table = wide_table(seed=seed)
            fitted, _ = run(mechanism, table, Budget(4.0, 1e-9), seed=seed)
            assert {bound.clique for bound in fitted.bounds} == set(
                itertools.combinations(table.domain.names, 2)
            )
            for bound in fitted.bounds:
                error = np.abs(fitted.model.marginal(bound.clique) - table.marginal(bound.clique)).sum()
                failures += error > bound.l1
                unselected += not bound.selected
                assert bound.total_variation < 1
        assert unselected > 40
        assert failures <= 12

    @pytest.mark.slow
    @pytest.mark.parametrize("grid", ["1x1", "2x2", "1x4"])
    def test_selects_by_scores_over_masked_shares(self, grid, scored, run, pairs_table):
        fitted, measurer = run(
            self.mechanism(), pairs_table((0.9, 0.0)), Budget(4.0, 1e-9), protocol="masked", grid=grid
        )
        assert len(scored) == ROUNDS + 1
        assert fitted.selection == BY_SCORES
        assert fitted.rounds[0].clique == ("a", "b")
        assert measurer.accountant.spent > measurer.accountant.granted * Fraction(999, 1000)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "parties",
        [{"protocol": "indicator", "grid": "1x2"}, {"protocol": "masked", "grid": "2x2", "tolerated": 2}],
        ids=["indicator", "two who may collude"],
    )
    def test_without_scores_selects_by_marginals_and_states_so(self, parties, scored, chain_table, run):
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(4.0, 1e-9), **parties)
        assert scored == []
        assert fitted.selection == BY_MARGINALS
        assert not any(charge.scores for charge in measurer.accountant.charges)


class TestRandDPGenOfThePaper:
    def mechanism(self):
        return RandDPGen.of_the_paper()

    def test_splits_its_budget_as_in_the_paper_s_proof(self, chain_table, run):
        """Theorem 5.1: alpha of the budget first, then beta to measure, the rest to select."""
        _, measurer = run(self.mechanism(), chain_table(), Budget(1.0, 1e-9))
        assert spent_by_step(measurer) == pytest.approx({"candidates": 0.1, "round": 0.2, "select": 0.7})

    def test_rounds_grow_fourfold_where_little_was_learned_and_the_last_takes_the_rest(
        self, chain_table, run
    ):
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(1.0, 1e-9))
        rounds = fitted.rounds
        assert rounds[0].zcdp_rho == pytest.approx(0.9 * float(measurer.accountant.granted) / (16 * 4))
        for now, following in itertools.pairwise(rounds[:-1]):
            assert following.zcdp_rho == pytest.approx(now.zcdp_rho * (4 if now.annealed else 1))
        planned = rounds[-2].zcdp_rho * (4 if rounds[-2].annealed else 1)
        assert rounds[-1].zcdp_rho <= 2 * planned * (1 + 1e-9)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"variant": "other"}, "variant"),
        ({"allocation": "rows"}, "allocation"),
        ({"selection": "luck"}, "selection"),
        ({"alpha": 0.0}, "alpha"),
        ({"one_way": 1.0}, "one_way"),
        ({"alpha": 0.6, "one_way": 0.5}, "leaves no budget for the rounds"),
        ({"variant": "paper", "alpha": 0.6, "beta": 0.5}, "leaves no budget for the rounds"),
        ({"rounds_per_attribute": 0}, "rounds_per_attribute"),
        ({"maxsize": 1}, "maxsize"),
        ({"max_model_mb": 0}, "max_model_mb"),
        ({"max_model_mb": float("nan")}, "max_model_mb"),
    ],
)
def test_refuses_parameters_out_of_range(options, named):
    with pytest.raises(DataError, match=named):
        RandDPGen(**options)


def test_refuses_one_way_marginals_that_leave_no_budget_for_scores_before_any_charge(
    chain_table, measurer_over
):
    measurer = measurer_over(chain_table(), Fraction(1))
    mechanism = RandDPGen(alpha=0.1, one_way=0.86)
    with pytest.raises(DataError, match="one_way leaves no budget"):
        mechanism.run(measurer, Workload.all_kway(DOMAIN, 2), RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()


@pytest.mark.parametrize("rounds_per_attribute", [1, 2])
def test_without_scores_two_rounds_or_fewer_are_one_last_round(rounds_per_attribute, run):
    table = Table.from_codes(Domain.coded({"a": 3}), np.arange(60)[:, None] % 3)
    mechanism = RandDPGen(selection="marginals", rounds_per_attribute=rounds_per_attribute)
    fitted, measurer = run(mechanism, table, Budget(zcdp_rho=1.0), k=1)
    assert [step.name for step in fitted.steps] == ["one-way", "candidates", "last round"]
    assert [charge.step for charge in measurer.accountant.charges] == ["one-way", "candidates", "last round"]
