import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.values import read_numbers, read_texts, text_of
from dpmosaic.common.errors import DataError
from dpmosaic.common.forms.notation import Notation


def texts(values):
    known, position = read_texts("x", values)
    return [known[place] for place in position]


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5, None],
        ["1", "2.5", ""],
        ["1", 2.5, float("nan")],
        [" 1", "25e-1 ", "nan"],
        np.array([1, 2.5, np.nan]),
        np.array([1, 2.5, np.nan], dtype=np.float32),
        np.array(["1", "2.5", ""]),
        np.array(["1", "2.5", ""], dtype=np.dtypes.StringDType()),
        np.ma.masked_array([1.0, 2.5, np.inf], [False, False, True]),
        np.ma.masked_array(np.array(["1", "2.5", "secret"], dtype=object), [False, False, True]),
        pd.Series([1, 2.5, None]).to_numpy(),
        pd.Series(["1", "2.5", None]).to_numpy(),
        pd.Series([1, 2.5, None], dtype="Float64").to_numpy(dtype=object),
    ],
)
def test_numbers_are_read_from_numbers_and_text(values):
    numbers, unreadable = read_numbers("x", values)
    assert np.array_equal(numbers, [1, 2.5, np.nan], equal_nan=True)
    assert not unreadable.any()


@pytest.mark.parametrize("cell", ["secret", "1_000", "1,5", " ", b"1x", object()])
def test_a_cell_that_is_no_number_is_found(cell):
    numbers, unreadable = read_numbers("x", ["1", "", cell])
    assert unreadable.tolist() == [False, False, True]
    assert np.array_equal(numbers, [1, np.nan, np.nan], equal_nan=True)


@pytest.mark.parametrize("cell", ["inf", float("-inf"), "1e999", 10**400])
def test_an_infinite_number_is_read(cell):
    assert np.isinf(read_numbers("x", [0, cell])[0]).tolist() == [False, True]


def test_numbers_of_32_bits_are_as_short_as_they_were():
    numbers = np.array([0.1, 16777216, 3.3, np.nan, np.inf], dtype=np.float32)
    found = read_numbers("x", numbers)[0]
    assert np.array_equal(found, [0.1, 16777216, 3.3, np.nan, np.inf], equal_nan=True)


def test_booleans_are_numbers():
    assert read_numbers("x", [True, False])[0].tolist() == [1, 0]
    assert read_numbers("x", np.array([True, False]))[0].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("pattern", "cells", "expected"),
    [
        ("{}%", ["12%", "12.5 %", " -3%", "7", "1,200%", "%", ""], [12, 12.5, -3, 7, None, None, np.nan]),
        (
            "{:,}",
            ["1,200", "12", "1,234,567.25", "-1,200", "1,2", "12,00"],
            [1200, 12, 1234567.25, -1200, None, None],
        ),
        ("${:,}", ["$5", "$1,200", "-$5", "$-5", "5", "5$", "$"], [5, 1200, -5, -5, 5, None, None]),
        (
            "{,}",
            ["1,5", "1.200,50", "-1.200", "7", "9,1e-05", "1.5", ""],
            [1.5, 1200.5, -1200, 7, 9.1e-5, None, np.nan],
        ),
        ("{} kg", ["80 kg", "80kg", "80", "80 lb"], [80, 80, 80, None]),
        (
            "{:'}",
            ["1'234", "1\u2019234.5", "-1'234'567", "12", "1'23", "1,234"],
            [1234, 1234.5, -1234567, 12, None, None],
        ),
        ("{: }", ["1 234", "1\u00a0234.5", "1\u202f234 567", "1 23"], [1234, 1234.5, 1234567, None]),
        ("{ ,}", ["1 234,5", "1.234,5", "-1\u202f234", "1,5", "1'234"], [1234.5, 1234.5, -1234, 1.5, None]),
        ("{:(,}", ["(1,234)", "1,234.5", "(5)", "-5", "(-5)", "5)"], [-1234, 1234.5, -5, -5, None, None]),
        ("{(,}", ["(1.234,5)", "1,5"], [-1234.5, 1.5]),
        ("${:(,}", ["($1,234)", "$5", "-$5"], [-1234, 5, -5]),
        ("CHF {:'}", ["CHF 1'234.50", "-CHF 5"], [1234.5, -5]),
    ],
)
def test_numbers_are_read_in_the_notation_that_the_domain_states(pattern, cells, expected):
    numbers, unreadable = read_numbers("x", cells, Notation(pattern))
    assert unreadable.tolist() == [number is None for number in expected]
    assert np.array_equal(numbers, np.array(expected, dtype=float), equal_nan=True)


