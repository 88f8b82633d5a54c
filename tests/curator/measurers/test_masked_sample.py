"""Marginals across parties on a sample of the rows, through real parties and real messages.

Counts of the sample are exact after rounding where the budget is so large that all noise together stays below
half a count, so that most checks have no false alarms.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data.view import View
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency, gaussian_sigma
from dpmosaic.common.protocols.masked.sampling import sampled_positions
from dpmosaic.curator.measurers.measurer import Query
from dpmosaic.curator.results.evidence import Evidence
from dpmosaic.simulations.simulate import simulate
from support.grids import CLIQUES, EXACT, RECORDS, release, table_of
from support.parties import layout
from support.terms import RELEASE_ID

SAMPLE = 20
GRIDS = {
    "1x2": "1x2",
    "2x2": "2x2",
    "1x3": "1x3",
    "one party alone": (layout(40, "abe cd"), layout(20, "abcde")),
}


def sample_of(measurer, table):
    """The sampled rows of all slices."""
    plan, places, start = measurer._plan, [], 0
    for number in range(plan.slice_count):
        records = plan.records(number)
        sampled = plan.sampling.sampled[number]
        places.append(start + sampled_positions(RELEASE_ID, number, records, sampled).astype(np.int64))
        start += records
    return table.take(np.concatenate(places))


@pytest.mark.slow
@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_marginals_across_parties_are_scaled_counts_of_the_sample_and_others_of_all_rows(grid):
    table = table_of()
    measurer = release(grid, EXACT * len(CLIQUES), table=table, sample=SAMPLE)
    plain = release(grid, EXACT, table=table)
    sampling, sampled = measurer.sampling, sample_of(measurer, table)
    assert (sampling.factor, sampled.record_count) == (RECORDS / sum(sampling.sampled), sum(sampling.sampled))
    kinds = set()
    for found in measurer.measure([Query(View(clique), EXACT, "test") for clique in CLIQUES]):
        kinds.add((len(found.clique) > 1, found.sampled))
        rows, factor = (sampled, sampling.factor) if found.sampled else (table, 1.0)
        counts = np.rint(found.values / factor).astype(int)
        assert counts.tolist() == rows.marginal(found.clique).tolist()
        noise = measurer.expected_sigma(View(found.clique), EXACT)
        assert noise == pytest.approx(factor * plain.expected_sigma(View(found.clique), EXACT))
        error = sampling.cell_sigma(found.values.size) if found.sampled else 0.0
        assert found.sigma == pytest.approx(math.hypot(noise, error))
    assert kinds == {(False, False), (True, False), (True, True)}


def test_a_sample_changes_neither_the_noise_that_parties_add_nor_what_it_costs():
    """One record changes at most one count of the sample by one; scaling comes after the noise."""
    queries = [
        Query(View(("a", "c")), Fraction(1, 7), "test"),
        Query(View(("a", "c"), boxes=(), interaction=True), Fraction(1, 9), "i"),
    ]
    charged = []
    for sample in (None, SAMPLE):
        measurer = release("1x2", sample=sample)
        measurer.measure(queries)
        measurer.score([View(("a", "c"))], [np.zeros(4, dtype=np.int64)], Fraction(1, 5), "scores")
        charged.append(measurer.accountant.charges)
    assert charged[0] == charged[1]
    assert charged[0][0].sigmas == ((gaussian_sigma(Fraction(1, 7), Adjacency.ZERO_OUT),),)


@pytest.mark.slow
def test_scaled_noise_has_the_stated_deviation():
    """False alarm for random seeds: 1e-6, by the chi-squared distribution; sigma is of noise alone."""
    rho, table, clique = Fraction(1, 2), table_of(), ("a", "c", "d")
    measurer = release("1x2", 100 * rho, table=table, sample=SAMPLE, seed=3)
    exact = sample_of(measurer, table).marginal(clique)
    found = measurer.measure([Query(View(clique), rho, "test") for _ in range(100)])
    noise = np.concatenate([one.values - measurer.sampling.factor * exact for one in found])
    distance = (noise**2).sum() / measurer.expected_sigma(View(clique), rho) ** 2
    assert stats.chi2.cdf(distance, noise.size) == pytest.approx(0.5, abs=0.5 - 5e-7)


def test_boxes_and_interactions_are_scaled_too():
    table, boxes = table_of(), (((0, 1), (0, 3)), ((1, 2), (0, 4)))
    measurer = release("1x2", EXACT * 2, table=table, sample=SAMPLE)
    rows, factor = sample_of(measurer, table), measurer.sampling.factor
    in_boxes, alone = measurer.measure(
        [
            Query(View(("a", "d"), boxes=boxes), EXACT, "test"),
            Query(View(("a", "d"), interaction=True), EXACT, "test"),
        ]
    )
    counts = rows.marginal(("a", "d")).reshape(2, 4)
    assert in_boxes.values / factor == pytest.approx([counts[0, :3].sum(), counts[1].sum()], abs=0.5)
    expected = counts - counts.mean(0) - counts.mean(1, keepdims=True) + counts.mean()
    assert alone.values.reshape(2, 4) / factor == pytest.approx(expected, abs=0.5)
    assert in_boxes.sampled
    assert alone.sampled


def test_scores_are_distances_of_scaled_counts_from_references():
    table, rho = table_of(), Fraction(10**8)
    measurer = release("1x2", rho, table=table, sample=SAMPLE)
    rows, factor, cliques = sample_of(measurer, table), measurer.sampling.factor, [("a",), ("a", "d")]
    references = [np.array([60, 0]), 3 * np.arange(8)]
    found = measurer.score([*map(View, cliques)], references, rho, "scores")
    apart = np.abs(table.marginal(("a",)) - references[0]).sum()
    # These references are whole numbers of sampled rows.
    sampled = np.abs(factor * rows.marginal(("a", "d")) - references[1]).sum()
    assert found.values == pytest.approx([apart, sampled], abs=0.1)
    plain = release("1x2", rho, table=table).score([*map(View, cliques)], references, rho, "scores")
    assert found.sigma == pytest.approx(factor * plain.sigma)


@pytest.mark.slow
def test_a_release_states_the_sample_and_bounds_its_error():
    """No false alarm: noise is far below a record, and the bound on the sample's error fails with 1e-6."""
    table = table_of(records=3000)
    made = simulate(table, epsilon=Budget(zcdp_rho=1e4, delta=1e-6), grid="1x2", sample=600, seed=1)
    assert made.certificate.plan.spec.sample == 600
    sampled = {one.clique for one in made.fitted.measurements if one.sampled}
    assert sampled
    assert not any(len(clique) == 1 for clique in sampled)
    for bound in made.certificate.error_bounds:
        error = np.abs(table.marginal(bound.clique) - made.rows.marginal(bound.clique)).sum()
        assert error <= bound.l1
        assert bound.confidence <= 0.95
    known = set(Evidence.of(made.fitted, 3000).known)
    assert not known & sampled
    assert {("a",), ("b",)} <= known


@pytest.mark.parametrize("sample", [None, RECORDS, RECORDS + 1])
def test_a_sample_of_all_rows_is_none(sample):
    assert release("1x2", sample=sample).sampling is None
    assert release("2x1", sample=1).sampling is None


def test_a_sample_needs_rows_and_the_masked_protocol():
    for options, reason in (
        ({"sample": 0}, "expected at least 1 row, got 0"),
        ({"sample": 5, "protocol": "trusted"}, "the protocol 'trusted' has none"),
    ):
        with pytest.raises(DataError, match=f"sample: {reason}"):
            simulate(table_of(), epsilon=Budget(1.0, 1e-6), mechanism="mst", **options)
