"""Interactions of pairs predicted from all others."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.interactions import freedom, interaction
from dpmosaic.curator.mechanisms.mosaic import factors as module
from dpmosaic.curator.mechanisms.mosaic.components import expected_axis
from dpmosaic.curator.mechanisms.mosaic.factors import Blocks, factors, predicted_pairs
from dpmosaic.curator.mechanisms.mosaic.observed import Observed

RECORDS = 10_000.0
NAMES = "abcdefghij"


def hidden_classes(values, classes=3, seed=0):
    """Margins, and exact shares of all pairs, of attributes independent given a hidden class."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(classes, 3.0))
    given = {name: rng.dirichlet(np.ones(values), size=classes) for name in NAMES}
    margins = {name: weights @ given[name] for name in NAMES}
    pairs = {
        (a, b): np.einsum("k,ki,kj->ij", weights, given[a], given[b]).ravel()
        for a, b in itertools.combinations(NAMES, 2)
    }
    return margins, pairs


def measured(pairs, values, noise, seed=1):
    """Interactions of the pairs with noise of this standard deviation in each cell, in records."""
    rng = np.random.default_rng(seed)
    shape = values, values
    found = {}
    for pair, shares in pairs.items():
        noisy = RECORDS * shares + rng.normal(0, noise, shares.size)
        found[pair] = Observed(interaction(noisy, shape), noise**2 * freedom(shape))
    return found


def apart(margins, pairs, found):
    """Mean L1 distance of pairs from those with the found interactions, as a share of the records."""
    distances = [
        np.abs(np.outer(margins[a], margins[b]).ravel() + found[a, b] / RECORDS - shares).sum()
        for (a, b), shares in pairs.items()
    ]
    return np.mean(distances)


def axes_of(margins):
    return {name: expected_axis(margin) for name, margin in margins.items()}


@pytest.mark.parametrize("values", [2, 5])
def test_recovers_every_pair_of_hidden_classes_without_its_own_measurement(values):
    """Exact shares: two factors explain everything, and the blocks left out follow from the others."""
    margins, pairs = hidden_classes(values)
    found = predicted_pairs(margins, axes_of(margins), measured(pairs, values, 1e-3), RECORDS)
    independent = apart(margins, pairs, dict.fromkeys(pairs, 0.0))
    assert apart(margins, pairs, found) < 0.02 * independent


def test_recovers_pairs_that_were_not_measured():
    margins, pairs = hidden_classes(4)
    unmeasured = [("a", "b"), ("c", "f"), ("e", "j")]
    known = {pair: seen for pair, seen in measured(pairs, 4, 1e-3).items() if pair not in unmeasured}
    found = predicted_pairs(margins, axes_of(margins), known, RECORDS)
    some = {pair: pairs[pair] for pair in unmeasured}
    assert apart(margins, some, found) < 0.02 * apart(margins, some, dict.fromkeys(some, 0.0))


def test_a_pair_s_own_measurement_does_not_change_what_is_predicted_of_it():
    margins, pairs = hidden_classes(3)
    known = measured(pairs, 3, 20.0)
    before = predicted_pairs(margins, axes_of(margins), known, RECORDS)
    known["b", "e"] = Observed(np.full(9, 1e4), known["b", "e"].variance)
    after = predicted_pairs(margins, axes_of(margins), known, RECORDS)
    np.testing.assert_array_equal(after["b", "e"], before["b", "e"])
    assert np.abs(after["a", "b"] - before["a", "b"]).max() > 0


@pytest.mark.slow
def test_predicts_nothing_where_attributes_are_independent():
    """Noise alone: twenty tables of 45 pairs, fixed draws. In all but one, what is predicted is below a tenth
    of the noise; a factor of pure noise would make it a fifth or more."""
    sizes = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        margins = {name: rng.dirichlet(np.full(4, 5.0)) for name in NAMES}
        pairs = {
            (a, b): np.outer(margins[a], margins[b]).ravel() for a, b in itertools.combinations(NAMES, 2)
        }
        known = measured(pairs, 4, 30.0, seed)
        found = predicted_pairs(margins, axes_of(margins), known, RECORDS)
        noise = np.mean(
            [np.abs(seen.values - interaction(RECORDS * pairs[p], (4, 4))).sum() for p, seen in known.items()]
        )
        sizes.append(np.mean([np.abs(cells).sum() for cells in found.values()]) / noise)
    assert sorted(sizes)[-2] < 0.1


