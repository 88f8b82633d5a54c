"""Columns that are computed from others: values of expressions, and what is refused."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.unmodelled import Computed
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError
from dpmosaic.curator.results.columns.formulas import (
    Formula,
    Names,
    Place,
    Surroundings,
    check_followers,
    with_followers,
)

NUMBER = {"type": "numeric", "min": 0, "max": 100, "bins": 10}
WHOLE = NUMBER | {"integer": True}
DATE = {"type": "date", "min": "2000-01-01", "max": "2030-12-31", "bins": 10}
OWN = {
    "weight": pd.Series([81.0, 64.0, None]),
    "my height": pd.Series([180, 160, 170]),
    "born": pd.Series(pd.to_datetime(["1990-06-15", "2004-02-29", "1990-06-15"])),
    "seen": pd.Series(pd.to_datetime(["2020-06-14", "2024-02-29", "2020-06-15"])),
    "place": pd.Series(["a", None, "b"], dtype=object),
}
BELOW = {"amount": pd.Series([1.5, 2.0, None, 4.0, 8.0]), "kind": pd.Series([*"xyxzz"])}
ABOVE = {"sex": pd.Series(["f", "m"])}


def values(formula, entry, name="new"):
    """What an expression gives of three rows, of which two have rows below, and two are of one parent."""
    names = Names((*OWN, name), {"people": (*ABOVE,)}, {"items": (*BELOW,)})
    around = Surroundings(
        Place(OWN, np.array([0, 0, 1])),
        {"people": Place(ABOVE, np.array([1, 1, 0]))},
        {"items": Place(BELOW, np.array([0, 0, 0, 2, 2]))},
    )
    attribute = Domain.from_json({name: entry})[name]
    found = Formula("t.new", Computed(attribute, formula), names).values(around)
    return [None if pd.isna(one) else one for one in found.tolist()]


@pytest.mark.parametrize(
    ("formula", "entry", "found"),
    [
        ('weight / ("my height" / 100) ^ 2', NUMBER | {"decimals": 1}, [25.0, 25.0, None]),
        ("WEIGHT * 2", WHOLE, [162, 128, None]),
        ("date_sub('year', born, seen)", WHOLE, [29, 20, 30]),
        ("year(seen) - year(born)", WHOLE, [30, 20, 30]),
        ("date_diff('day', born, seen)", WHOLE, [10957, 7305, 10958]),
        ("seen + INTERVAL 1 MONTH", DATE, [dt.date(2020, 7, 14), dt.date(2024, 3, 29), dt.date(2020, 7, 15)]),
        ("dayname(seen)", ["Monday", "Sunday"], ["Sunday", "Thursday", "Monday"]),
        (
            "CASE WHEN weight < 70 THEN 'light' ELSE 'heavy' END",
            ["light", "heavy"],
            ["heavy", "light", "heavy"],
        ),
        ("weight > 70", {"type": "boolean", "nullable": True}, [True, False, None]),
        ("weight > 70", {"type": "codes", "n": 2}, [1, 0, None]),
        ("coalesce(place, 'none')", ["a", "b", "none"], ["a", "none", "b"]),
        ("ln(weight - 81)", NUMBER, [None, None, None]),
        ("1 / 0", NUMBER, [None, None, None]),
        ("people.sex", ["f", "m"], ["m", "m", "f"]),
        ("upper(people.sex) || place", ["Ma", "Fb"], ["Ma", None, "Fb"]),
        ("count(items)", WHOLE, [3, 0, 2]),
        ("count(items.amount)", WHOLE, [2, 0, 2]),
        ("count(DISTINCT items.kind)", [1, 2], [2, 0, 1]),
        ("count(items) FILTER (WHERE items.kind = 'x')", WHOLE, [2, 0, 0]),
        ("sum(items.amount)", NUMBER, [3.5, None, 12.0]),
        ("coalesce(sum(items.amount), 0) + 1", NUMBER, [4.5, 1.0, 13.0]),
        ("max(items.amount) - min(items.amount)", NUMBER, [0.5, None, 4.0]),
        ("first(items.kind) || last(items.kind)", ["xx", "zz"], ["xx", None, "zz"]),
        ("lag(weight)", NUMBER, [None, 81.0, None]),
        (
            "coalesce(lead(seen), DATE '2029-12-31')",
            DATE,
            [dt.date(2024, 2, 29)] + [dt.date(2029, 12, 31)] * 2,
        ),
        ('sum("my height") OVER (ROWS UNBOUNDED PRECEDING)', WHOLE, [180, 340, 170]),
        ('sum("my height") OVER ()', WHOLE, [340, 340, 170]),
        ("count(*) OVER ()", WHOLE, [2, 2, 1]),
        ("row_number()", WHOLE, [1, 2, 1]),
    ],
)
def test_an_expression_has_the_values_that_sql_says(formula, entry, found):
    assert values(formula, entry) == found


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("weight +", "expected as computed an SQL expression"),
        ("DROP TABLE own", "expected as computed an SQL expression"),
        ("x" * 10_001, "expected as computed an SQL expression"),
        ("(SELECT 1)", "expected as computed an SQL expression"),
        ("1 + (SELECT 1)", "an expression of columns, got '[(]SELECT 1[)]'"),
        ("count(*)", "write functions of rows below as"),
        ("wieght * 2", "a column of the table, got wieght .did you mean 'weight'"),
        ("peple.sex", "a table above, as table.column, got peple.sex"),
        ("people.sxe", "a column of 'people', got people.sxe"),
        ("items.amount", "a column of a table above"),
        ("sum(weight)", "a table below, of which functions of rows speak"),
        ("sum(people.sex)", "a table below, of which functions of rows speak"),
        ("place * 2", "expected SQL, got: Binder Error"),
        ("place", "expected a number, as the column is described"),
        ("random()", "functions of numbers, texts, dates or several rows, got rand"),
        ("read_text('/etc/passwd')", "functions of numbers, texts, dates or several rows, got read_text"),
        ("length(repeat(place, 1000000000))", "functions of numbers, .* got repeat"),
        ("year(current_date)", "functions of numbers, .* got current_date"),
        ("born", "expected a number"),
    ],
)
def test_what_is_no_expression_of_columns_is_refused(formula, said):
    with pytest.raises(DataError, match=f"t.new.*{said}"):
        values(formula, NUMBER)


def test_rows_of_one_table_have_what_follows_from_others_that_follow():
    """Whatever the order in which a domain lists them."""
    form = {
        "c": WHOLE | {"computed": "b + 1"},
        "b": WHOLE | {"computed": "2 * a"},
        "a": WHOLE,
    }
    found = with_followers(Domain.from_json(form), {"a": np.array([1, 5])}, 2)
    assert {name: found[name].tolist() for name in "abc"} == {"a": [1, 5], "b": [2, 10], "c": [3, 11]}


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"b": WHOLE | {"computed": "c"}, "c": WHOLE | {"computed": "b"}}, "it needs itself"),
        ({"b": WHOLE | {"computed": "lag(a)"}}, "an expression of one row"),
        ({"b": WHOLE | {"computed": "count(*) OVER ()"}}, "an expression of one row"),
        ({"b": WHOLE | {"computed": "dayname(a)"}}, "expected SQL"),
        ({"b": DATE | {"computed": "a"}}, "expected a date or a time"),
    ],
)
def test_columns_that_cannot_be_computed_are_refused_before_a_release(form, said):
    with pytest.raises(DataError, match=said):
        check_followers(Domain.from_json({"a": WHOLE} | form))
