"""PrivBayes: budgets, tables, rows, and runs over parties."""

import itertools

import numpy as np
import pytest
from scipy import optimize, special

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.independent import Independent
from dpmosaic.curator.mechanisms.parts.steps import Asks
from dpmosaic.curator.mechanisms.privbayes.privbayes import PrivBayes
from support.spending import spent_by_step

pytestmark = pytest.mark.slow

BUDGET = Budget(2.0, 1e-9)


def rows_of(fitted, records=3000, seed=1):
    return fitted.model.generate(records, RandomStream.from_seed(seed).child("rows").generator())


# Budgets


def test_grants_the_budget_of_lemma_2_1():
    """f(epsilon, delta) of section 2.4, solved here; rho is half of it."""
    for epsilon, delta in ((0.1, 1e-9), (1.0, 1e-9), (4.0, 1e-6)):

        def gap(chi, epsilon=epsilon, delta=delta):
            scaled = special.erfcx(np.sqrt(chi**2 + epsilon)) * np.exp(-(chi**2))
            return special.erfc(chi) - scaled - 2 * delta

        chi = optimize.brentq(gap, -20, 20, xtol=1e-14)
        f = 2 * (np.sqrt(chi**2 + epsilon) - chi) ** 2
        granted = PrivBayes().granted(Budget(epsilon, delta))
        assert float(granted) == pytest.approx(f / 2, rel=1e-6)


def test_the_default_splits_its_budget_as_stated(run, table_of):
    fitted, measurer = run(PrivBayes(network_share=0.3), table_of(), BUDGET)
    assert spent_by_step(measurer) == pytest.approx({"one-way": 0.15, "scores": 0.15, "tables": 0.7})
    assert fitted.selection == "exact L1 distances with noise"
    tables = [charge for charge in measurer.accountant.charges if charge.step == "tables"]
    taken = [m for m in fitted.measurements[-len(tables) :]]
    for one, other in itertools.pairwise(taken):
        ratio = (one.values.size / other.values.size) ** (2 / 3)
        assert one.zcdp_rho / other.zcdp_rho == pytest.approx(ratio, rel=1e-4)


def test_the_papers_budget_is_split_evenly_and_pays_for_the_number_of_records(run, table_of):
    fitted, measurer = run(PrivBayes.of_the_paper(), table_of(), BUDGET)
    spent = spent_by_step(measurer)
    assert spent["records"] == pytest.approx(spent["scores"] / 6)
    assert spent["one-way"] == pytest.approx(0.1)
    assert spent["tables"] == pytest.approx(0.8)
    costs = [float(c.zcdp_rho) for c in measurer.accountant.charges if c.step == "tables"]
    assert costs == pytest.approx([costs[0]] * len(costs))
    assert fitted.model.total != 3000
    (found,) = [m for m in fitted.measurements if m.values.size == 1]
    assert fitted.model.total == found.values[0]


def test_tables_are_no_larger_than_tau(asked, run, table_of):
    """tau = n / (4 sigma), sigma as if the rest were split evenly over all attributes."""
    table = table_of()
    fitted, _ = run(PrivBayes(), table, Budget(0.5, 1e-9))
    granted = float(PrivBayes().granted(Budget(0.5, 1e-9)))
    tau = 3000 / (4 * np.sqrt(4 / (2 * 0.8 * granted)))
    sizes = [q.view.size(table.domain) for q in asked if not isinstance(q, tuple) and len(q.clique) > 1]
    assert max(sizes) <= tau
    assert len(fitted.model.cliques) >= 4


# Models


@pytest.mark.parametrize("mechanism", [PrivBayes(), PrivBayes(group=3), PrivBayes.of_the_paper()])
def test_a_huge_budget_gives_the_exact_marginals(mechanism, run, table_of):
    table = table_of()
    fitted, _ = run(mechanism, table, Budget(zcdp_rho=1e8))
    rows = rows_of(fitted)
    for k in (1, 2, 3, 4):
        for clique in itertools.combinations(table.domain.names, k):
            exact = table.marginal(clique)
            assert fitted.model.marginal(clique) == pytest.approx(exact, abs=1), clique
            assert np.abs(rows.marginal(clique) - exact).sum() < 15, clique


def test_coarse_tables_are_measured_as_sums_over_boxes_and_refined(asked, run, table_of):
    table = table_of()
    fitted, _ = run(PrivBayes(group=3), table, Budget(0.4, 1e-9))
    boxed = [query for query in asked if not isinstance(query, tuple) and query.view.boxes]
    assert boxed
    assert all("h" in query.clique for query in boxed)
    plain, _ = run(PrivBayes(group=20), table, Budget(0.4, 1e-9))
    assert off(fitted, table, ("a", "h")) < off(plain, table, ("a", "h"))


def off(fitted, table, clique, seed=1):
    """Total variation distance between the table and rows of the model."""
    p, q = table.marginal(clique), rows_of(fitted, table.record_count, seed).marginal(clique)
    return float(np.abs(p / p.sum() - q / q.sum()).sum() / 2)


