"""Conditions from Python and from text, which codes they allow, and what they refuse."""

from datetime import date, datetime

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.analysis.condition_text import read_condition
from dpmosaic.curator.analysis.conditions import NOT_MISSING, Condition

DOMAIN = Domain.from_json(
    {
        "age": {"type": "numeric", "min": 0, "max": 99, "bins": 10, "nullable": True, "integer": True},
        "pay": {"type": "numeric", "min": 0, "max": 100, "bins": 4, "atoms": [50]},
        "sex": ["F", "M"],
        "job": ["", "clerk, senior", "cook=chef", "it's"],
        "size": {"type": "categorical", "categories": ["S", "M", "L", "XL"], "ordered": True},
        "grade": [1, 2, 3, 5],
        "smokes": {"type": "boolean", "nullable": True, "true": ["yes"], "false": ["no"]},
        "born": {"type": "date", "min": "2000-01-01", "max": "2003-12-31", "bins": 4},
        "seen": {"type": "timestamp", "min": "2020-01-01", "max": "2020-12-31T23:59:59", "bins": 12},
        "code": 5,
        "rank": {
            "type": "categorical",
            "categories": ["", "low", "high"],
            "ordered": True,
            "missing": ["NA"],
        },
        "month": {
            "type": "date",
            "min": "2020-01-01",
            "max": "2020-12-31",
            "parts": ["month"],
            "nullable": True,
        },
    }
)


def weights(where, name):
    size = DOMAIN[name].size
    return Condition.of(DOMAIN, where).weights(name, np.full(size, 100)).tolist()


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("age=30..39,sex=F", {"age": [("30", "39")], "sex": ["F"]}),
        ("age=30..", {"age": [("30", None)]}),
        ("age=..39|50|", {"age": [(None, "39"), "50", None]}),
        ("job='clerk, senior'|\"it's\"", {"job": ["clerk, senior", "it's"]}),
        ("job='it''s'", {"job": ["it's"]}),
        ("job=it's", {"job": ["it's"]}),
        ("'a=b'=x..y", {"a=b": [("x", "y")]}),
        (" sex = F , age = 1.5 ", {"sex": ["F"], "age": ["1.5"]}),
        ("name=a=b", {"name": ["a=b"]}),
        ("job='a..b'", {"job": ["a..b"]}),
        ("age=-3..-1", {"age": [("-3", "-1")]}),
        ("age!=,sex=F", {"age": [NOT_MISSING], "sex": ["F"]}),
        ("job='!='|wow!", {"job": ["!=", "wow!"]}),
        ("job=a!=b", {"job": ["a!=b"]}),
    ],
)
def test_text_states_attributes_with_alternatives_and_ranges(text, where):
    assert read_condition(text) == where


@pytest.mark.parametrize(
    "text", ["age", "=3", "age=1,,sex=F", "age=..", "age=1..2..3", "job='a", "a=1,a=2", "a!=1", "!="]
)
def test_text_that_is_no_condition_is_refused(text):
    with pytest.raises(DataError, match="condition"):
        read_condition(text)