def test_the_blocks_hold_the_interactions():
    margins, pairs = hidden_classes(4)
    margins["a"], margins["b"] = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.4, 0.3, 0.2, 0.1])
    observed = measured(pairs, 4, 50.0)
    blocks = Blocks.of(margins, axes_of(margins), observed, RECORDS)
    for a, b in (("a", "b"), ("c", "h")):
        independent = interaction(np.outer(margins[a], margins[b]).ravel(), (4, 4))
        expected = observed[a, b].values / RECORDS - independent
        np.testing.assert_allclose(blocks.cells(blocks.values, (a, b)), expected, atol=1e-12)
    np.testing.assert_array_equal(blocks.values, blocks.values.T)
    assert not np.isfinite(blocks.noise[blocks.owners[:, None] == blocks.owners]).any()


def test_finds_the_matrix_of_low_rank_that_eigenvectors_find_where_all_is_known():
    """One row for each attribute and hardly any noise; signs of both kinds."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(40, 3))
    matrix = (rows * [1.0, -1.0, 1.0]) @ rows.T
    noise = np.where(np.eye(40, dtype=bool), np.inf, 1e-6)
    found = factors(matrix + 7 * np.eye(40), noise, np.arange(40))
    assert np.abs(found - matrix).max() < 0.01 * np.abs(matrix).max()


def test_leaves_out_the_largest_attributes_beyond_the_limit(monkeypatch):
    monkeypatch.setattr(module, "MAX_COORDINATES", 15)
    rng = np.random.default_rng(0)
    sizes = dict(zip("abcdefg", (3, 2, 9, 3, 4, 1, 2), strict=True))
    margins = {name: rng.dirichlet(np.ones(size)) for name, size in sizes.items()}
    axes = {name: expected_axis(margin) for name, margin in margins.items() if margin.size > 1}
    known = {("a", "b"): Observed(np.zeros(6), 1.0), ("b", "c"): Observed(np.zeros(18), 1.0)}
    found = predicted_pairs(margins, axes, known, RECORDS)
    assert set(found) == set(itertools.combinations("abdeg", 2))
    assert all(cells.size == sizes[a] * sizes[b] for (a, b), cells in found.items())


def test_the_only_measured_pair_is_predicted_as_independent():
    margins, pairs = hidden_classes(3)
    found = predicted_pairs(
        margins, axes_of(margins), measured({("a", "b"): pairs["a", "b"]}, 3, 1.0), RECORDS
    )
    np.testing.assert_array_equal(found["a", "b"], np.zeros(9))


def test_predicts_nothing_of_few_attributes_or_without_measurements():
    margins, pairs = hidden_classes(3)
    few = {name: margins[name] for name in "abcd"}
    known = measured(pairs, 3, 1.0)
    assert not predicted_pairs(few, axes_of(margins), known, RECORDS)
    assert not predicted_pairs(margins, axes_of(margins), {}, RECORDS)


def test_of_an_attribute_of_many_values_only_the_directions_that_vary_most_are_used(monkeypatch):
    margins, pairs = hidden_classes(5)
    known, axes = measured(pairs, 5, 1e-3), axes_of(margins)
    whole = apart(margins, pairs, predicted_pairs(margins, axes, known, RECORDS))
    monkeypatch.setattr(module, "COORDINATES", 3)
    independent = apart(margins, pairs, dict.fromkeys(pairs, 0.0))
    assert whole < apart(margins, pairs, predicted_pairs(margins, axes, known, RECORDS)) < 0.7 * independent
    kept = axes["a"].leading(3)
    assert kept.vectors.shape == (5, 3)
    np.testing.assert_array_equal(kept.variances, np.sort(axes["a"].variances)[-3:])