@pytest.mark.parametrize("variant", ["default", "paper"])
def test_rows_keep_dependences(variant, run, table_of):
    table = table_of()
    found = [run(mechanism, table, BUDGET)[0] for mechanism in (PrivBayes(variant=variant), Independent())]
    pairs = list(itertools.combinations(table.domain.names, 2))
    error, floor = (np.mean([off(fitted, table, pair) for pair in pairs]) for fitted in found)
    assert error < 0.6 * floor


@pytest.mark.parametrize(
    "mechanism",
    [PrivBayes(drawing="with-replacement"), PrivBayes(consistency=False)],
    ids=["with replacement", "inconsistent"],
)
def test_the_other_ways_of_drawing_are_also_accurate(mechanism, run, table_of):
    table = table_of()
    fitted, _ = run(mechanism, table, Budget(4.0, 1e-9))
    assert off(fitted, table, ("a", "b")) < 0.05


def test_consistency_without_replacement_is_the_most_accurate_way(run, table_of):
    table = table_of()

    def error(**options):
        found = [run(PrivBayes(**options), table, Budget(0.5, 1e-9), seed=seed)[0] for seed in range(3)]
        pairs = list(itertools.combinations(table.domain.names, 2))
        return np.mean(
            [off(fitted, table, pair, seed) for seed, fitted in enumerate(found) for pair in pairs]
        )

    best = error()
    assert best < error(drawing="with-replacement")
    assert best < error(consistency=False)


# Parties


@pytest.mark.parametrize("grid", ["1x2", "2x2"])
def test_over_masked_parties_scores_and_boxes_are_those_of_one_table(grid, asked, run, table_of):
    table = table_of()
    fitted, _ = run(PrivBayes(group=3), table, Budget(1.0, 1e-9), protocol="masked", grid=grid)
    assert [query for query in asked if not isinstance(query, tuple) and query.view.boxes]
    assert len([query for query in asked if isinstance(query, tuple)]) == 1
    floor, _ = run(Independent(), table, BUDGET)
    assert off(fitted, table, ("a", "b")) < 0.5 * off(floor, table, ("a", "b"))
    assert fitted.selection == "exact L1 distances with noise"


def test_without_scores_uses_noisy_pairs_except_those_that_noise_would_dominate(asked, run, table_of):
    fitted, _ = run(PrivBayes(), table_of(), Budget(1.0, 1e-9), protocol="indicator", grid="1x2")
    assert fitted.selection == "L1 distances estimated from noisy marginals"
    assert [step.name for step in fitted.steps] == ["one-way", "candidates", "tables"]
    halves = [{"a", "b"}, {"c", "h"}]
    wide = [query.clique for query in asked if len(query.clique) > 1]
    assert wide
    assert all(any(set(clique) <= half for half in halves) for clique in wide)


def test_bounds_hold_for_scored_and_measured_marginals(run, table_of):
    table = table_of()
    fitted, _ = run(PrivBayes(), table, BUDGET)
    assert {bound.clique for bound in fitted.bounds} == set(itertools.combinations("abch", 2))
    for bound in fitted.bounds:
        error = np.abs(fitted.model.marginal(bound.clique) - table.marginal(bound.clique)).sum()
        assert error <= bound.l1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"variant": "other"}, "variant"),
        ({"drawing": "twice"}, "drawing"),
        ({"network_share": 0.0}, "network_share"),
        ({"network_share": 1.0}, "network_share"),
        ({"noises_per_cell": 0.0}, "noises_per_cell"),
        ({"group": 1}, "group"),
    ],
)
def test_refuses_parameters_out_of_range(options, named):
    with pytest.raises(DataError, match=named):
        PrivBayes(**options)


def test_does_not_ask_for_boxes_of_a_table_with_too_many_single_cells(monkeypatch, asked, run, table_of):
    """Parties count single cells before they add up."""
    monkeypatch.setattr("dpmosaic.curator.mechanisms.privbayes.scores.LARGEST_COUNTED_CELLS", 40)
    table = table_of()
    run(PrivBayes(group=3), table, Budget(20.0, 1e-9))
    cells = [table.domain.cells(query.clique) for query in asked if not isinstance(query, tuple)]
    assert max(cells) <= 40


# Steps


def test_without_pairs_the_share_of_scores_goes_to_the_tables(run):
    table = Table.from_codes(Domain.coded({"a": 5}), np.arange(100)[:, None] % 5)
    fitted, _ = run(PrivBayes(network_share=0.5), table, BUDGET, k=1)
    assert [(step.name, float(step.share)) for step in fitted.steps] == [("one-way", 0.25), ("tables", 0.75)]


def test_the_papers_steps_pay_for_the_number_of_records_as_for_a_score(run, table_of):
    fitted, _ = run(PrivBayes.of_the_paper(), table_of(), BUDGET)
    assert sum(step.share for step in fitted.steps) == 1
    records, scores = fitted.steps[1:3]
    assert (records.name, records.certain, scores.name) == ("records", (("b",),), "scores")
    assert (scores.asks, len(scores.cliques), scores.share) == (Asks.SCORES, 6, 6 * records.share)
