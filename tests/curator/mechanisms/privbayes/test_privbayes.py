"""PrivBayes: scores and their sensitivity, budgets, tables, and what it does over parties."""

import itertools

import numpy as np
import pytest
from scipy import optimize, special, stats

from dpmosaic import simulate
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.measurers.federation import FederationMeasurer
from dpmosaic.curator.measurers.masked import MaskedMeasurer
from dpmosaic.curator.mechanisms.privbayes.privbayes import PrivBayes, _sampling

DOMAIN = Domain.coded({"a": 3, "b": 2, "c": 4, "h": 30})
BUDGET = Budget(2.0, 1e-9)


def table_of(records=3000, seed=0, domain=DOMAIN):
    """b and h follow a most of the time, c follows b."""
    rng = np.random.default_rng(seed)

    def mostly(values, size):
        return np.where(rng.random(records) < 0.8, values % size, rng.integers(0, size, records))

    a = rng.integers(0, 3, records)
    b = mostly(a, 2)
    columns = {"a": a, "b": b, "c": mostly(b, 4), "h": mostly(a * 9 + rng.integers(0, 9, records), 30)}
    return Table.from_codes(domain, {name: columns[name] for name in domain})


def release(mechanism, budget=BUDGET, table=None, protocol="trusted", seed=1, **options):
    table = table or table_of()
    return simulate(table, budget=budget, mechanism=mechanism, protocol=protocol, seed=seed, **options)


@pytest.fixture
def asked(monkeypatch):
    """Every query and every score of a run, with the noise of the latter."""
    seen = []
    for kind in (FederationMeasurer, MaskedMeasurer):

        def measured(self, queries, measure=kind.measure):
            seen.extend(queries)
            return measure(self, queries)

        def scored(self, cliques, references, rho, step, score=kind.score):
            references = list(references)
            seen.append((list(cliques), references, score(self, cliques, references, rho, step)))
            return seen[-1][-1]

        monkeypatch.setattr(kind, "measure", measured)
        monkeypatch.setattr(kind, "score", scored)
    return seen


# Scores


def count_vectors(cells, records):
    """All tables of so many records or fewer, as counts."""
    for n in range(records + 1):
        for places in itertools.combinations_with_replacement(range(cells), n):
            yield np.bincount(places, minlength=cells)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3)])
def test_a_record_changes_the_distance_to_a_public_reference_by_one(shape):
    """Every table of four records at most, every record, many references: 1, or 2 if it is replaced."""
    cells = shape[0] * shape[1]
    references = [*itertools.islice(count_vectors(cells, 3), 0, None, 3), np.full(cells, 2)]
    added, replaced = set(), set()
    for counts in count_vectors(cells, 4):
        for reference in references:
            before = np.abs(counts - reference).sum()
            after = [np.abs(counts + unit - reference).sum() for unit in np.eye(cells, dtype=int)]
            added |= {abs(int(value - before)) for value in after}
            replaced.add(int(max(after) - min(after)))
    assert added == {1}
    assert max(replaced) == 2


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 3)])
def test_the_papers_score_moves_by_less_than_two(shape):
    """Every table of five records at most and every record that is added: Equation 2.1, n TVD."""

    def score(counts):
        table, n = counts.reshape(shape), max(1, counts.sum())
        return np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0)) / n).sum() / 2

    cells = shape[0] * shape[1]
    largest = 0.0
    for counts in count_vectors(cells, 5):
        before = score(counts)
        largest = max(largest, *(abs(score(counts + unit) - before) for unit in np.eye(cells, dtype=int)))
    assert 0.9 < largest < 2


@pytest.mark.parametrize("rounded", [True, False])
def test_what_sampling_alone_adds_is_the_mean_distance_of_poisson_counts(rounded):
    means = np.array([0.0, 0.2, 0.5, 0.9, 1.0, 3.7, 40.4])
    reference = np.rint(means) if rounded else means
    k = np.arange(400)
    exact = sum(
        (np.abs(k - r) * stats.poisson.pmf(k, m)).sum() for m, r in zip(means, reference, strict=True)
    )
    assert _sampling(means, rounded) == pytest.approx(exact)


def test_attributes_that_do_not_depend_stay_apart_however_many_values_they_have():
    """3,000 records in 900 cells are 1,300 from independence by chance; the table's noise would be 250."""
    codes = np.random.default_rng(5).integers(0, 30, (3000, 2))
    table = Table.from_codes(Domain.coded({"x": 30, "y": 30}), codes)
    result = release(PrivBayes(), Budget(zcdp_rho=10.0), table)
    assert sorted(result.fitted.model.cliques) == [("x",), ("y",)]
    paper = release(PrivBayes.of_the_paper(), Budget(zcdp_rho=10.0), table)
    assert ("x", "y") in paper.fitted.model.cliques