@pytest.mark.parametrize(
    ("pattern", "number", "text"),
    [
        ("{}%", 12.0, "12%"),
        ("{,} EUR", 1200.5, "1200,5 EUR"),
        ("{,}", 1e-05, "1e-05"),
        ("${:,}", 1234567.5, "$1,234,567.5"),
        ("{:,}", -1200.0, "-1,200"),
        ("{}", 0.1, "0.1"),
        ("{:.2f}", 12.5, "12.50"),
        ("${:,.2f}", 1423.8, "$1,423.80"),
        ("{,.1f}", 9.0, "9,0"),
        ("{,.2f} EUR", 1200.5, "1200,50 EUR"),
        ("{:.0f}%", 12.0, "12%"),
        ("${:,.2f}", -1423.8, "-$1,423.80"),
        ("kg {}", -1.5, "kg -1.5"),
        ("{:'}", -1234567.5, "-1'234'567.5"),
        ("{:'.2f} CHF", 1234.5, "1'234.50 CHF"),
        ("{:\u202f}", 1234.0, "1\u202f234"),
        ("{ ,.1f} €", 1234.5, "1 234,5 €"),
        ("{:(,.2f}", -1423.8, "(1,423.80)"),
        ("${:(,}", -1423.0, "($1,423)"),
        ("{(,}", -0.5, "(0,5)"),
    ],
)
def test_numbers_are_written_in_their_notation(pattern, number, text):
    assert Notation(pattern).texts_of(np.array([7, number])).tolist()[1] == text
    assert read_numbers("x", [text], Notation(pattern))[0].tolist() == [number]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{}", "{:.2f}"),
        ("${:,}", "${:,.2f}"),
        ("{,} EUR", "{,.2f} EUR"),
        ("{:'}", "{:'.2f}"),
        ("{( ,}", "{( ,.2f}"),
    ],
)
def test_a_notation_gets_a_number_of_decimals(pattern, expected):
    assert Notation(pattern).decimals is None
    assert Notation(pattern).with_decimals(2) == Notation(expected)
    assert Notation(expected).decimals == 2
    assert Notation(pattern).plain == Notation(expected).plain == (pattern == "{}")


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "%",
        "{}{}",
        "{:f}",
        "{:.f}",
        "{.2f}",
        "{:.12f}",
        "{0}",
        "{name}",
        "={}",
        "-{}",
        "{:}",
        "{'}",
        "{:,'}",
        5,
        None,
    ],
)
def test_refuses_a_notation_without_one_place_for_the_number(pattern):
    with pytest.raises(DataError, match=r"format: expected text around \{\}"):
        Notation(pattern)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("007", "007"),
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (np.float32(0.1), "0.1"),
        (np.int64(2**62 + 1), str(2**62 + 1)),
        (True, "true"),
        (np.bool_(False), "false"),
        (None, ""),
        (float("nan"), ""),
        (np.float32("nan"), ""),
        (pd.NA, ""),
        (pd.NaT, ""),
    ],
)
def test_every_cell_has_one_json_text(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, True, "1", 1.0, None], ["1", "true", "1", "1", ""]),
        ([[2, 3], "b", [2, 3]], ["[2, 3]", "b", "[2, 3]"]),
        (np.array([2, 1, 2]), ["2", "1", "2"]),
        (np.array([0.5, np.nan, np.nan]), ["0.5", "", ""]),
        (np.array([True, False]), ["true", "false"]),
        (np.array(["b", "a", "b"]), ["b", "a", "b"]),
        (np.ma.masked_array([1, 2], [True, False]), ["", "2"]),
        ([], []),
    ],
)
def test_texts_keep_their_rows(values, expected):
    assert texts(values) == expected


@pytest.mark.parametrize(
    "values", [np.array(["2020-01-01"], dtype="M8[D]"), np.array([1j]), np.array([b"a"])]
)
def test_refuses_a_column_of_another_kind_by_its_type(values):
    with pytest.raises(DataError, match="column 'x': expected text or numbers, found"):
        read_texts("x", values)


def test_refuses_a_column_of_two_dimensions():
    with pytest.raises(DataError, match="one value per row"):
        read_numbers("x", np.zeros((2, 2)))
