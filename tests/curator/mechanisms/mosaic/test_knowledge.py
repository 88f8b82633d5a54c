"""What Mosaic knows: of one-way marginals what was published too, and which pairs make a forest."""

import itertools

import networkx as nx
import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.mechanisms.mosaic.knowledge import Knowledge, largest_forest

DOMAIN = Domain.coded({"a": 4, "b": 3})
COUNTS = np.array([500.0, 300.0, 150.0, 50.0])


def known(before, *measured):
    found = Knowledge(DOMAIN, 1000, before)
    found.measure(measured)
    return found


def marginal(values, sigma, sigmas=None):
    return Measurement(View(("a",)), np.asarray(values, dtype=float), sigma, 0.1, sigmas=sigmas)


def test_cells_are_averaged_by_the_noise_of_each():
    noise = np.array([9.0, -9.0, 9.0, -9.0])
    before = marginal(COUNTS - noise, 10.0, np.array([1e-6, 1e6, 10.0, 10.0]))
    (target,) = known([before], marginal(COUNTS + noise, 10.0)).targets([])
    # One cell is known, one is as measured, and two are halfway, before the sum is made right.
    assert target.values[0] == pytest.approx(491, abs=0.01)
    assert target.values[1:].sum() == pytest.approx(509, abs=0.01)
    assert target.values[1] < target.values[2] + 150
    assert target.sigmas[0] < target.sigmas[2] < target.sigmas[1]


def test_another_attribute_is_known_as_measured():
    before = Measurement(View(("b",)), np.array([500.0, 250.0, 250.0]), 1.0, 0.1)
    measured = marginal(COUNTS, 10.0)
    assert known([before], measured).targets([])[0].values == pytest.approx(
        known([], measured).targets([])[0].values
    )


def test_what_was_published_counts_when_budget_is_split():
    measured = marginal(COUNTS, 10.0)
    alone, both = known([], measured), known([marginal(COUNTS, 5.0)], measured)
    assert both.precision(("a",)) == pytest.approx(alone.precision(("a",)) + 1 / 25)
    assert both.precision(("b",)) == 0


@pytest.mark.slow
def test_estimates_are_closer_with_what_was_published():
    """Means of 200 seeds: the squared error halves where both are as noisy; false alarm below 1e-6."""
    rng = np.random.default_rng(1)
    errors = np.zeros(2)
    for _ in range(200):
        measured, before = (marginal(COUNTS + rng.normal(0, 20, 4), 20.0) for _ in range(2))
        for place, published in enumerate(([], [before])):
            (target,) = known(published, measured).targets([])
            errors[place] += ((target.values - COUNTS) ** 2).sum()
    assert 0.35 < errors[1] / errors[0] < 0.7


@pytest.mark.slow
def test_a_forest_is_the_largest_of_all_that_have_no_cycle():
    """By brute force over all subsets of the pairs of five attributes, one of which has no pair."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        pairs = list(itertools.combinations("abcd", 2))
        sizes = dict(zip(pairs, rng.random(len(pairs)), strict=True)) | {("e", "f"): 0.1}
        forests = (
            subset
            for count in range(1, len(sizes) + 1)
            for subset in itertools.combinations(sizes, count)
            if nx.is_forest(nx.Graph(subset))
        )
        best = max(forests, key=lambda forest: sum(map(sizes.__getitem__, forest)))
        assert set(largest_forest(sizes)) == set(best)


def test_the_forest_of_a_chain_is_the_chain(chain_of_bits, measured):
    known = measured(chain_of_bits(20_000, 0))
    assert known.forest() == [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")]
