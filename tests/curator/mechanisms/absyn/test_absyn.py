import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.common.privacy.budget import Budget, Charge
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma, score_cost, score_sigma
from dpmosaic.curator.measurers.measurer import Measurer, Scores
from dpmosaic.curator.mechanisms.absyn import absyn
from dpmosaic.curator.mechanisms.absyn.absyn import ABSyn
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from dpmosaic.curator.pgm.estimation import estimate
from dpmosaic.curator.pgm.parallel import estimate_in_parallel
from dpmosaic.simulations.simulate import simulate

BOTH = pytest.mark.parametrize("config", [ABSyn(), ABSyn.of_the_paper()], ids=["default", "paper"])


def chain_table(records=2000, seed=0):
    """A table in which each attribute follows the one before it most of the time."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, records)]
    for size in (2, 4, 2):
        follows = rng.random(records) < 0.8
        columns.append(np.where(follows, columns[-1] % size, rng.integers(0, size, records)))
    return Table.from_codes(Domain.coded({"a": 3, "b": 2, "c": 4, "d": 2}), np.column_stack(columns))


def pairs_table(strength, records=2000, seed=0):
    """Attributes of ten codes, of which a follows b, and c follows d, in these shares of the records.

    Independent pairs are about 360 records from their product, by chance alone. At epsilon = 0.3 the noise of
    a pair is at least 1,700 records, that of a score 150, or 600 in the paper's variant.
    """
    rng = np.random.default_rng(seed)
    columns = []
    for share in strength:
        first, other = rng.integers(0, 10, (2, records))
        columns += [first, np.where(rng.random(records) < share, first, other)]
    return Table.from_codes(Domain.coded({name: 10 for name in "abcd"}), np.column_stack(columns))


def release(config, table, budget=None, seed=1, protocol="trusted", **options):
    budget = budget or Budget(4.0, 1e-9)
    return simulate(table, budget=budget, mechanism=config, seed=seed, protocol=protocol, **options)


def spent(result):
    shares = {}
    for charge in result.certificate.charges:
        shares[charge.step] = shares.get(charge.step, 0.0) + charge.zcdp_rho
    granted = result.certificate.promise.zcdp_rho_granted
    return {step: rho / granted for step, rho in shares.items()}


def selected(result):
    return {m.clique for m in result.fitted.measurements if len(m.clique) == 2}


class Transcript(Measurer):
    """Exact scores of a table of counts, and noisy marginals that do not depend on it: a fixed transcript."""

    scores_exactly = True

    def __init__(self, domain, counts, records):
        super().__init__(domain, records, Fraction(1))
        self.counts = counts.reshape(domain.sizes)
        self.asked = []

    def marginal(self, clique):
        summed = tuple(k for k, name in enumerate(self.domain) if name not in clique)
        return self.counts.sum(axis=summed).ravel()

    def score(self, cliques, references, zcdp_rho, step):
        references = list(references)
        sigma = score_sigma(zcdp_rho, Adjacency.ZERO_OUT, len(cliques))
        cost = score_cost(sigma, Adjacency.ZERO_OUT, len(cliques))
        self.accountant = self.accountant.charge(Charge(step, (), cost, ((sigma,) * len(cliques),), True))
        pairs = zip(cliques, references, strict=True)
        values = [float(np.abs(self.marginal(c) - r).sum()) for c, r in pairs]
        self.asked.append((list(cliques), references, values, sigma))
        return Scores(np.array(values), sigma)

    def expected_sigma(self, clique, zcdp_rho):
        return gaussian_sigma(zcdp_rho, Adjacency.ZERO_OUT)

    def _charge(self, query):
        sigma = gaussian_sigma(query.zcdp_rho, Adjacency.ZERO_OUT)
        return Charge(query.step, query.clique, gaussian_cost(sigma, Adjacency.ZERO_OUT), ((sigma,),))

    def _answer(self, query, charge):
        values = np.random.default_rng(self.domain.cells(query.clique)).normal(1.5, 0.5, 1000)
        cells = values[: self.domain.cells(query.clique)]
        return Measurement(query.clique, cells, charge.sigmas[0][0], float(charge.zcdp_rho))


def scores_of(config, domain, counts, records):
    measurer = Transcript(domain, counts, records)
    workload = Workload.all_kway(domain, 2)
    config.run(measurer, workload, RandomStream.from_seed(0), ignore)
    (asked,) = measurer.asked
    return asked


def tables(cells, records):
    """All tables of so many records, each in a cell or in none, as counts."""
    for places in itertools.combinations_with_replacement(range(cells + 1), records):
        yield tuple(np.bincount(places, minlength=cells + 1)[:cells].tolist())


def test_a_record_changes_no_score_by_more_than_1_over_all_neighbouring_tables():
    """Every table of three records over 2 x 3 and every one with a record less; the bound is attained."""
    domain, records = Domain.coded({"a": 2, "b": 3}), 3
    found = {}
    for counts in tables(6, records):
        _, references, values, sigma = scores_of(ABSyn(), domain, np.array(counts), records)
        found[counts] = references, values
        # One score of sensitivity 1 has its tenth of the budget to itself, with noise for that.
        assert 1 / (2 * sigma**2) == pytest.approx(0.1, rel=1e-3)
    largest = 0.0
    for counts, (references, values) in found.items():
        for cell in np.flatnonzero(counts):
            fewer = list(counts)
            fewer[cell] -= 1
            other_references, other_values = found[tuple(fewer)]
            assert all(np.array_equal(r, s) for r, s in zip(references, other_references, strict=True))
            largest = max(largest, abs(values[0] - other_values[0]))
    assert largest == 1.0


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3)])
def test_the_papers_score_changes_by_more_than_1_and_less_than_the_4_that_it_is_charged_for(sizes):
    """Against the product of exact one-way marginals, with the number of records fixed."""

    def score(counts, records):
        joint = np.array(counts).reshape(sizes)
        return np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0)) / records).sum()

    largest = 0.0
    for records in (2, 3, 4, 5):
        for counts in tables(math.prod(sizes), records):
            for cell in np.flatnonzero(counts):
                fewer = list(counts)
                fewer[cell] -= 1
                largest = max(largest, abs(score(counts, records) - score(fewer, records)))
    assert 1.5 < largest <= absyn.PAPERS_SENSITIVITY


@pytest.fixture
def chosen_from(monkeypatch):
    """What the selection was given, one for each run."""
    given = []

    def watched(domain, candidates, select=absyn.select_batch, **options):
        given.append((candidates, options))
        return select(domain, candidates, **options)

    monkeypatch.setattr(absyn, "select_batch", watched)
    return given


@pytest.mark.parametrize(("config", "factor"), [(ABSyn(), 0), (ABSyn.of_the_paper(), math.sqrt(15))])
def test_the_paper_adds_the_noise_of_its_sensitivity_to_scores_and_the_default_none(
    config, factor, chosen_from
):
    """Noise of deviation 4 is that of deviation 1 and more, independent, of deviation sqrt(15)."""
    domain = Domain.coded({f"x{k}": 1 + k % 2 for k in range(20)})
    counts = np.zeros(domain.sizes, dtype=np.int64)
    counts.flat[0] = 500
    _, _, values, sigma = scores_of(config, domain, counts, 500)
    ((candidates, _),) = chosen_from
    added = (np.array(list(candidates.distances.values())) - values) / sigma
    drawn = RandomStream.from_seed(0).generator().standard_normal(190)
    assert np.allclose(added, factor * drawn)


@pytest.mark.parametrize(("config", "factor"), [(ABSyn(), 1), (ABSyn.of_the_paper(), 4)])
def test_bounds_know_the_noise_that_scores_have(config, factor, monkeypatch):
    given = []

    def watched(*args, bounds=absyn.error_bounds, **options):
        given.append(options["scored"])
        return bounds(*args, **options)

    monkeypatch.setattr(absyn, "error_bounds", watched)
    _, references, _, sigma = scores_of(config, Domain.coded({"a": 2, "b": 3}), np.ones(6, dtype=np.int64), 6)
    ((scored,),) = (given[0].values(),)
    assert scored.sigma == pytest.approx(factor * sigma)
    assert np.array_equal(scored.reference, references[0])


@BOTH
def test_noise_is_judged_by_the_closed_form_at_the_measuring_budget(config, chosen_from):
    domain = Domain.coded({"a": 2, "b": 3, "c": 4})
    scores_of(config, domain, np.ones(24, dtype=np.int64), 24)
    ((candidates, options),) = chosen_from
    for pair, noise in candidates.noise.items():
        assert noise == pytest.approx(domain.cells(pair) / math.sqrt(math.pi * 0.8), rel=1e-3)
    assert candidates.records == 24
    assert options["difference"] == config.paper


@BOTH
def test_the_budget_is_split_into_a_tenth_a_tenth_and_the_rest(config):
    result = release(config, chain_table())
    assert spent(result) == pytest.approx({"one-way": 0.1, "scores": 0.1, "measure": 0.8}, rel=1e-3)
    assert result.fitted.selection == "exact L1 distances with noise"


@pytest.mark.parametrize(("config", "power"), [(ABSyn(), 2 / 3), (ABSyn.of_the_paper(), 0)])
def test_one_way_marginals_share_by_cells_and_in_the_paper_evenly(config, power):
    result = release(config, chain_table())
    rhos = [charge.zcdp_rho for charge in result.certificate.charges if charge.step == "one-way"]
    wanted = np.array([3, 2, 4, 2]) ** power
    assert rhos == pytest.approx((wanted / wanted.sum() * sum(rhos)).tolist(), rel=1e-4)


@BOTH
def test_selected_pairs_share_the_measuring_budget_with_the_attributes_of_none(config):
    table = pairs_table((0.9, 0.0))
    result = release(config, table, Budget(0.3, 1e-9))
    charges = [charge for charge in result.certificate.charges if charge.step == "measure"]
    cliques = [tuple(charge.clique) for charge in charges]
    assert ("a", "b") in cliques
    assert 1 <= sum(len(clique) == 1 for clique in cliques) <= 2
    assert sorted(itertools.chain(*(c for c in cliques if len(c) == 1))) == [
        name for name in "abcd" if not any(name in clique for clique in cliques if len(clique) == 2)
    ]
    parts = np.array([table.domain.cells(clique) ** (2 / 3) for clique in cliques])
    rhos = np.array([charge.zcdp_rho for charge in charges])
    assert rhos / rhos.sum() == pytest.approx((parts / parts.sum()).tolist(), rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_huge_budget_gives_the_exact_workload(seed):
    table = chain_table(seed=seed)
    result = release(ABSyn(), table, Budget(zcdp_rho=1e8), seed)
    assert len(selected(result)) == 6
    for clique in itertools.combinations(table.domain.names, 2):
        assert np.allclose(result.fitted.model.marginal(clique), table.marginal(clique), atol=12)


def test_the_paper_leaves_out_a_pair_that_a_path_overstates_even_at_a_huge_budget():
    table = chain_table()
    result = release(ABSyn.of_the_paper(), table, Budget(zcdp_rho=1e8))
    assert set(itertools.combinations("abcd", 2)) - selected(result) == {("a", "c")}
    for clique in selected(result):
        assert np.allclose(result.fitted.model.marginal(clique), table.marginal(clique), atol=12)


def test_attributes_that_depend_on_none_are_left_independent():
    table = pairs_table((0.0, 0.0))
    result = release(ABSyn(), table, Budget(0.3, 1e-9))
    assert selected(result) == set()
    model = result.fitted.model
    product = np.outer(model.marginal(("a",)), model.marginal(("b",))).ravel() / table.record_count
    assert np.allclose(model.marginal(("a", "b")), product, atol=1e-6)
    assert spent(result)["measure"] == pytest.approx(0.8, rel=1e-3)


@pytest.mark.parametrize("grid", ["1x1", "2x2", "1x4"])
@BOTH
def test_over_masked_shares_it_selects_the_pairs_that_depend(config, grid):
    result = release(config, pairs_table((0.9, 0.8)), protocol="masked", grid=grid)
    assert {("a", "b"), ("c", "d")} <= selected(result)
    assert sum(spent(result).values()) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(
    "parties",
    [
        {"protocol": "indicator", "grid": "1x2"},
        {"protocol": "masked", "grid": "2x2", "collusions": 2},
        {"protocol": "theorem", "grid": "1x2"},
    ],
    ids=["indicator", "two who may collude", "theorem"],
)
def test_a_protocol_without_scores_is_refused_with_those_that_have_them(parties):
    with pytest.raises(DataError, match=r"trusted.*masked.*randdpgen"):
        release(ABSyn(), chain_table(), **parties)


def test_nothing_is_charged_where_it_is_refused():
    domain = Domain.coded({"a": 2, "b": 3})
    measurer = Transcript(domain, np.ones(6, dtype=np.int64), 6)
    workload = Workload.all_kway(domain, 2)
    with pytest.raises(ModelError, match="max_model_mb"):
        ABSyn(max_model_mb=1e-6).run(measurer, workload, RandomStream.from_seed(0), ignore)
    measurer.scores_exactly = False
    with pytest.raises(DataError, match="absyn"):
        ABSyn().run(measurer, workload, RandomStream.from_seed(0), ignore)
    assert measurer.accountant.charges == ()


def test_cliques_and_model_stay_within_their_limits():
    table = chain_table()
    cliques = release(ABSyn(max_clique_cells=8), table, Budget(zcdp_rho=1e4)).fitted.model.tree.cliques
    assert max(table.domain.cells(clique) for clique in cliques) == 8
    small = release(ABSyn(max_model_mb=20 * 8 / 2**20), table, Budget(zcdp_rho=1e4)).fitted.model
    assert 12 <= small.tree.cells <= 20


def test_each_estimator_fits_what_it_is_asked_to(monkeypatch):
    seen = []
    for name, original in (("estimate", estimate), ("estimate_in_parallel", estimate_in_parallel)):

        def watched(domain, measurements, fit=original, name=name, **options):
            seen.append((name, len(measurements), options.get("max_block_mb")))
            return fit(domain, measurements, **options)

        monkeypatch.setattr(absyn, name, watched)
    for config, name, block in [
        (ABSyn(), "estimate", None),
        (ABSyn(estimator="parallel"), "estimate_in_parallel", None),
        (ABSyn.of_the_paper(), "estimate_in_parallel", 0),
    ]:
        seen.clear()
        result = release(config, chain_table())
        # The first gives the product that scores are distances from.
        assert seen[0] == ("estimate", 4, None)
        assert seen[1] == (name, len(result.fitted.measurements), block)


def test_what_is_fitted_agrees_on_attributes_and_what_is_released_is_as_measured(monkeypatch):
    seen = []

    def watched(domain, measurements, fit=absyn.estimate, **options):
        seen.append(list(measurements))
        return fit(domain, measurements, **options)

    monkeypatch.setattr(absyn, "estimate", watched)
    result = release(ABSyn(), chain_table())
    sums = [m.values.sum() for m in seen[-1]]
    assert sums == pytest.approx([2000.0] * len(sums))
    assert [m.values.sum() for m in result.fitted.measurements] != pytest.approx(sums)
    a = next(m for m in seen[-1] if m.clique == ("a",))
    ab = next(m for m in seen[-1] if m.clique == ("a", "b"))
    assert np.allclose(a.values, ab.values.reshape(3, 2).sum(axis=1))


@BOTH
def test_every_pair_has_a_bound_and_it_holds(config):
    """48 bounds that fail with at most 5 % each; 12 independent failures or more: p < 1e-5."""
    failures, unselected = 0, 0
    for seed in range(8):
        table = pairs_table((0.8, 0.3), seed=seed)
        result = release(config, table, Budget(2.0, 1e-9), seed)
        assert len(result.fitted.bounds) == 6
        for bound in result.fitted.bounds:
            error = np.abs(result.fitted.model.marginal(bound.clique) - table.marginal(bound.clique)).sum()
            failures += error > bound.l1
            unselected += not bound.selected
            assert bound.selected == (bound.clique in selected(result))
            assert bound.total_variation < 1
    assert unselected > 20
    assert failures < 12


def test_a_workload_of_triples_has_no_bounds_and_is_fitted_all_the_same():
    result = release(ABSyn(), chain_table(), workload="3way")
    assert result.fitted.bounds == ()
    assert ("a", "b") in selected(result)


def test_replace_one_doubles_the_noise_of_scores_at_the_same_cost():
    deviations = [
        release(ABSyn(), chain_table(), Budget(zcdp_rho=0.1), adjacency=adjacency).certificate.charges
        for adjacency in (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE)
    ]
    zero_out, replace_one = (
        next(c.noise_sigmas_by_slice[0][0] for c in charges if c.step == "scores") for charges in deviations
    )
    assert replace_one == pytest.approx(2 * zero_out, rel=1e-3)


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
        ({"one_way": 0.5, "scores": 0.5}, "nothing to measure"),
        ({"max_clique_cells": 3}, "max_clique_cells"),
        ({"max_model_mb": 0.0}, "max_model_mb"),
    ],
)
def test_parameters_out_of_range_are_refused(options, named):
    with pytest.raises(DataError, match=named):
        ABSyn(**options)
