"""What every mechanism keeps to, whichever it is."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.domain import Domain
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.messages import PROTOCOL_VERSION, ReleaseTerms
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.common.table import Table
from dpmosaic.common.workload import Workload
from dpmosaic.curator.federation import connect
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.measurers.masked import MaskedMeasurer, masked_plan
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.mechanism import Progress, ignore
from dpmosaic.curator.mechanisms.randdpgen import RandDPGen
from dpmosaic.curator.mechanisms.scored import ROUND, ROUNDS, SCORES
from dpmosaic.simulations.network import policy_for, start_parties
from dpmosaic.simulations.partition import Grid, partition

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2})


def chain_table(records=2000, seed=0):
    """A table in which each attribute follows the one before it most of the time."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, records)]
    for size in (2, 4, 2):
        follows = rng.random(records) < 0.8
        columns.append(np.where(follows, columns[-1] % size, rng.integers(0, size, records)))
    return Table.from_codes(DOMAIN, np.column_stack(columns))


def measurer_over(table, granted, seed=1, protocol="trusted", grid="1x1", tolerated=None):
    adjacency, keys = Adjacency.ZERO_OUT, RandomStream.from_seed(seed)
    pieces = partition(table, Grid.parse(grid, table.domain, table.record_count))
    links = start_parties(pieces, policy_for(protocol, adjacency, float(granted)), keys)
    federation = connect(table.domain, links)
    terms = ReleaseTerms(
        "r",
        PROTOCOL_VERSION,
        protocol,
        adjacency,
        float(granted),
        masked_plan(federation, granted, adjacency, tolerated) if protocol == "masked" else None,
    )
    acceptances = federation.accept(terms)
    if protocol == "masked":
        return MaskedMeasurer(federation, terms, acceptances, granted, keys.child("dealer"))
    return FederationMeasurer(federation, terms, granted)


def run(mechanism, table, budget, k=2, seed=1, report=ignore, workload=None, **parties):
    measurer = measurer_over(table, mechanism.granted(budget), seed, **parties)
    workload = workload or Workload.all_kway(table.domain, k)
    return mechanism.run(measurer, workload, RandomStream.from_seed(seed), report), measurer


def wide_table(records=3000, seed=0):
    """Six attributes of ten codes, most of which follow one that is not in the table."""
    rng = np.random.default_rng(seed)
    shared = rng.integers(0, 10, records)
    columns = [np.where(rng.random(records) < 0.7, shared, rng.integers(0, 10, records)) for _ in range(6)]
    return Table.from_codes(Domain.coded({name: 10 for name in "uvwxyz"}), np.column_stack(columns))


class MechanismContract:
    """Inherited by the tests of each mechanism."""

    def mechanism(self):
        raise NotImplementedError

    @pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
    def test_it_spends_at_most_its_grant_and_nearly_all_of_it(self, epsilon):
        _, measurer = run(self.mechanism(), chain_table(), Budget(epsilon, 1e-9))
        accountant = measurer.accountant
        assert accountant.spent <= accountant.granted
        assert accountant.spent > accountant.granted * Fraction(999, 1000)
        assert accountant.spent == sum(charge.zcdp_rho for charge in accountant.charges)

    def test_one_seed_gives_one_model_and_another_seed_another(self):
        models = [run(self.mechanism(), chain_table(), Budget(1.0, 1e-9), seed=s)[0].model for s in (1, 1, 2)]
        first, again, other = (model.marginal(("a", "b")).tolist() for model in models)
        assert first == again
        assert first != other

    @pytest.mark.parametrize(
        "codes", [[[0, 0]], [[0, 1], [0, 1]], [[0, 0]] * 30], ids=["one record", "two records", "constant"]
    )
    def test_tables_of_few_records_and_one_category_are_fine(self, codes):
        table = Table.from_codes(Domain.coded({"a": 1, "b": 2}), np.array(codes))
        fitted, measurer = run(self.mechanism(), table, Budget(1.0, 1e-6))
        assert fitted.model.marginal(("a",)).tolist() == pytest.approx([len(codes)])
        assert measurer.accountant.spent <= measurer.accountant.granted

    def test_a_table_of_one_attribute_is_fine(self):
        table = Table.from_codes(Domain.coded({"a": 5}), np.arange(100)[:, None] % 5)
        fitted, _ = run(self.mechanism(), table, Budget(100.0, 1e-6), k=1)
        assert np.allclose(fitted.model.marginal(("a",)), 20, atol=3)

    def test_progress_ends_with_the_whole_budget_and_never_goes_back(self):
        seen: list[Progress] = []
        run(self.mechanism(), chain_table(), Budget(1.0, 1e-9), report=seen.append)
        shares = [progress.spent for progress in seen]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1.0)

    def test_error_bounds_hold_for_nearly_all_marginals(self):
        """72 bounds, six for each table, that fail with at most 5 % each.

        Were the six of a table to fail together, more than 18 failures would take four of twelve tables:
        probability below 0.3 % for a correct program.
        """
        failures = 0
        for seed in range(12):
            table = chain_table(seed=seed)
            fitted, _ = run(self.mechanism(), table, Budget(2.0, 1e-9), seed=seed)
            for bound in fitted.bounds:
                error = np.abs(fitted.model.marginal(bound.clique) - table.marginal(bound.clique)).sum()
                failures += error > bound.l1
        assert failures <= 18