@pytest.mark.parametrize(
    ("where", "name", "allowed"),
    [
        ({"sex": "F"}, "sex", [1, 0]),
        ({"sex": ["F", "M"]}, "sex", [1, 1]),
        ({"job": None}, "job", [1, 0, 0, 0]),
        ("job=|it's", "job", [1, 0, 0, 1]),
        ({"size": ("M", "L")}, "size", [0, 1, 1, 0]),
        ("size=L..", "size", [0, 0, 1, 1]),
        ({"grade": (2, 5)}, "grade", [0, 1, 1, 1]),
        ("grade=1.5..4", "grade", [0, 1, 1, 0]),
        ("grade=2.0", "grade", [0, 1, 0, 0]),
        ({"smokes": True}, "smokes", [0, 1, 0]),
        ("smokes=no|", "smokes", [1, 0, 1]),
        ({"code": range(1, 3)}, "code", [0, 1, 1, 0, 0]),
        ({"code": [0, 4]}, "code", [1, 0, 0, 0, 1]),
        ({"age": range(20, 40)}, "age", [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0]),
        ({"age": None}, "age", [0] * 10 + [1]),
        ({"age": np.nan}, "age", [0] * 10 + [1]),
        ({"age": NOT_MISSING}, "age", [1] * 10 + [0]),
        ("job!=", "job", [0, 1, 1, 1]),
        ("rank!=", "rank", [0, 1, 1]),
        ("rank=..high", "rank", [0, 1, 1]),
        ("rank=NA", "rank", [1, 0, 0]),
        ("smokes!=", "smokes", [1, 1, 0]),
        ("born!=", "born", [1, 1, 1, 1]),
        ("month!=", "month", [1] * 12 + [0]),
        ({"month": None}, "month", [0] * 12 + [1]),
        ("born=2001-01-01..2002-12-31", "born", [0, 1, 1, 0]),
        ({"born": (None, date(2000, 12, 31))}, "born", [1, 0, 0, 0]),
    ],
)
def test_whole_codes_are_allowed(where, name, allowed):
    assert weights(where, name) == pytest.approx(allowed, abs=1e-9)


def test_a_bin_that_a_range_cuts_counts_by_the_share_of_its_values_inside():
    # Evenly filled bins of ten integers, so each integer is a tenth of its bin.
    expected = [0, 0, 0, 0.5, 1, 0.1, 0, 0, 0, 0, 0]
    assert weights({"age": (35, 50)}, "age") == pytest.approx(expected, abs=1e-3)
    assert weights({"age": 35}, "age")[3] == pytest.approx(0.1, abs=1e-3)
    assert weights({"age": [31, 35, (34, 36)]}, "age")[3] == pytest.approx(0.4, abs=1e-3)
    # Bins 0-25, 25-50, 50, 50-75, 75-100 of real numbers.
    assert weights("pay=40..50", "pay") == pytest.approx([0, 0.4, 1, 0, 0], abs=1e-3)
    assert weights("pay=50", "pay") == pytest.approx([0, 0, 1, 0, 0])


def test_a_day_without_a_time_is_the_whole_day():
    whole = Condition.of(DOMAIN, {"seen": ("2020-01-01", "2020-01-31")})
    assert whole.weights("seen", np.ones(12))[0] == pytest.approx(
        1 if DOMAIN["seen"].size == 12 else 0, abs=0.05
    )
    first, last = Condition.of(DOMAIN, {"seen": date(2020, 3, 4)}).allowed["seen"].ranges[0]
    assert last - first == 24 * 3600 - 1
    first, last = Condition.of(DOMAIN, {"seen": datetime(2020, 3, 4, 5)}).allowed["seen"].ranges[0]
    assert last == first


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ({"sexx": "F"}, "age, pay, sex"),
        ({"sex": "X"}, "'F', 'M'"),
        ({"sex": None}, "missing"),
        ({"born": None}, "missing"),
        ({"sex": []}, "at least one"),
        ({"sex": ("F", "M")}, "order"),
        ({"size": ("L", "S")}, "empty"),
        ({"grade": (6, 9)}, "empty"),
        ({"smokes": (False, True)}, "true or false"),
        ({"age": 120}, "from 0 to 99"),
        ({"age": (90, 120)}, "from 0 to 99"),
        ({"age": (40, 30)}, "empty"),
        ({"age": "old"}, "a number"),
        ({"age": 30.5}, "none"),
        ({"pay": 30.5}, "none"),
        ({"born": "2010-01-01"}, "from 2000-01-01 to 2003-12-31"),
        ({"born": "yesterday"}, "ISO 8601"),
        ({"code": 5}, "from 0 to 4"),
        ({"age": (1, 2, 3)}, "tuple"),
        ({"month": "2020-01-01"}, "parts"),
    ],
)
def test_a_condition_that_does_not_fit_is_refused_and_the_error_names_what_exists(where, told):
    with pytest.raises(DataError, match=told):
        Condition.of(DOMAIN, where)
