"""Sweeps over rows in order, against the distance that they are to reduce."""

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from dpmosaic.curator.people.drawing.sweeps import Free, Pair, sweep
from dpmosaic.curator.pgm.rows.sweeps import ROW_PARTS


@st.composite
def problems(draw):
    """Rows of parents with one given column, two drawn ones and those before them; wanted pairs.

    A row is that after another one if it is the next of its parent, or the next of one of two series.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=12))
    rows = sum(lengths)
    series = rng.integers(0, draw(st.sampled_from([1, 2])), rows)
    following, last = np.full(rows, -1), np.full(rows, -1)
    for row in range(rows):
        earlier = range(sum(lengths[: np.searchsorted(np.cumsum(lengths), row, "right")]), row)
        for other in [one for one in earlier if series[one] == series[row]][-1:]:
            last[row], following[other] = other, row
    sizes = [3, 3, 4, 2, 3]  # given, before one, before two, one, two
    codes = np.zeros((rows, 5), dtype=np.int32)
    codes[:, 0] = rng.integers(0, 3, rows)
    codes[:, 3], codes[:, 4] = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    weights = np.repeat(1.0 / np.array(lengths), lengths)
    sizes[1], sizes[2] = 3, 4
    codes[:, 1], codes[:, 2] = before(codes[:, 3], last, 2), before(codes[:, 4], last, 3)
    wanted = {}
    for a, b in [(0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]:
        cells = rng.random((sizes[a], sizes[b])) ** 3
        wanted[a, b] = cells * weights.sum() / cells.sum()
    return codes, weights, following, last, sizes, wanted


def before(codes, last, none):
    return np.where(last < 0, none, codes[last])


def counts(codes, weights, sizes, a, b):
    found = np.zeros((sizes[a], sizes[b]))
    np.add.at(found, (codes[:, a], codes[:, b]), weights)
    return found


def distance(codes, weights, sizes, wanted):
    return sum(((counts(codes, weights, sizes, *both) - goal) ** 2).sum() for both, goal in wanted.items())


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(), st.booleans())
def test_a_sweep_never_increases_the_distance_and_keeps_its_books(problem, bounded):
    codes, weights, following, last, sizes, wanted = problem
    first = last < 0
    given_, rows = codes[:, 0].copy(), len(codes)
    low = np.zeros(rows, dtype=np.int32)
    high = np.where(first, 1 if bounded else 2, 2).astype(np.int32)
    if bounded:
        codes[first, 3] = 0
        codes[:, 1] = before(codes[:, 3], last, 2)
    free = [
        Free(3, 1, np.arange(2), low, high),
        Free(4, 2, np.arange(3), low, np.full(rows, 3, dtype=np.int32)),
    ]
    pairs = [Pair(a, b, counts(codes, weights, sizes, a, b) - goal) for (a, b), goal in wanted.items()]
    earlier = distance(codes, weights, sizes, wanted)
    for _ in range(3):
        changed = sweep(codes, weights, following, free, pairs)
        after = distance(codes, weights, sizes, wanted)
        assert after <= earlier + 1e-6
        assert changed or after == earlier
        earlier = after
    # The surplus is that of the rows, columns before fit their rows, what is given did not change.
    for pair in pairs:
        np.testing.assert_allclose(
            pair.over,
            counts(codes, weights, sizes, pair.one, pair.other) - wanted[pair.one, pair.other],
            atol=1e-9,
        )
    np.testing.assert_array_equal(codes[:, 1], before(codes[:, 3], last, 2))
    np.testing.assert_array_equal(codes[:, 2], before(codes[:, 4], last, 3))
    np.testing.assert_array_equal(codes[:, 0], given_)
    assert np.all((low <= codes[:, 3]) & (codes[:, 3] < high))


def swept_by_force(codes, weights, following, free, sizes, wanted):
    """A sweep that computes the distance anew for each value that a row may take."""
    for first, last in itertools.pairwise(np.linspace(0, len(codes), ROW_PARTS + 1).astype(int)):
        for one, row in itertools.product(free, range(first, last)):
            found = {}
            for value in range(one.low[row], one.high[row]):
                tried = codes.copy()
                tried[row, one.column] = value
                if following[row] >= 0:
                    tried[following[row], one.before] = one.groups[value]
                found[value] = distance(tried, weights, sizes, wanted), tried
            now = found[codes[row, one.column]][0]
            best, tried = min(found.values(), key=lambda both: both[0])
            codes = tried if best < now - 1e-9 else codes
    return codes


@pytest.mark.slow
@settings(max_examples=20)
@given(problems())
def test_each_row_takes_the_value_that_makes_the_distance_least(problem):
    codes, weights, following, _, sizes, wanted = problem
    low = np.zeros(len(codes), dtype=np.int32)
    free = [
        Free(column, before, np.arange(size), low, np.full(len(codes), size, dtype=np.int32))
        for column, before, size in ((3, 1, 2), (4, 2, 3))
    ]
    pairs = [Pair(a, b, counts(codes, weights, sizes, a, b) - goal) for (a, b), goal in wanted.items()]
    forced = swept_by_force(codes.copy(), weights, following, free, sizes, wanted)
    sweep(codes, weights, following, free, pairs)
    np.testing.assert_array_equal(codes, forced)
