"""The cells of a raw table, as DuckDB counts and reads them."""

from collections import Counter
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.values import read_numbers
from dpmosaic.common.errors import DataError
from dpmosaic.common.forms.notation import Notation
from dpmosaic.simulations.tables.frames import raw_table
from dpmosaic.synthesis.learning.cells import Cells
from dpmosaic.synthesis.learning.forms.forms import FORMS, NOTATIONS
from dpmosaic.synthesis.learning.kind import Numbers, Times

pytestmark = pytest.mark.slow


@pytest.fixture
def cells():
    opened = []

    def of(data):
        raw = raw_table(data)
        opened.append(Cells.of(raw.source, raw.timezones))
        return opened[-1]

    yield of
    for one in opened:
        one.close()


def forms_of(cells, name):
    return {
        (FORMS[place].family, FORMS[place].name): int(n)
        for place, n in enumerate(cells.forms(name))
        if n and FORMS[place].family != "missing"
    }


def test_every_row_has_one_form(cells):
    found = cells(pd.DataFrame({"x": ["5", " 7 ", "", None, "north", "2020-01-31", "  "]}))
    assert found.forms("x").sum() == found.records() == 7
    assert forms_of(found, "x") == {("number", "{}"): 2, ("text", ""): 1, ("date", "%Y-%m-%d"): 1}


@pytest.mark.parametrize("dtype", [object, "string", "string[pyarrow]", "category"])
def test_texts_of_every_type_are_the_same_cells(cells, dtype):
    found = cells(pd.DataFrame({"x": pd.Series(["a", None, "b", "a"], dtype=dtype)}))
    assert found.values("x")[0] == ["a", "b"]
    assert found.values("x")[1].tolist() == [2, 1]
    assert found.different("x") == 2


def test_times_that_are_objects_are_read_as_those_of_a_type(cells):
    times = pd.Series(pd.to_datetime(["2021-03-01 10:05:00", None, "2021-03-02 00:00:00"]))
    declared, objects = (
        cells(pd.DataFrame({"x": times.astype(dtype)})) for dtype in ("datetime64[us]", object)
    )
    form = Times("%Y-%m-%dT%H:%M:%S")
    assert forms_of(objects, "x") == {("date", form.format): 2}
    assert np.array_equal(
        objects.times("x", form), declared.times("x", Times("%Y-%m-%d %H:%M:%S")), equal_nan=True
    )


def test_distances_from_utc_are_counted_with_what_has_none(cells):
    texts = [f"2020-01-31T10:05:00{end}" for end in ("+02:00", "+0200", "-05:30", "Z", "+02", "")]
    minutes, rows = cells(pd.DataFrame({"x": [*texts, None]})).offsets("x")
    assert dict(zip(minutes.tolist(), rows.tolist(), strict=True)) == {120: 3, -330: 1, 0: 1, 24 * 60: 2}


@pytest.mark.parametrize("dtype", [object, pd.CategoricalDtype([]), "string", "float64", "Int64"])
def test_a_column_without_values_is_read_whatever_its_type(cells, dtype):
    found = cells(pd.DataFrame({"x": pd.Series([None] * 5, dtype=dtype), "y": range(5)}))
    assert forms_of(found, "x") == {}
    assert np.isnan(found.numbers("x", Numbers("{}", 0))).all()
    assert np.isnat(found.times("x", Times("%Y-%m-%d"))).all()