class TestIndependent(MechanismContract):
    def mechanism(self):
        return Independent()

    def test_a_huge_budget_gives_the_product_of_the_exact_one_way_marginals(self):
        table = chain_table()
        fitted, _ = run(self.mechanism(), table, Budget(zcdp_rho=1e8))
        product = np.outer(table.marginal(("a",)), table.marginal(("b",))).ravel() / table.record_count
        assert np.allclose(fitted.model.marginal(("a", "b")), product, atol=0.5)


class DefaultContract(MechanismContract):
    """Inherited by the tests of both ways in which the default selects."""

    def test_a_huge_budget_gives_the_exact_workload(self):
        table = chain_table()
        fitted, _ = run(self.mechanism(), table, Budget(zcdp_rho=1e8))
        for clique in itertools.combinations(DOMAIN.names, 2):
            assert np.allclose(fitted.model.marginal(clique), table.marginal(clique), atol=12), clique

    def test_it_is_closer_than_independence_where_attributes_depend(self):
        table = chain_table()

        def error(mechanism):
            fitted, _ = run(mechanism, table, Budget(1.0, 1e-9))
            pairs = itertools.combinations(DOMAIN.names, 2)
            return sum(np.abs(fitted.model.marginal(c) - table.marginal(c)).sum() for c in pairs)

        assert error(self.mechanism()) < 0.5 * error(Independent())

    def test_selection_costs_nothing(self):
        _, measurer = run(self.mechanism(), chain_table(), Budget(1.0, 1e-9))
        assert all(charge.sigmas for charge in measurer.accountant.charges)

    def test_the_model_stays_within_its_limit(self):
        limit = 600 * 8 / 2**20
        mechanism = replace(self.mechanism(), max_model_mb=limit)
        fitted, _ = run(mechanism, wide_table(), Budget(20.0, 1e-9))
        assert fitted.model.size_mb <= limit
        assert len({done.clique for done in fitted.rounds}) >= 2

    def test_marginals_that_the_model_cannot_give_are_passed_over(self, monkeypatch):
        monkeypatch.setattr("dpmosaic.curator.pgm.queries.LARGEST_TABLE_CELLS", 7)
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(5.0, 1e-9))
        assert measurer.accountant.spent > measurer.accountant.granted * Fraction(999, 1000)
        assert all(np.isfinite(bound.l1) for bound in fitted.bounds)
        assert len(fitted.bounds) < 6

    def test_candidates_with_too_many_cells_are_dropped(self):
        fitted, _ = run(replace(self.mechanism(), maxsize=6), chain_table(), Budget(5.0, 1e-9))
        assert {len(m.clique) for m in fitted.measurements} == {1, 2}
        assert max(m.values.size for m in fitted.measurements if len(m.clique) == 2) <= 6

    def test_a_model_that_cannot_be_small_enough_is_refused_before_anything_is_charged(self):
        mechanism = replace(self.mechanism(), max_model_mb=1e-6)
        measurer = measurer_over(chain_table(), Fraction(1))
        with pytest.raises(ModelError, match="max_model_mb"):
            mechanism.run(measurer, Workload.all_kway(DOMAIN, 2), RandomStream.from_seed(1), ignore)
        assert measurer.accountant.charges == ()


