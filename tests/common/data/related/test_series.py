"""Rows of which a parent has several series in one order, against loops over single rows."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.rows import last_of_series, of_series
from dpmosaic.common.data.related.series import check_series
from dpmosaic.common.errors import DataError


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 9)), max_size=40))
def test_a_row_knows_the_last_earlier_row_of_its_parent_and_its_series(rows):
    rows = sorted(rows, key=lambda row: row[0])
    parent, series, codes = (np.array([row[k] for row in rows], dtype=np.int64) for k in range(3))
    wanted, seen = [], {}
    for place, (whose, which, _) in enumerate(rows):
        wanted.append(seen.get((whose, which), -1))
        seen[whose, which] = place
    last = last_of_series(parent, series.astype(np.uint8))
    assert last.tolist() == wanted
    found = of_series(codes.astype(np.uint8), last, 10)
    assert found.tolist() == [10 if one < 0 else rows[one][2] for one in wanted]
    assert found.dtype == np.uint8


def test_of_one_series_it_is_the_row_before():
    assert last_of_series(np.array([0, 0, 2, 2, 2]), np.zeros(5, dtype=np.int64)).tolist() == [
        -1,
        0,
        -1,
        2,
        3,
    ]


OWN = ["day", "test", "value"]
KNOWN = Domain.from_json(
    {"day": {"type": "numeric", "min": 0, "max": 9, "bins": 2}, "test": ["a", "b"], "value": ["x", "y"]}
)


@pytest.mark.parametrize(
    ("series", "order", "own", "domain", "told"),
    [
        ("test", None, OWN, None, "expected an order of the rows beside the series"),
        ("tets", "day", OWN, None, r"got 'tets' \(did you mean 'test'\?\)"),
        ("day", "day", OWN, None, "another column than the order"),
        ("test", "day", ["day", "test"], None, "a column beside order and series"),
        ("day", "", OWN, KNOWN, "got numbers or dates in 'day'"),
    ],
)
def test_a_column_that_says_nothing_of_series_is_refused(series, order, own, domain, told):
    with pytest.raises(DataError, match=told):
        check_series("series of 'observations'", series, order, own, domain)


@pytest.mark.parametrize("order", ["day", ""])
def test_categories_say_which_rows_are_a_series_in_any_order(order):
    check_series("series of 'observations'", "test", order, OWN, KNOWN)