def test_each_score_is_the_distance_to_the_product_of_noisy_one_way_marginals(asked):
    table = table_of()
    release(PrivBayes(), Budget(zcdp_rho=1e6), table)
    ((cliques, references, scores),) = [entry for entry in asked if isinstance(entry, tuple)]
    assert cliques == list(itertools.combinations("abch", 2))
    for (a, b), reference, value in zip(cliques, references, scores.values, strict=True):
        product = np.outer(table.marginal((a,)), table.marginal((b,))).ravel() / table.record_count
        assert np.abs(reference - product).max() <= 0.6
        assert value == pytest.approx(np.abs(table.marginal((a, b)) - reference).sum(), abs=0.1)


# Budgets


def test_the_grant_is_that_of_lemma_2_1():
    """f(epsilon, delta) of section 2.4, solved here; rho is half of it."""
    for epsilon, delta in ((0.1, 1e-9), (1.0, 1e-9), (4.0, 1e-6)):

        def gap(chi, epsilon=epsilon, delta=delta):
            scaled = special.erfcx(np.sqrt(chi**2 + epsilon)) * np.exp(-(chi**2))
            return special.erfc(chi) - scaled - 2 * delta

        chi = optimize.brentq(gap, -20, 20, xtol=1e-14)
        f = 2 * (np.sqrt(chi**2 + epsilon) - chi) ** 2
        granted = PrivBayes().granted(Budget(epsilon, delta))
        assert float(granted) == pytest.approx(f / 2, rel=1e-6)


def spent_by_step(result):
    return {
        step: rho / result.certificate.promise.zcdp_rho_granted
        for step, rho in result.certificate.steps.items()
    }


def test_the_defaults_budget_is_split_as_it_says():
    result = release(PrivBayes(network_share=0.3))
    assert spent_by_step(result) == pytest.approx({"one-way": 0.15, "scores": 0.15, "tables": 0.7})
    assert result.certificate.selected_by == "exact L1 distances with noise"
    tables = [charge for charge in result.certificate.charges if charge.step == "tables"]
    taken = [m for m in result.fitted.measurements[-len(tables) :]]
    for one, other in itertools.pairwise(taken):
        ratio = (one.values.size / other.values.size) ** (2 / 3)
        assert one.zcdp_rho / other.zcdp_rho == pytest.approx(ratio, rel=1e-4)


def test_the_papers_budget_is_split_evenly_and_pays_for_the_number_of_records():
    result = release(PrivBayes.of_the_paper())
    spent = spent_by_step(result)
    assert spent["records"] == pytest.approx(spent["scores"] / 6)
    assert spent["one-way"] == pytest.approx(0.1)
    assert spent["tables"] == pytest.approx(0.8)
    costs = [c.zcdp_rho for c in result.certificate.charges if c.step == "tables"]
    assert costs == pytest.approx([costs[0]] * len(costs))
    assert result.fitted.model.total != 3000
    (found,) = [m for m in result.fitted.measurements if m.values.size == 1]
    assert result.fitted.model.total == found.values[0]
    assert result.certificate.plan.mechanism["variant"] == "paper"


def test_tables_are_no_larger_than_tau(asked):
    """tau = n / (4 sigma), sigma as if the rest were split evenly over all attributes."""
    result = release(PrivBayes(), Budget(0.5, 1e-9))
    granted = float(PrivBayes().granted(Budget(0.5, 1e-9)))
    tau = 3000 / (4 * np.sqrt(4 / (2 * 0.8 * granted)))
    sizes = [
        len(q.boxes) or DOMAIN.cells(q.clique)
        for q in asked
        if not isinstance(q, tuple) and len(q.clique) > 1
    ]
    assert max(sizes) <= tau
    assert len(result.fitted.model.cliques) >= 4


# Models


@pytest.mark.parametrize("mechanism", [PrivBayes(), PrivBayes(group=3), PrivBayes.of_the_paper()])
def test_a_huge_budget_gives_the_exact_marginals(mechanism):
    table = table_of()
    result = release(mechanism, Budget(zcdp_rho=1e8), table)
    for k in (1, 2, 3, 4):
        for clique in itertools.combinations(DOMAIN.names, k):
            exact = table.marginal(clique)
            assert result.fitted.model.marginal(clique) == pytest.approx(exact, abs=1), clique
            assert np.abs(result.synthetic.marginal(clique) - exact).sum() < 15, clique