class TestRandDPGenByMarginals(DefaultContract):
    def mechanism(self):
        return RandDPGen(selection="marginals")

    def test_it_says_what_it_selected_by(self):
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(1.0, 1e-9))
        assert fitted.selection == BY_MARGINALS
        assert not any(charge.scores for charge in measurer.accountant.charges)

    def test_a_round_that_learns_little_makes_the_next_one_four_times_as_dear(self):
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(5.0, 1e-9))
        granted = float(measurer.accountant.granted)
        first = (1 - 0.3 - 0.1) * granted / (16 * 4)
        assert len(fitted.rounds) > 2
        for done in fitted.rounds:
            # Whatever nothing is worth is skipped at four times the cost too.
            power = np.log(done.zcdp_rho / first) / np.log(4)
            assert power == pytest.approx(round(power), abs=1e-6)
        for now, following in itertools.pairwise(fitted.rounds):
            assert following.zcdp_rho >= now.zcdp_rho * (4 if now.annealed else 1) * (1 - 1e-9)


BY_SCORES = "exact L1 distances with noise"
BY_MARGINALS = "L1 distances estimated from noisy marginals"


@pytest.fixture
def scored(monkeypatch):
    """What the mechanism had scored: cliques, references, and the scores, one for each call."""
    calls = []
    for kind in (FederationMeasurer, MaskedMeasurer):

        def watched(self, cliques, references, rho, step, score=kind.score):
            references = list(references)
            calls.append((list(cliques), references, score(self, cliques, references, rho, step)))
            return calls[-1][-1]

        monkeypatch.setattr(kind, "score", watched)
    return calls


def pairs_table(strength, records=2000, seed=0):
    """Attributes of four codes, of which a follows b, and c follows d, in these shares of the records."""
    rng = np.random.default_rng(seed)
    columns = []
    for share in strength:
        first, other = rng.integers(0, 4, (2, records))
        columns += [first, np.where(rng.random(records) < share, first, other)]
    return Table.from_codes(Domain.coded({name: 4 for name in "abcd"}), np.column_stack(columns))


