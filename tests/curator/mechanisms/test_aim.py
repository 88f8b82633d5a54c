"""AIM: scores, selection and measurements, and annealed rounds."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.aim import AIM, LAST_SCORES, SCORED
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from support.spending import spent_by_step

pytestmark = pytest.mark.slow

BUDGET = Budget(4.0, 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_selects_a_dependent_pair_before_independent_ones(seed, run, pairs_table):
    """The distance is 1,000 records and more, the noise of a score has a deviation of about 100."""
    fitted, _ = run(AIM(rounds_per_attribute=4), pairs_table((0.9, 0.0), seed=seed), BUDGET, seed=seed)
    assert fitted.rounds[0].clique == ("a", "b")


@pytest.mark.parametrize("heavy", [("a", "b"), ("c", "d")])
def test_of_two_pairs_that_depend_alike_the_one_of_more_weight_comes_first(heavy, run, pairs_table):
    cliques = tuple(itertools.combinations("abcd", 2))
    workload = Workload(cliques, tuple(20.0 if clique == heavy else 1.0 for clique in cliques))
    mechanism = AIM(rounds_per_attribute=4)
    fitted, _ = run(mechanism, pairs_table((0.7, 0.7)), BUDGET, workload=workload)
    assert fitted.rounds[0].clique == heavy


def test_it_is_closer_than_independence_where_attributes_depend(run, chain_table):
    table = chain_table()

    def error(mechanism):
        fitted, _ = run(mechanism, table, Budget(1.0, 1e-9))
        pairs = itertools.combinations(table.domain.names, 2)
        return sum(np.abs(fitted.model.marginal(c) - table.marginal(c)).sum() for c in pairs)

    assert error(AIM()) < 0.6 * error(Independent())


def test_every_subset_of_a_marginal_of_the_workload_is_a_candidate(run, chain_table, scored):
    fitted, _ = run(AIM(), chain_table(), BUDGET, workload=Workload((("a", "b", "d"),), (1.0,)))
    closed = [("a",), ("b",), ("d",), ("a", "b"), ("a", "d"), ("b", "d"), ("a", "b", "d")]
    assert scored[0][0] == scored[-1][0] == closed
    assert {bound.clique for bound in fitted.bounds} == set(closed)


def test_scores_all_candidates_first_and_last_and_few_in_each_round(run, wide_table, scored):
    fitted, _ = run(AIM(), wide_table(), BUDGET)
    counts = [len(cliques) for cliques, _, _ in scored]
    assert counts[0] == counts[-1] == 6 + 15
    assert len(counts) == len(fitted.rounds) + 2
    assert 0 < max(counts[1:-1]) <= SCORED
    for cliques, references, _ in scored[-1:]:
        for clique, reference in zip(cliques, references, strict=True):
            assert reference.tolist() == np.rint(fitted.model.marginal(clique)).astype(int).tolist()


def test_a_round_measures_one_of_the_candidates_that_were_scored_for_it(run, wide_table, scored):
    fitted, _ = run(AIM(), wide_table(), BUDGET)
    for done, (cliques, _, _) in zip(fitted.rounds, scored[1:-1], strict=True):
        assert done.clique in cliques


def test_a_round_that_learns_little_quadruples_the_cost_of_the_next(run, chain_table):
    fitted, measurer = run(AIM(), chain_table(), BUDGET)
    first = (1 - LAST_SCORES) * float(measurer.accountant.granted) / (16 * 4)
    assert fitted.rounds[0].zcdp_rho == pytest.approx(first)
    assert {done.annealed for done in fitted.rounds} == {True, False}
    for now, following in itertools.pairwise(fitted.rounds):
        assert following.zcdp_rho == pytest.approx(now.zcdp_rho * (4 if now.annealed else 1))


def test_the_budget_goes_to_one_way_marginals_rounds_scores_and_a_last_round(run, chain_table):
    fitted, measurer = run(AIM(alpha=0.8), chain_table(), BUDGET)
    for charge in measurer.accountant.charges:
        assert charge.sigmas
        assert charge.scores == charge.step.endswith("scores")
    spent = spent_by_step(measurer)
    rounds = sum(done.zcdp_rho for done in fitted.rounds) / float(measurer.granted)
    per_round = (1 - LAST_SCORES) / (16 * 4)
    assert spent["one-way"] == pytest.approx(0.8 * 4 * per_round)
    assert spent["round"] == pytest.approx(0.8 * rounds)
    assert spent["first scores"] == pytest.approx(5 * 0.2 * per_round)
    assert spent["scores"] == pytest.approx(0.2 * rounds)
    assert spent["last scores"] == pytest.approx(LAST_SCORES)
    assert sum(spent.values()) == pytest.approx(1)


def test_the_models_limit_grows_with_the_budget_spent(run, wide_table):
    limit = 600 * 8 / 2**20
    seen = []
    fitted, _ = run(AIM(max_model_mb=limit), wide_table(), Budget(20.0, 1e-9), report=seen.append)
    shares = [progress.spent for progress in seen if progress.step == "round"]
    assert len({done.clique for done in fitted.rounds}) >= 2
    for share, done in zip(shares, fitted.rounds, strict=True):
        assert done.model_mb <= max(limit * share, 60 * 8 / 2**20)
    assert fitted.model.size_mb <= limit


def test_drops_candidates_with_too_many_cells_but_not_their_subsets(run, chain_table):
    fitted, _ = run(AIM(maxsize=6), chain_table(), BUDGET)
    assert {len(measurement.clique) for measurement in fitted.measurements} == {1, 2}
    assert max(m.values.size for m in fitted.measurements if len(m.clique) == 2) <= 6
    assert {(name,) for name in "abcd"} <= {bound.clique for bound in fitted.bounds}


def test_skips_marginals_that_the_model_cannot_compute(monkeypatch, run, chain_table):
    monkeypatch.setattr("dpmosaic.curator.pgm.inference.queries.LARGEST_TABLE_CELLS", 7)
    fitted, measurer = run(AIM(), chain_table(), BUDGET)
    assert measurer.accountant.spent > measurer.accountant.granted * Fraction(999, 1000)
    assert all(np.isfinite(bound.l1) for bound in fitted.bounds)
    assert len(fitted.bounds) < 10


def test_refuses_a_model_that_cannot_be_small_enough_before_any_charge(measurer_over, chain_table):
    measurer = measurer_over(chain_table(), Fraction(1))
    workload = Workload.all_kway(measurer.domain, 2)
    with pytest.raises(ModelError, match="max_model_mb"):
        AIM(max_model_mb=1e-6).run(measurer, workload, RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()


def test_refuses_too_few_rounds_to_pay_for_the_first_scores_before_any_charge(measurer_over):
    table = Table.from_codes(Domain.coded({"a": 3}), np.arange(60)[:, None] % 3)
    measurer = measurer_over(table, Fraction(1))
    mechanism = AIM(alpha=0.1, rounds_per_attribute=2)
    with pytest.raises(DataError, match="raise alpha or rounds_per_attribute"):
        mechanism.run(measurer, Workload.all_kway(table.domain, 1), RandomStream.from_seed(1), ignore)
    assert measurer.accountant.charges == ()


def test_selects_dependent_pairs_over_masked_parties(run, pairs_table):
    table = pairs_table((0.9, 0.0))
    fitted, _ = run(AIM(rounds_per_attribute=4), table, BUDGET, protocol="masked", grid="2x2")
    assert fitted.rounds[0].clique == ("a", "b")
    assert fitted.selection == "exact L1 distances with noise"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.0}, "alpha"),
        ({"rounds_per_attribute": 1}, "rounds_per_attribute"),
        ({"maxsize": 1}, "maxsize"),
        ({"max_model_mb": 0.0}, "max_model_mb"),
    ],
)
def test_refuses_parameters_out_of_range(options, named):
    with pytest.raises(DataError, match=named):
        AIM(**options)
