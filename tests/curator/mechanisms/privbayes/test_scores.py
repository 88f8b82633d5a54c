"""The scores of PrivBayes: sensitivity, effect of sampling, and references."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.privbayes.privbayes import PrivBayes
from dpmosaic.curator.mechanisms.privbayes.scores import sampling_distance


def count_vectors(cells, records):
    """All tables of at most `records` records, as counts."""
    for n in range(records + 1):
        for places in itertools.combinations_with_replacement(range(cells), n):
            yield np.bincount(places, minlength=cells)


@pytest.mark.slow
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


@pytest.mark.slow
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
def test_the_effect_of_sampling_is_the_mean_distance_of_poisson_counts(rounded):
    means = np.array([0.0, 0.2, 0.5, 0.9, 1.0, 3.7, 40.4])
    reference = np.rint(means) if rounded else means
    k = np.arange(400)
    exact = sum(
        (np.abs(k - r) * stats.poisson.pmf(k, m)).sum() for m, r in zip(means, reference, strict=True)
    )
    assert sampling_distance(means, rounded) == pytest.approx(exact)


def test_independent_attributes_of_many_values_stay_independent(run):
    """3,000 records in 900 cells are 1,300 from independence by chance; the table's noise would be 250."""
    codes = np.random.default_rng(5).integers(0, 30, (3000, 2))
    table = Table.from_codes(Domain.coded({"x": 30, "y": 30}), codes)
    fitted, _ = run(PrivBayes(), table, Budget(zcdp_rho=10.0))
    assert sorted(fitted.model.cliques) == [("x",), ("y",)]
    paper, _ = run(PrivBayes.of_the_paper(), table, Budget(zcdp_rho=10.0))
    assert ("x", "y") in paper.model.cliques


def test_each_score_is_the_distance_to_the_product_of_noisy_one_way_marginals(asked, run, table_of):
    table = table_of()
    run(PrivBayes(), table, Budget(zcdp_rho=1e6))
    ((cliques, references, scores),) = [entry for entry in asked if isinstance(entry, tuple)]
    assert cliques == list(itertools.combinations("abch", 2))
    for (a, b), reference, value in zip(cliques, references, scores.values, strict=True):
        product = np.outer(table.marginal((a,)), table.marginal((b,))).ravel() / table.record_count
        assert np.abs(reference - product).max() <= 0.6
        assert value == pytest.approx(np.abs(table.marginal((a, b)) - reference).sum(), abs=0.1)