class TestRandDPGenByScores(DefaultContract):
    def mechanism(self):
        return RandDPGen()

    def test_the_budget_is_split_into_one_way_marginals_scores_rounds_and_a_last_round(self):
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(5.0, 1e-9))
        spent = {}
        for charge in measurer.accountant.charges:
            spent[charge.step] = spent.get(charge.step, 0.0) + float(charge.zcdp_rho)
            assert charge.scores == (charge.step == "scores")
        granted = float(measurer.accountant.granted)
        rounds = spent["round"] / (ROUND * granted)
        assert rounds == pytest.approx(round(rounds))
        assert 1 <= round(rounds) <= ROUNDS
        assert spent["one-way"] == pytest.approx(0.1 * granted)
        assert spent["scores"] == pytest.approx(SCORES * granted)
        assert sum(spent.values()) == pytest.approx(granted)
        assert sum(done.zcdp_rho for done in fitted.rounds) == pytest.approx(spent["round"])
        assert fitted.selection == BY_SCORES

    @pytest.mark.parametrize("seed", range(4))
    def test_a_pair_that_truly_depends_comes_before_all_that_do_not(self, seed):
        """The distance is 1,000 records and more, the noise of a score has a deviation of about 60."""
        fitted, _ = run(self.mechanism(), pairs_table((0.9, 0.0), seed=seed), Budget(4.0, 1e-9), seed=seed)
        assert fitted.rounds[0].clique == ("a", "b")

    @pytest.mark.parametrize("heavy", [("a", "b"), ("c", "d")])
    def test_of_two_pairs_that_depend_alike_the_one_of_more_weight_comes_first(self, heavy):
        table = pairs_table((0.7, 0.7))
        cliques = tuple(itertools.combinations("abcd", 2))
        weights = tuple(20.0 if clique == heavy else 1.0 for clique in cliques)
        workload = Workload(cliques, weights)
        fitted, _ = run(self.mechanism(), table, Budget(4.0, 1e-9), workload=workload)
        assert fitted.rounds[0].clique == heavy

    def test_the_models_limit_grows_with_the_rounds(self):
        limit = 600 * 8 / 2**20
        seen = []
        mechanism = replace(self.mechanism(), max_model_mb=limit)
        fitted, _ = run(mechanism, wide_table(), Budget(20.0, 1e-9), report=seen.append)
        numbers = [progress.round for progress in seen if progress.step == "round"]
        sizes = list(dict.fromkeys(done.model_mb for done in fitted.rounds))
        assert len(numbers) == len(sizes) >= 2
        assert all(size <= limit * number / ROUNDS for number, size in zip(numbers, sizes, strict=True))

    def test_every_candidate_is_scored_in_every_round_and_once_more_against_the_released_model(self, scored):
        table = chain_table()
        fitted, _ = run(self.mechanism(), table, Budget(1.0, 1e-9))
        pairs = list(itertools.combinations(DOMAIN.names, 2))
        assert [cliques for cliques, _, _ in scored] == [pairs] * (ROUNDS + 1)
        _, references, _ = scored[-1]
        for clique, reference in zip(pairs, references, strict=True):
            assert reference.tolist() == np.rint(fitted.model.marginal(clique)).astype(int).tolist()

    def test_each_score_is_the_distance_to_the_model_and_noise_of_the_stated_deviation(self, scored):
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

    def test_a_marginal_that_no_round_selected_has_a_bound_by_its_score_and_it_holds(self):
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

    @pytest.mark.parametrize("grid", ["1x1", "2x2", "1x4"])
    def test_over_masked_shares_it_selects_by_scores_too(self, grid, scored):
        fitted, measurer = run(
            self.mechanism(), pairs_table((0.9, 0.0)), Budget(4.0, 1e-9), protocol="masked", grid=grid
        )
        assert len(scored) == ROUNDS + 1
        assert fitted.selection == BY_SCORES
        assert fitted.rounds[0].clique == ("a", "b")
        assert measurer.accountant.spent > measurer.accountant.granted * Fraction(999, 1000)

    @pytest.mark.parametrize(
        "parties",
        [{"protocol": "indicator", "grid": "1x2"}, {"protocol": "masked", "grid": "2x2", "tolerated": 2}],
        ids=["indicator", "two who may collude"],
    )
    def test_where_nobody_scores_it_selects_by_marginals_and_says_so(self, parties, scored):
        fitted, measurer = run(self.mechanism(), chain_table(), Budget(4.0, 1e-9), **parties)
        assert scored == []
        assert fitted.selection == BY_MARGINALS
        assert not any(charge.scores for charge in measurer.accountant.charges)


class TestRandDPGenOfThePaper(MechanismContract):
    def mechanism(self):
        return RandDPGen.of_the_paper()

    def test_its_budget_is_split_as_the_papers_proof_has_it(self):
        """Theorem 5.1: alpha of the budget first, then beta to measure, the rest to select."""
        _, measurer = run(self.mechanism(), chain_table(), Budget(1.0, 1e-9))
        spent = {}
        for charge in measurer.accountant.charges:
            spent[charge.step] = spent.get(charge.step, 0.0) + float(charge.zcdp_rho)
        granted = float(measurer.accountant.granted)
        assert spent["candidates"] == pytest.approx(0.1 * granted)
        assert spent["round"] == pytest.approx(0.2 * granted)
        assert spent["select"] == pytest.approx(0.7 * granted)

    def test_rounds_grow_fourfold_where_little_was_learned_and_the_last_takes_the_rest(self):
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
        ({"alpha": 0.6, "one_way": 0.5}, "leaves nothing"),
        ({"variant": "paper", "alpha": 0.6, "beta": 0.5}, "leaves nothing"),
        ({"rounds_per_attribute": 0}, "rounds_per_attribute"),
        ({"maxsize": 1}, "maxsize"),
        ({"max_model_mb": 0}, "max_model_mb"),
    ],
)
def test_parameters_out_of_range_are_refused(options, named):
    with pytest.raises(DataError, match=named):
        RandDPGen(**options)


def test_an_unknown_mechanism_or_variant_is_refused_with_the_known_ones():
    with pytest.raises(DataError, match="randdpgen, independent"):
        mechanism_named("magic")
    with pytest.raises(DataError, match="default"):
        mechanism_named("independent", "paper")
