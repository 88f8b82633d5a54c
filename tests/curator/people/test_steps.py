"""Where rows are on the scale of their order: codes, and values with these codes."""

import numpy as np
import pytest

from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.common.data.related.spans import cut_to
from dpmosaic.common.data.related.steps import Steps


@pytest.fixture
def steps():
    return Steps(NumericAttribute("day", 0, 3650, 73, integer=True))


def made(rng, parents=400):
    numbers = rng.geometric(0.15, parents)
    parent = np.repeat(np.arange(parents), numbers)
    values = rng.integers(0, 3651, len(parent)).astype(float)
    values = values[np.lexsort((values, parent))]
    return values, parent, Rows({}, parent, parents).first


def again(steps, values, parent, first, parents, seed=2):
    codes = steps.codes(values, first)
    places = steps.codes_of_places(values, parent, parents)
    rng = np.random.default_rng(seed)
    return steps.values(codes, first, tuple(one[parent] for one in places), rng)


def test_values_of_codes_have_the_first_and_the_span_of_their_parent(steps):
    values, parent, first = made(np.random.default_rng(1))
    found = again(steps, values, parent, first, 400)
    one, other = (steps.codes_of_places(each, parent, 400) for each in (values, found))
    assert (one[0] == other[0]).all()
    # The end of a row that would lie beyond the bounds is the bound.
    assert (one[1] == other[1]).mean() > 0.95


def test_rows_of_one_parent_are_in_order_and_within_the_bounds(steps):
    values, parent, first = made(np.random.default_rng(1))
    found = again(steps, values, parent, first, 400)
    assert (np.diff(found)[~first[1:]] >= 0).all()
    assert found.min() >= 0
    assert found.max() <= 3650
    assert (found == np.round(found)).all()


def test_rows_of_one_day_stay_on_one_day(steps):
    values, parent = np.array([5.0, 5.0, 5.0, 900.0, 900.0]), np.zeros(5, dtype=np.int64)
    first = Rows({}, parent, 1).first
    found = again(steps, values, parent, first, 1)
    assert found[0] == found[1] == found[2] < found[3] == found[4]


def test_where_gaps_are_far_more_than_a_span_the_longest_are_cut_and_short_ones_are_not_zero(steps):
    short, long = 1 + 6, len(steps.attribute.categories) - 1
    codes = np.array([0, short, long, short, long, short, 0, short, short])
    first = codes == 0
    # The first parent's rows last some hundred days, in place of thousands; those of the second are left.
    span = np.where(
        np.arange(9) < 6, *(np.searchsorted(steps.spans, days, "right") - 1 for days in (400, 12))
    )
    for seed in range(20):
        found = steps.values(codes, first, (np.zeros(9, np.int64), span), np.random.default_rng(seed))
        gaps = np.diff(found)
        # Less by a third at most, but for rounding.
        assert ((3 <= gaps[[0, 2, 4]]) & (gaps[[0, 2, 4]] <= 6)).all()
        assert abs(gaps[1] - gaps[3]) <= 1
        assert gaps[[6, 7]].tolist() == [6, 6]
        places = steps.codes_of_places(found, np.repeat([0, 1], [6, 3]), 2)
        assert places[1].tolist() == [span[0], span[6]]


@pytest.mark.parametrize("seed", range(5))
def test_cut_gaps_add_up_to_a_span_and_no_gap_is_cut_below_one_that_is_not(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, 300)
    starts = np.cumsum(lengths) - lengths
    steps = np.floor(rng.exponential(20, lengths.sum()) ** rng.choice([0.5, 1.5], lengths.sum()))
    steps[starts] = 0
    total = np.add.reduceat(steps, starts)
    most = np.floor(total * rng.choice([0.0, 0.1, 0.7, 1.0, 3.0], 300))
    cut = cut_to(steps, starts, lengths, most)
    np.testing.assert_allclose(np.add.reduceat(cut, starts), np.minimum(total, most), atol=1e-6)
    longest = np.repeat(np.maximum.reduceat(cut, starts), lengths)
    assert ((np.abs(cut - steps) < 1e-6) | (np.abs(cut - longest) < 1e-6)).all()


