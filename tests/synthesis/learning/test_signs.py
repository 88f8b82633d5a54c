"""A few numbers of the other sign are told from noise before a range crosses zero."""

import numpy as np
import pytest

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.curator.releasing.bins.noisy_counts import NoisyCounts
from dpmosaic.synthesis.learning.choice import Ends

WHOLE = NumericAttribute("x", -20, 60, 81, integer=True)
RNG = np.random.default_rng(3)
VISITS = RNG.geometric(0.1, 5000) - 1
NOISE = 0.02
"""Of the budget, zCDP: deviations of 5 records in each number, and of more in runs."""


def ends(private_counts, numbers, attribute=WHOLE, seed=1):
    """The smallest and the largest number that records are taken to have."""
    places = np.searchsorted(attribute.cells[:, 0], np.clip(numbers, -20, 60), side="right") - 1
    cells = len(attribute.cells)
    count = lambda: np.bincount(places, minlength=cells).astype(np.int64)  # noqa: E731
    ladder = private_counts(1.0, seed).ladders("bins", {"x": (cells, count)}, NOISE)["x"]
    found = Ends.of(NoisyCounts.of(ladder, len(numbers), 0.0), attribute)
    first, stop = found.likely
    return attribute.cells[first, 0], attribute.cells[stop - 1, 0], found.below


@pytest.mark.parametrize("seed", range(40))
def test_counts_of_things_are_not_negative(private_counts, seed):
    """Five deviations of a sum: one of 40 releases goes wrong in 1 of 10^5 runs of a correct program."""
    low, high, below = ends(private_counts, VISITS, seed=seed)
    assert low >= 0
    assert high >= 25
    assert below > 0


@pytest.mark.parametrize("seed", range(10))
def test_losses_are_not_positive(private_counts, seed):
    _, high, _ = ends(private_counts, -np.minimum(VISITS + 1, 20), seed=seed)
    assert high < 0


@pytest.mark.parametrize("seed", range(10))
def test_debts_of_one_in_ten_are_kept(private_counts, seed):
    balances = np.where(np.arange(5000) % 10 == 0, -RNG.integers(1, 8, 5000), VISITS)
    low, high, _ = ends(private_counts, balances, seed=seed)
    assert -10 <= low <= -6
    assert high >= 25