ODD = {
    "half a character": "\ud800",
    "a zero byte": "a\0b",
    "a long number": 10**5000,
    "a negative number": -(10**25),
    "bytes": b"\xff",
    "a list": [1, 2],
    "a mapping": {"a": 1},
    "a complex number": 1j,
    "an array": np.zeros(2),
    "an infinite number": float("inf"),
    "a long text": "x" * 10**5,
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_no_single_object_stops_the_table(cells, odd):
    found = cells(pd.DataFrame({"x": pd.Series([*["5"] * 9, odd], dtype=object)}))
    assert found.forms("x").sum() == 10
    assert forms_of(found, "x")["number", "{}"] >= 9
    assert found.different("x") == 2


def test_small_floats_and_far_times_are_read(cells):
    times = np.array(["0001-01-01", "9999-12-31T23:59:59", "2020-01-31"], dtype="datetime64[s]")
    far = np.array(["200000-01-01", "2020-01-31", "NaT"], dtype="datetime64[s]")
    rows = pd.DataFrame({"half": np.array([0.5, 1.5, 2], dtype="float16"), "times": times, "far": far})
    found = cells(rows.assign(zoned=rows["times"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")))
    assert found.numbers("half", Numbers("{}", 1)).tolist() == [0.5, 1.5, 2]
    assert found.forms("times").sum() == found.forms("far").sum() == found.forms("zoned").sum() == 3
    assert found.timezones == {"zoned": "Asia/Tokyo"}
    assert found.timed == {"times", "far", "zoned"}


@pytest.mark.parametrize(
    ("notation", "written"),
    {
        "{}": {"5": 5, "-2.5": -2.5, "1e3": 1000, "1_000": None, "x": None},
        "{:,}": {"1,234.5": 1234.5, "12": 12, "": None},
        "{,}": {"1.234,5": 1234.5, "3,5": 3.5},
        "{}%": {"96%": 96, "12.5 %": 12.5},
        "${:,}": {"$1,500.00": 1500, "-$5": -5},
        "{,} €": {"12,50 €": 12.5},
        "CHF {:'}": {"CHF 1'500.50": 1500.5, "CHF 1\u2019500": 1500, "CHF 5": 5},
        "{ ,}": {"1 500,5": 1500.5, "1\u202f500": 1500, "1.500,5": 1500.5, "3,5": 3.5},
        "{:(,}": {"(1,500)": -1500, "1,500": 1500, "(-5)": None, "(5": None},
    }.items(),
)
def test_numbers_are_read_in_their_notation(cells, notation, written):
    found = cells(pd.DataFrame({"x": pd.Series(list(written), dtype=object)}))
    expected = [np.nan if number is None else number for number in written.values()]
    np.testing.assert_array_equal(found.numbers("x", Numbers(notation, None)), expected)


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_notation_is_learned_and_encoded_alike(cells, notation):
    """Whatever is written in a notation reads as that number in the first step and by the attribute."""
    numbers = np.array([0, 5, 999, 1000.5, -1234567.25, 20, -0.5])
    texts = Notation(notation).texts_of(numbers)
    found = cells(pd.DataFrame({"x": pd.Series(texts, dtype=object)}))
    np.testing.assert_array_equal(found.numbers("x", Numbers(notation, None)), numbers)
    np.testing.assert_array_equal(read_numbers("x", texts, Notation(notation))[0], numbers)


def test_infinite_numbers_are_none(cells):
    found = cells(pd.DataFrame({"x": [np.inf, -np.inf, 1.0, np.nan]}))
    np.testing.assert_array_equal(found.numbers("x", Numbers("{}", 0)), [np.nan, np.nan, 1.0, np.nan])


def test_parts_of_dates_are_told_apart_by_where_they_lie(cells):
    dates = ["31/12/2020", "12/31/2020", "13/01/20", "5/6/2020", "99/6/12", "20/6/30", "unsure", None]
    found = cells(pd.DataFrame({"x": dates})).numbers_of_dates("x")
    rows = {(first, third): int(n) for (first, third), n in np.ndenumerate(found[:16].reshape(4, 4)) if n}
    assert rows == {(2, 3): 1, (1, 1): 1, (0, 3): 1, (3, 0): 1, (1, 2): 1}
    assert found[16:].tolist() == [1, 2]


def test_columns_of_other_types_are_refused_by_their_type(tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"x": [[1], [2]], "y": [1, 2]}).to_parquet(path)
    raw = raw_table(path)
    with pytest.raises(DataError, match="column 'x': expected booleans, numbers, text"):
        with closing(Cells.of(raw.source, raw.timezones)):
            pass


ODD = [
    *(None, "", "  ", "5", "-5", "5-", "(5)", "5 kg", "$5", "5%", "1.234,5", "1,234.5", "1e400", "9" * 400),
    *("2020-01-31", "31/12/2020", "12MAY2021", "Monday, 3 May 2021", "2020-02-30", "99999999", "1:2:3:4"),
    *("2020-01-31 10:05:00 CET", "2020-01-31 10:05:00 EST", "2020-01-31 10:05:00.123456789"),
    *("2020-01-31T10:05:00Z", "2020-01-31T10:05:00+02:00", "2020-01-31T10:05:00+24:00", "10:05:00+99:99"),
    *("north", "x" * 20_000, "\x00", "a\x00b", "\u0663", "\uff12", "'", '"', "\u2028", "\U0001f600"),
]
COUNTED = (
    *("forms", "numbers_of_dates", "month_names", "day_names", "fraction_digits", "zone_names"),
    *("units", "offsets", "values", "records", "different"),
)


def counts_of(read, counted, texts):
    """What is counted of a column: name or place -> number of rows."""
    table = read(pd.DataFrame({"x": pd.Series(texts, dtype=object)}))
    found = table.records() if counted == "records" else getattr(table, counted)("x")
    names, rows = found if isinstance(found, tuple) else (None, np.atleast_1d(found))
    counts = Counter()
    for name, one in zip(range(len(rows)) if names is None else map(str, names), rows.tolist(), strict=True):
        counts[name] += one
    return counts


@pytest.mark.parametrize("counted", COUNTED)
@pytest.mark.parametrize(
    "rows", [[], ["2021-05-12 14:05:00"] * 50, [*ODD, *ODD]], ids=["none", "alike", "odd"]
)
def test_a_row_more_adds_one_to_one_count_at_most(cells, counted, rows):
    before = counts_of(cells, counted, rows)
    for odd in ODD:
        after = counts_of(cells, counted, [*rows, odd])
        assert sum(abs(after[name] - before[name]) for name in after | before) <= 1, odd
