"""Codes of the order of rows: first values, then what lies between."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.people.steps import Steps, check_order, orders

NUMBERS = {"type": "numeric", "min": 0, "max": 500, "bins": 25, "integer": True}
HALVES = {"type": "numeric", "min": -10, "max": 90, "bins": 20, "multiple_of": 0.5}
DATES = {"type": "date", "min": "2019-01-01", "max": "2023-12-31", "bins": 24}


def steps(form, since=False):
    return Steps(Domain.from_json({"when": form}).attributes[0], since)


@st.composite
def orders_of_parents(draw, form):
    """Values of the order in order, which are the first of their parent, and the steps."""
    found = steps(form)
    low, high = found.units.ends
    span = round((high - low) / found.unit)
    lives = draw(st.lists(st.lists(st.integers(0, span), min_size=1, max_size=6), min_size=1, max_size=5))
    values = np.concatenate([np.sort(np.array(life)) for life in lives]) * found.unit + low
    first = np.concatenate([np.arange(len(life)) == 0 for life in lives])
    return found, values, first


@pytest.mark.parametrize("form", [NUMBERS, HALVES, DATES], ids=["whole", "halves", "dates"])
def test_values_of_codes_have_these_codes_unless_they_were_moved_into_the_bounds(form):
    @given(orders_of_parents(form), st.integers(0, 2**32 - 1))
    def check(drawn, seed):
        found, values, first = drawn
        codes = found.codes(values, first)
        again = found.values(codes, first, np.random.default_rng(seed))
        back = found.codes(again, first)
        parent = np.cumsum(first)
        high = found.units.ends[1]
        for one in np.unique(parent):
            mine = parent == one
            # What ends at the last value may have been moved together.
            if again[mine].max() < high - 2 * len(codes) * found.unit:
                np.testing.assert_array_equal(back[mine], codes[mine])

    check()


@pytest.mark.parametrize("form", [NUMBERS, HALVES, DATES], ids=["whole", "halves", "dates"])
def test_values_are_in_order_within_a_parent_inside_the_bounds_and_on_the_lattice(form):
    @given(orders_of_parents(form), st.integers(0, 2**32 - 1))
    def check(drawn, seed):
        found, _, first = drawn
        rng = np.random.default_rng(seed)
        starts, all_codes = found.first_codes, found.attribute.size
        codes = np.where(
            first, rng.integers(0, starts, len(first)), rng.integers(starts, all_codes, len(first))
        )
        values = found.values(codes, first, rng)
        low, high = found.units.ends
        assert values.min() >= low
        assert values.max() <= high
        assert np.all(np.diff(values)[~first[1:]] >= 0)
        np.testing.assert_allclose(values / found.unit, np.round(values / found.unit), atol=1e-6)

    check()


def test_values_keep_between_what_the_parent_says():
    found = steps(NUMBERS, since=True)
    first = np.array([True, False, False, True, False])
    low, high = np.array([100.0] * 3 + [0.0] * 2), np.array([110.0] * 3 + [3.0] * 2)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        codes = np.where(
            first,
            rng.integers(0, found.first_codes, 5),
            rng.integers(found.first_codes, found.attribute.size, 5),
        )
        values = found.values(codes, first, rng, low, high)
        assert np.all((low <= values) & (values <= high))
        assert np.all(np.diff(values)[~first[1:]] >= 0)


def test_each_row_has_a_code_of_its_kind():
    found = steps(NUMBERS)
    first = np.array([True, False, False, True])
    codes = found.codes(np.array([3.0, 3.0, 500.0, 0.0]), first)
    assert np.all((codes < found.first_codes) == first)
    assert codes.max() < found.attribute.size


@pytest.mark.parametrize(
    "form",
    [
        ["a", "b"],
        {"type": "boolean"},
        {"type": "clock", "min": "00:00", "max": "23:59", "bins": 24, "format": "HH:MM"},
    ],
)
def test_refuses_an_order_by_what_has_none(form):
    attribute = Domain.from_json({"when": form}).attributes[0]
    assert not orders(attribute)
    with pytest.raises(DataError, match="expected a column of numbers, dates or timestamps"):
        check_order(attribute)
