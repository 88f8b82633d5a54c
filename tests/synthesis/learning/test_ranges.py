"""Ranges hold the records and little more, whatever the numbers are."""

import numpy as np
import pytest

from dpmosaic.curator.releasing.bins.noisy_counts import NoisyCounts
from dpmosaic.synthesis.learning.asking import Asking, Rows
from dpmosaic.synthesis.learning.kind import Numbers
from dpmosaic.synthesis.learning.kinds import Vote
from dpmosaic.synthesis.learning.of_numbers import CLOSER, MAGNITUDES
from dpmosaic.synthesis.learning.ranges import (
    FINE_CELLS,
    Range,
    Ruler,
    extend_end,
    found_range,
    occupied_cells,
)

ROWS = 5000
SEEDS = range(5)
SHARES = {"a small budget": 0.01, "a large budget": 0.1}

VOTE = Vote(Numbers("{}", None), 0.0, 20.0, ROWS)

COLUMNS = {
    "ages": (1.0, lambda rng: rng.integers(18, 91, ROWS)),
    "a flag": (1.0, lambda rng: rng.integers(0, 2, ROWS)),
    "a constant year": (1.0, lambda rng: np.full(ROWS, 2013)),
    "epoch milliseconds": (1.0, lambda rng: rng.integers(1577836800000, 1609459200000, ROWS)),
    "multiples of five": (5.0, lambda rng: 5 * rng.integers(0, 20, ROWS)),
    "a pressure": (0.1, lambda rng: np.round(rng.normal(1017, 7, ROWS), 1)),
    "a longitude": (1e-5, lambda rng: np.round(rng.uniform(-73.98, -73.95, ROWS), 5)),
    "exponential": (None, lambda rng: rng.exponential(30, ROWS)),
    "negative": (None, lambda rng: rng.normal(-500, 20, ROWS)),
    "around zero": (None, lambda rng: rng.normal(0, 1, ROWS)),
    "a heavy tail": (None, lambda rng: np.exp(rng.normal(5, 1.5, ROWS))),
    "very small": (None, lambda rng: rng.uniform(1e-6, 2e-6, ROWS)),
}


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_range_holds_nearly_all_records_and_is_at_most_sixteen_times_too_wide(private_counts, name, share):
    unit, drawn = COLUMNS[name]
    for seed in SEEDS:
        numbers = drawn(np.random.default_rng(seed)).astype(float)
        asking = Asking(None, private_counts(1.0, seed), Rows(ROWS), share)
        found = asking.ranges(
            "range", {"x": lambda x=numbers: x}, {"x": Ruler.of_all(unit)}, {"x": VOTE}, MAGNITUDES, CLOSER
        )["x"]
        assert found.certain
        lattice = 1e-9 * abs(found.low)
        assert np.mean((numbers >= found.low - lattice) & (numbers <= found.high + lattice)) >= (
            0.95 if name == "a heavy tail" else 0.99
        )
        # Beside zero, a range may reach some small multiples too far.
        assert found.high - found.low <= max(16 * np.ptp(numbers), 64 * (unit or 0))


def counted(private_counts, ruler, numbers, zcdp_rho=1e8, seed=1):
    count = lambda: ruler.count_in_cells(np.asarray(numbers, float))  # noqa: E731
    ladder = private_counts(zcdp_rho, seed).ladders("range", {"x": (ruler.cells, count)}, zcdp_rho)
    return NoisyCounts.of(ladder["x"])


@pytest.mark.parametrize("numbers", [[0, 1], [3], [1, 2, 3], [-2, 5], list(range(13)), [2013], [18, 90]])
def test_exact_counts_of_small_whole_numbers_give_the_cells_that_hold_them(private_counts, numbers):
    low, high = min(numbers), max(numbers)
    ruler = Ruler.between(low - 9, high + 9, 1.0)
    counts = counted(private_counts, ruler, numbers * 50)
    likely, possible = occupied_cells(counts, ruler.cells)
    assert ruler.numbers(*likely) == (low, high)
    assert possible[0] <= likely[0] < likely[1] <= possible[1]


@pytest.mark.parametrize("after", [[0.0, 0.4, 0.8], [-0.5, 0.9, 0.6], [0.7, 0.3, -0.2]])
@pytest.mark.parametrize("records", [20.0, 77.0, 1000.0])
def test_an_end_that_a_cell_shows_is_not_that_of_the_box_around_it(records, after):
    # Boxes of four cells are counted more exactly than each cell alone.
    sums = np.concatenate([[0.0], np.cumsum([500.0] * 12 + [records, *after] + [0.0] * 48)])
    counts = NoisyCounts(sums, (1, 4, 16), (0.7, 0.63, 0.62))
    assert extend_end(counts, 12, 64, 3.0) == 13
    turned = NoisyCounts(sums[-1] - sums[::-1], counts.widths, counts.variances)
    assert extend_end(turned, 52, 0, 3.0) == 51


def test_a_tail_that_no_box_shows_is_held_if_its_boxes_together_hold_many(private_counts):
    # Beyond the bulk, 20 records lie in each of 30 cells; counts of cells and boxes have a deviation of 39.
    missed = 0
    for seed in range(20):
        ruler = Ruler.between(0, 255, 1.0)
        numbers = np.concatenate([np.full(4000, 100), np.resize(np.arange(101, 131), 600)])
        _, (first, stop) = occupied_cells(counted(private_counts, ruler, numbers, 0.001, seed), ruler.cells)
        assert first <= 100
        missed += np.mean(numbers >= stop) > 0.06
    # A release in ten misses half of it: more than seven of twenty with a probability of 4e-4.
    assert missed <= 7


def test_where_no_records_are_seen_the_range_is_not_certain(private_counts):
    uncertain = 0
    for seed in range(40):
        ruler = Ruler.of_all(1.0)
        uncertain += not found_range(ruler, counted(private_counts, ruler, [7], 0.001, seed)).certain
    # Noise alone is seen with a probability of .3 %: three times in 40 with 3e-4.
    assert uncertain >= 38


@pytest.mark.parametrize("unit", [1.0, 5.0, 0.1, None])
def test_a_ruler_counts_every_number_once(unit):
    numbers = np.array([-1e30, -7, -0.5, 0, 0.1, 5, 1e9, 1e30, np.nan])
    for ruler in (Ruler.of_all(unit), Ruler.between(0, 100, unit)):
        assert ruler.count_in_cells(numbers).sum() == 8
        assert len(ruler.count_in_cells(numbers)) == ruler.cells
        assert np.all(np.diff(ruler.edges) > 0)


def test_cells_around_the_records_are_few_and_whole():
    assert Ruler.between(0, 10**9, 1.0).cells <= FINE_CELLS
    ruler = Ruler.between(3, 7, 1.0)
    assert [ruler.numbers(k, k + 1) for k in range(ruler.cells)] == [(k, k) for k in range(3, 8)]
    assert Ruler.between(0.0, 1.0, None).cells == FINE_CELLS


def test_a_range_lies_within_ends_even_if_all_of_it_was_beyond():
    beyond = Range(9000, 9100, 9050, 9050, True)
    assert [beyond.within(0, 8000).low, beyond.within(0, 8000).high] == [8000, 8000]
    assert [beyond.within(9050, 9999).low, beyond.within(9050, 9999).high] == [9050, 9100]