def test_rows_that_come_monthly_do_so_whatever_noise_says_of_some_gaps_and_of_spans(steps):
    """One gap in twenty is of any length, and a fifth of the spans are those of other numbers of rows."""
    rng = np.random.default_rng(7)
    lengths = rng.integers(2, 25, 2_000)
    parent = np.repeat(np.arange(2_000), lengths)
    first = np.append(True, np.diff(parent) > 0)
    month = np.searchsorted(steps.gaps, 30, "right")
    codes = np.where(rng.random(len(parent)) < 0.05, rng.integers(1, len(steps.gaps), len(parent)), month)
    codes[first] = 0
    said = np.where(rng.random(2_000) < 0.2, rng.permutation(lengths), lengths)
    spans = np.searchsorted(steps.spans, 30.4 * (said - 1), "right") - 1
    found = steps.values(codes, first, (np.zeros(len(parent), np.int64), spans[parent]), rng)
    gaps = np.diff(found)[~first[1:]]
    assert ((gaps >= 28) & (gaps < 32)).mean() > 0.75


def test_dates_do_not_pile_up_at_the_bounds(steps):
    rng = np.random.default_rng(3)
    first = np.arange(3_000) % 30 == 0
    # Gaps that add up to more than the bounds, with spans that do not.
    codes = np.where(first, 0, len(steps.attribute.categories) - 6)
    span = np.full(3_000, len(steps.spans) - 6)
    found = steps.values(codes, first, (np.zeros(3_000, dtype=np.int64), span), rng)
    assert (found == 3650).mean() < 0.001


@pytest.mark.parametrize("since", [False, True])
def test_spans_and_first_rows_that_have_no_room_do_not_pile_up_at_the_end(since):
    """Half of the parents begin late, which where their rows lie does not know."""
    rng, parents = np.random.default_rng(4), 2_000
    steps = Steps(NumericAttribute("day", 0, 3650, 73, integer=True), since=since)
    parent = np.repeat(np.arange(parents), np.tile([1, 3], parents // 2))
    first = np.append(True, parent[1:] != parent[:-1])
    begun = np.where(rng.random(parents) < 0.5, 0, 2400).astype(float)[parent]
    high = np.full(parents, 3600.0)[parent]
    firsts = np.searchsorted(steps.firsts, rng.integers(0, 2000, parents), "right") - 1
    spans = rng.integers(8, len(steps.spans) - 8, parents)
    codes = np.where(first, 0, rng.integers(1, len(steps.attribute.categories), len(parent)))
    at = (firsts[parent], spans[parent])
    low = begun if since else None
    found = steps.values(codes, first, at, np.random.default_rng(5), low, high, begun if since else None)
    assert found.max() <= 3600
    assert (found > 3300).mean() > 0.01
    assert (found == 3600).mean() < 0.02


def test_a_parent_without_places_has_rows_somewhere(steps):
    none = tuple(np.full(4, len(one.categories) - 1) for one in steps.places("visits"))
    first = np.array([True, False, True, False])
    found = steps.values(np.array([0, 3, 0, 3]), first, none, np.random.default_rng(0))
    assert ((found >= 0) & (found <= 3650)).all()


def test_a_parent_of_one_row_has_no_span(steps):
    firsts, spans = steps.codes_of_places(np.array([7.0]), np.array([1]), 2)
    assert firsts[0] == len(steps.firsts) - 1
    assert firsts[1] == 0
    assert (spans == len(steps.spans) - 1).all()


def test_rows_lie_between_the_beginning_and_the_end_of_their_parent():
    rng = np.random.default_rng(3)
    steps = Steps(NumericAttribute("day", 0, 999, 100, integer=True), since=True)
    parent = np.repeat(np.arange(300), rng.integers(1, 6, 300))
    begun = np.sort(rng.integers(0, 500, 300)).astype(float)
    ended = begun + rng.integers(0, 300, 300)
    gaps = rng.integers(0, 90, len(parent)).astype(float)
    first = np.append(True, parent[1:] != parent[:-1])
    summed = np.cumsum(gaps)
    values = np.minimum(begun[parent] + summed - np.repeat(summed[first], np.bincount(parent)), 999)
    places = steps.codes_of_places(values, parent, 300, begun[parent])
    at = tuple(one[parent] for one in places)
    found = steps.values(steps.codes(values, first), first, at, rng, begun[parent], ended[parent])
    assert (found >= begun[parent]).all()
    assert (found <= ended[parent]).all()
    assert (np.diff(found)[~first[1:]] >= 0).all()
    # Without an end, what lies between the beginning and the first row stays in its bin.
    free = steps.values(steps.codes(values, first), first, at, rng, begun[parent])
    again = steps.codes_of_places(free, parent, 300, begun[parent])
    assert (again[0] == places[0]).all()