def test_coarse_tables_are_measured_as_sums_over_boxes_and_refined(asked):
    result = release(PrivBayes(group=3), Budget(0.4, 1e-9))
    boxed = [query for query in asked if not isinstance(query, tuple) and query.boxes]
    assert boxed
    assert all("h" in query.clique for query in boxed)
    error = _tvd(result, table_of(), ("a", "h"))
    plain = release(PrivBayes(group=20), Budget(0.4, 1e-9))
    assert error < _tvd(plain, table_of(), ("a", "h"))


def _tvd(result, table, clique):
    p, q = table.marginal(clique), result.synthetic.marginal(clique)
    return float(np.abs(p / p.sum() - q / q.sum()).sum() / 2)


@pytest.mark.parametrize("variant", ["default", "paper"])
def test_attributes_that_depend_come_out_dependent(variant):
    table = table_of()
    results = [release(mechanism, table=table) for mechanism in (PrivBayes(variant=variant), "independent")]
    pairs = list(itertools.combinations(DOMAIN.names, 2))
    error, floor = (np.mean([_tvd(result, table, pair) for pair in pairs]) for result in results)
    assert error < 0.6 * floor


@pytest.mark.parametrize(
    "mechanism",
    [PrivBayes(drawing="with-replacement"), PrivBayes(consistency=False)],
    ids=["with replacement", "inconsistent"],
)
def test_the_other_ways_of_drawing_come_close_too(mechanism):
    table = table_of()
    assert _tvd(release(mechanism, Budget(4.0, 1e-9), table), table, ("a", "b")) < 0.05


def test_consistency_without_replacement_is_the_most_accurate_way():
    table = table_of()

    def error(**options):
        results = [release(PrivBayes(**options), Budget(0.5, 1e-9), table, seed=seed) for seed in range(3)]
        pairs = list(itertools.combinations(DOMAIN.names, 2))
        return np.mean([_tvd(result, table, pair) for result in results for pair in pairs])

    best = error()
    assert best < error(drawing="with-replacement")
    assert best < error(consistency=False)


# Parties


@pytest.mark.parametrize("grid", ["1x2", "2x2"])
def test_over_masked_parties_scores_and_boxes_are_those_of_one_table(grid, asked):
    table = table_of()
    result = release(PrivBayes(group=3), Budget(1.0, 1e-9), table, protocol="masked", grid=grid)
    assert [query for query in asked if not isinstance(query, tuple) and query.boxes]
    assert len([query for query in asked if isinstance(query, tuple)]) == 1
    assert _tvd(result, table, ("a", "b")) < 0.5 * _tvd(
        release("independent", table=table), table, ("a", "b")
    )
    assert result.certificate.selected_by == "exact L1 distances with noise"


def test_where_nobody_scores_it_uses_noisy_pairs_and_leaves_out_what_would_drown(asked):
    table = table_of()
    result = release(PrivBayes(), Budget(1.0, 1e-9), table, protocol="indicator", grid="1x2")
    assert result.certificate.selected_by == "L1 distances estimated from noisy marginals"
    halves = [set(party) for party in result.certificate.plan.parties[0]]
    wide = [query.clique for query in asked if len(query.clique) > 1]
    assert wide
    assert all(any(set(clique) <= half for half in halves) for clique in wide)


@pytest.mark.parametrize("protocol", ["theorem", "indicator-mle"])
def test_protocols_of_paper_alone_are_fine_too(protocol):
    result = release(PrivBayes(group=3), Budget(20.0, 1e-9), protocol=protocol, grid="1x2")
    assert result.synthetic.record_count == 3000


def test_bounds_hold_for_scored_and_measured_marginals():
    result = release(PrivBayes())
    table = table_of()
    assert {bound.clique for bound in result.fitted.bounds} == set(itertools.combinations("abch", 2))
    for bound in result.fitted.bounds:
        error = np.abs(result.fitted.model.marginal(bound.clique) - table.marginal(bound.clique)).sum()
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
def test_parameters_out_of_range_are_refused(options, named):
    with pytest.raises(DataError, match=named):
        PrivBayes(**options)


def test_a_table_of_many_cells_of_single_codes_is_not_asked_for_in_boxes_either(monkeypatch, asked):
    """Parties count single cells before they add up."""
    monkeypatch.setattr("dpmosaic.curator.mechanisms.privbayes.privbayes.LARGEST_COUNTED_CELLS", 40)
    release(PrivBayes(group=3), Budget(20.0, 1e-9))
    cells = [DOMAIN.cells(query.clique) for query in asked if not isinstance(query, tuple)]
    assert max(cells) <= 40
