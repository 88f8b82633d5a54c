"""ABSyn: budgets, selected pairs, limits, fits and bounds, in both variants."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.mechanisms.absyn import paper as absyn_paper
from dpmosaic.curator.mechanisms.absyn import run as absyn_run
from dpmosaic.curator.mechanisms.absyn.absyn import ABSyn
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.fitting.parallel import estimate_in_parallel
from support.spending import spent_by_step

pytestmark = pytest.mark.slow

BOTH = pytest.mark.parametrize("config", [ABSyn(), ABSyn.of_the_paper()], ids=["default", "paper"])
BUDGET = Budget(4.0, 1e-9)


def dependent_pairs(strength, records=2000, seed=0):
    """Attributes of ten codes, where a equals b, and c equals d, in these shares of the records.

    Independent pairs are about 360 records from their product, by chance alone. At epsilon = 0.3 the noise of
    a pair is at least 1,700 records, that of a score 150, or 600 in the paper's variant.
    """
    rng = np.random.default_rng(seed)
    columns = []
    for share in strength:
        first, other = rng.integers(0, 10, (2, records))
        columns += [first, np.where(rng.random(records) < share, first, other)]
    return Table.from_codes(Domain.coded({name: 10 for name in "abcd"}), np.column_stack(columns))


def selected(fitted):
    return {m.clique for m in fitted.measurements if len(m.clique) == 2}


@BOTH
def test_the_budget_is_split_into_a_tenth_a_tenth_and_the_rest(config, run, chain_table):
    fitted, measurer = run(config, chain_table(), BUDGET)
    assert spent_by_step(measurer) == pytest.approx({"one-way": 0.1, "scores": 0.1, "measure": 0.8}, rel=1e-3)
    assert [step.name for step in fitted.steps] == ["one-way", "scores", "measure"]
    assert fitted.selection == "exact L1 distances with noise"


@pytest.mark.parametrize(("config", "power"), [(ABSyn(), 2 / 3), (ABSyn.of_the_paper(), 0)])
def test_one_way_marginals_split_their_budget_by_cells_and_in_the_paper_evenly(
    config, power, run, chain_table
):
    _, measurer = run(config, chain_table(), BUDGET)
    rhos = [float(c.zcdp_rho) for c in measurer.accountant.charges if c.step == "one-way"]
    wanted = np.array([3, 2, 4, 2]) ** power
    assert rhos == pytest.approx((wanted / wanted.sum() * sum(rhos)).tolist(), rel=1e-4)


@BOTH
def test_splits_the_budget_over_selected_pairs_and_attributes_of_none(config, run):
    table = dependent_pairs((0.9, 0.0))
    _, measurer = run(config, table, Budget(0.3, 1e-9))
    charges = [charge for charge in measurer.accountant.charges if charge.step == "measure"]
    cliques = [charge.clique for charge in charges]
    assert ("a", "b") in cliques
    assert 1 <= sum(len(clique) == 1 for clique in cliques) <= 2
    assert sorted(itertools.chain(*(c for c in cliques if len(c) == 1))) == [
        name for name in "abcd" if not any(name in clique for clique in cliques if len(clique) == 2)
    ]
    parts = np.array([table.domain.cells(clique) ** (2 / 3) for clique in cliques])
    rhos = np.array([float(charge.zcdp_rho) for charge in charges])
    assert rhos / rhos.sum() == pytest.approx((parts / parts.sum()).tolist(), rel=1e-3)


def test_a_huge_budget_gives_the_exact_workload(run, chain_table):
    table = chain_table()
    fitted, _ = run(ABSyn(), table, Budget(zcdp_rho=1e8))
    assert len(selected(fitted)) == 6
    for clique in itertools.combinations(table.domain.names, 2):
        assert np.allclose(fitted.model.marginal(clique), table.marginal(clique), atol=12)


def test_the_paper_leaves_out_a_pair_that_a_path_overstates_even_at_a_huge_budget(run, chain_table):
    table = chain_table()
    fitted, _ = run(ABSyn.of_the_paper(), table, Budget(zcdp_rho=1e8))
    assert set(itertools.combinations("abcd", 2)) - selected(fitted) == {("a", "c")}
    for clique in selected(fitted):
        assert np.allclose(fitted.model.marginal(clique), table.marginal(clique), atol=12)


def test_independent_attributes_stay_independent(run):
    table = dependent_pairs((0.0, 0.0))
    fitted, measurer = run(ABSyn(), table, Budget(0.3, 1e-9))
    assert selected(fitted) == set()
    model = fitted.model
    product = np.outer(model.marginal(("a",)), model.marginal(("b",))).ravel() / table.record_count
    assert np.allclose(model.marginal(("a", "b")), product, atol=1e-6)
    assert spent_by_step(measurer)["measure"] == pytest.approx(0.8, rel=1e-3)


@pytest.mark.parametrize("grid", ["1x1", "2x2", "1x4"])
@BOTH
def test_selects_dependent_pairs_over_masked_shares(config, grid, run):
    fitted, measurer = run(config, dependent_pairs((0.9, 0.8)), BUDGET, protocol="masked", grid=grid)
    assert {("a", "b"), ("c", "d")} <= selected(fitted)
    assert sum(spent_by_step(measurer).values()) == pytest.approx(1.0, rel=1e-3)


def test_cliques_and_model_stay_within_their_limits(run, chain_table):
    table = chain_table()
    cliques = run(ABSyn(max_clique_cells=8), table, Budget(zcdp_rho=1e4))[0].model.tree.cliques
    assert max(table.domain.cells(clique) for clique in cliques) == 8
    small = run(ABSyn(max_model_mb=20 * 8 / 2**20), table, Budget(zcdp_rho=1e4))[0].model
    assert 12 <= small.tree.cells <= 20


def test_uses_the_configured_estimator(monkeypatch, run, chain_table):
    seen = []
    for name, original in (("estimate", estimate), ("estimate_in_parallel", estimate_in_parallel)):

        def watched(domain, measurements, fit=original, name=name, **options):
            seen.append((name, len(measurements), options.get("max_block_mb")))
            return fit(domain, measurements, **options)

        monkeypatch.setattr(absyn_run, name, watched)
    monkeypatch.setattr(absyn_paper, "estimate_in_parallel", absyn_run.estimate_in_parallel)
    for config, name, block in [
        (ABSyn(), "estimate", None),
        (ABSyn(estimator="parallel"), "estimate_in_parallel", None),
        (ABSyn.of_the_paper(), "estimate_in_parallel", 0),
    ]:
        seen.clear()
        fitted, _ = run(config, chain_table(), BUDGET)
        # The first fit gives the product from which scores are distances.
        assert seen[0] == ("estimate", 4, None)
        assert seen[1] == (name, len(fitted.measurements), block)


def test_fits_consistent_measurements_and_releases_the_original_ones(monkeypatch, run, chain_table):
    seen = []

    def watched(domain, measurements, fit=absyn_run.estimate, **options):
        seen.append(list(measurements))
        return fit(domain, measurements, **options)

    monkeypatch.setattr(absyn_run, "estimate", watched)
    fitted, _ = run(ABSyn(), chain_table(), BUDGET)
    sums = [m.values.sum() for m in seen[-1]]
    assert sums == pytest.approx([2000.0] * len(sums))
    assert [m.values.sum() for m in fitted.measurements] != pytest.approx(sums)
    a = next(m for m in seen[-1] if m.clique == ("a",))
    ab = next(m for m in seen[-1] if m.clique == ("a", "b"))
    assert np.allclose(a.values, ab.values.reshape(3, 2).sum(axis=1))


@BOTH
def test_every_pair_has_a_bound_and_it_holds(config, run):
    """48 bounds that fail with at most 5 % each; 12 independent failures or more: p < 1e-5."""
    failures, unselected = 0, 0
    for seed in range(8):
        table = dependent_pairs((0.8, 0.3), seed=seed)
        fitted, _ = run(config, table, Budget(2.0, 1e-9), seed=seed)
        assert len(fitted.bounds) == 6
        for bound in fitted.bounds:
            error = np.abs(fitted.model.marginal(bound.clique) - table.marginal(bound.clique)).sum()
            failures += error > bound.l1
            unselected += not bound.selected
            assert bound.selected == (bound.clique in selected(fitted))
            assert bound.total_variation < 1
    assert unselected > 20
    assert failures < 12


def test_fits_a_workload_of_triples_without_bounds(run, chain_table):
    fitted, _ = run(ABSyn(), chain_table(), BUDGET, k=3)
    assert fitted.bounds == ()
    assert ("a", "b") in selected(fitted)


def test_replace_one_doubles_the_noise_of_scores_at_the_same_cost(run, chain_table):
    sigmas = {}
    for adjacency in (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE):
        _, measurer = run(ABSyn(), chain_table(), Budget(zcdp_rho=0.1), adjacency=adjacency)
        (scores,) = [charge for charge in measurer.accountant.charges if charge.scores]
        sigmas[adjacency] = scores.sigmas[0][0]
    assert sigmas[Adjacency.REPLACE_ONE] == pytest.approx(2 * sigmas[Adjacency.ZERO_OUT], rel=1e-3)


def test_the_catalogue_has_both_variants():
    assert mechanism_named("absyn") == ABSyn()
    assert mechanism_named("absyn", "paper") == ABSyn.of_the_paper()
    budget = Budget(1.0, 1e-9)
    assert ABSyn.of_the_paper().granted(budget) < 0.8 * ABSyn().granted(budget)
    assert ABSyn.of_the_paper().describe()["variant"] == "paper"
    assert replace(ABSyn(), scores=0.2).describe()["scores"] == 0.2


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"variant": "other"}, "variant"),
        ({"estimator": "guess"}, "estimator"),
        ({"one_way": 0.0}, "one_way"),
        ({"scores": 1.0}, "scores"),
        ({"one_way": 0.5, "scores": 0.5}, r"expected one_way \+ scores < 1"),
        ({"max_clique_cells": 3}, "max_clique_cells"),
        ({"max_model_mb": 0.0}, "max_model_mb"),
    ],
)
def test_refuses_parameters_out_of_range(options, named):
    with pytest.raises(DataError, match=named):
        ABSyn(**options)
