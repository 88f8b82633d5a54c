"""Columns of numbers: their rounding, their range, values of their own, and numbers that name the rows."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.attributes.unmodelled import Identifier
from dpmosaic.common.data.binning.lattice import Lattice

pytestmark = pytest.mark.slow

ROWS = 2000


def draw(seed=3):
    return np.random.default_rng(seed)


UNITS = {
    "whole": (lambda rng: rng.integers(0, 5000, ROWS), 1.0),
    "multiples of 5": (lambda rng: 5 * rng.integers(0, 5000, ROWS), 5.0),
    "multiples of 250": (lambda rng: 250 * rng.integers(0, 5000, ROWS), 250.0),
    "halves": (lambda rng: rng.integers(0, 9000, ROWS) / 2, 0.5),
    "quarters": (lambda rng: rng.integers(0, 9000, ROWS) / 4, 0.25),
    "one decimal": (lambda rng: np.round(rng.normal(1017, 70, ROWS), 1), 0.1),
    "two decimals": (lambda rng: np.round(rng.exponential(900, ROWS), 2), 0.01),
    "any": (lambda rng: rng.normal(0, 1, ROWS), None),
}


def unit_of(attribute):
    if attribute.multiple_of is None:
        return 1.0 if attribute.integer else None
    return attribute.multiple_of


@pytest.mark.parametrize("name", UNITS)
def test_numbers_are_multiples_of_the_unit_that_all_of_them_share(learned, name):
    drawn, unit = UNITS[name]
    attribute = learned(pd.DataFrame({"x": drawn(draw())})).columns["x"].reading
    assert isinstance(attribute, NumericAttribute)
    assert unit_of(attribute) == pytest.approx(unit)


@pytest.mark.parametrize("name", UNITS)
def test_bounds_hold_the_numbers(learned, name):
    numbers = UNITS[name][0](draw())
    attribute = learned(pd.DataFrame({"x": numbers})).columns["x"].reading
    assert attribute.minimum <= np.quantile(numbers, 0.001)
    assert attribute.maximum >= np.quantile(numbers, 0.999)


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        (lambda k: f"{k}%", "{}%"),
        (lambda k: f"${1000 * k:,}", "${:,}"),
        (lambda k: f"{k},5 €", "{,.1f} €"),
        (lambda k: f"{k},5" if k % 2 else str(k), "{,}"),
        (lambda k: f"${k / 4:.2f}", "${:.2f}"),
        (lambda k: f"{k} kg", "{} kg"),
        (lambda k: f"{k}kg", "{}kg"),
        (lambda k: f"{110 * k:05}", "{:05}"),
        (lambda k: f"{k / 2:g}", "{:g}"),
        (lambda k: str(k / 2), "{}"),
        (lambda k: f"{3 * k / 1000:.3f}".replace(".", ","), "{,.3f}"),
        (lambda k: f"{k} mmHg", "{} mmHg"),
        (lambda k: f"{10 * k},5 Kč", "{,.1f} Kč"),
        (lambda k: f"{1000 * k:,} Ft".replace(",", " "), "{: } Ft"),
        (lambda k: f"₩{1000 * k:,}", "₩{:,}"),
        (lambda k: f"{k}y" if k > 20 else f"{k} y", "{}y"),
        (lambda k: f"${k - 300}", "${:=}"),
        (lambda k: f"{k / 7e5:.2e}", "{:.2e}"),
        (lambda k: f"{k * 7e5:.1E}".replace(".", ","), "{,.1E}"),
        (lambda k: f"€ {k / 4:.2f}", "€ {:.2f}"),
    ],
)
def test_a_column_keeps_its_notation(learned, written, pattern):
    rows = pd.DataFrame({"x": [written(k) for k in draw().integers(1, 900, ROWS)]})
    assert learned(rows).columns["x"].reading.format.pattern == pattern


MANY = 4 * ROWS
MIXED = {
    "laboratory": (
        0.5,
        lambda rng: rng.normal(4.2, 0.4, MANY).round(1),
        lambda rng: rng.normal(110, 20, MANY).round(),
    ),
    "amounts": (0.8, lambda rng: rng.gamma(9, 30, MANY).round(), lambda rng: rng.gamma(9, 30, MANY).round(2)),
    "incomes": (
        0.5,
        lambda rng: rng.gamma(9, 4e3, MANY).round(-3),
        lambda rng: rng.gamma(9, 4e3, MANY).round(),
    ),
    "ratios among counts": (
        0.1,
        lambda rng: rng.gamma(3, 0.5, MANY),
        lambda rng: rng.gamma(9, 30, MANY).round(),
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_numbers_are_as_round_as_they_were(learned, name):
    (share, some, others), rng = MIXED[name], draw()
    numbers = np.where(rng.random(MANY) < share, some(rng), others(rng))
    column = learned(pd.DataFrame({"x": numbers}), 0.05).columns["x"].reading
    back = column.decode(column.encode(numbers), draw(1)).astype(float)
    for unit in (1000, 10, 1, 0.1):
        # Shares of 8,000 rows have deviations of .006, and the noise of what is learned is as large.
        found = [Lattice(unit).holds(one[one > unit / 2]).sum() / MANY for one in (numbers, back)]
        assert found[0] == pytest.approx(found[1], abs=0.05)


@pytest.mark.parametrize("name", UNITS)
def test_numbers_of_one_unit_are_not_asked_how_round_they_are_by_size(learned, name):
    column = learned(pd.DataFrame({"x": UNITS[name][0](draw())}), 0.05).columns["x"].reading
    assert column.rounded == ()


def test_few_numbers_without_points_come_back_without(learned):
    halves = draw().choice([38, 40.5, 41], ROWS)
    column = learned(pd.DataFrame({"x": [f"{size:g}" for size in halves]})).columns["x"]
    assert [*map(str, column.released.categories)] == ["38", "40.5", "41"]


def test_numbers_of_several_units_are_texts(learned):
    units = np.array(["kg", "lb", "st"])[draw(1).integers(0, 3, ROWS)]
    rows = pd.DataFrame({"x": [f"{k} {unit}" for k, unit in zip(range(ROWS), units, strict=True)]})
    assert not isinstance(learned(rows).columns.get("x", rows).reading, NumericAttribute)


@pytest.mark.parametrize("of_one_row", ["5 Muster", "Dr 5", "5/Muster", "KG 5"])
@pytest.mark.parametrize("unit", ["kg", "mmHg"])
def test_a_unit_of_one_row_is_in_no_domain_and_moves_no_bound(learned, unit, of_one_row):
    cells = [f"{k} {unit}" for k in draw().integers(1, 900, ROWS)]
    column, without = (
        learned(pd.DataFrame({"x": [*one, *cells]})).columns["x"] for one in ([of_one_row], [])
    )
    assert column.reading == without.reading
    assert column.missing


def test_units_that_no_two_rows_share_are_not_found(learned):
    rows = pd.DataFrame(
        {"x": [f"{k} {'abcdefghij'[k % 10]}{chr(97 + k // 10 % 26)}{k}" for k in range(ROWS)]}
    )
    rows["y"] = [f"5 {chr(97 + k // 676)}{chr(97 + k // 26 % 26)}{chr(97 + k % 26)}" for k in range(ROWS)]
    assert not {
        name for name, one in learned(rows).columns.items() if isinstance(one.reading, NumericAttribute)
    }


def test_missing_values_are_told_from_none(learned):
    numbers = draw().integers(0, 5000, ROWS).astype(float)
    some = np.where(np.arange(ROWS) < 100, np.nan, numbers)
    found = learned(pd.DataFrame({"some": some, "none": numbers})).columns
    assert (found["some"].missing, found["none"].missing) == (True, False)


def test_numbers_that_differ_in_all_rows_under_the_name_of_a_key_name_the_rows(learned):
    keys = draw().integers(10**6, 10**9, ROWS)
    found = learned(pd.DataFrame({"patient_id": keys, "cost": keys, "age": draw().integers(18, 91, ROWS)}))
    [identifier] = found.unmodelled
    assert isinstance(identifier, Identifier)
    assert identifier.name == "patient_id"
    assert list(found.columns) == ["cost", "age"]


def test_years_of_a_series_name_no_rows(learned):
    rows = pd.DataFrame({"year": np.arange(1950, 2010), "number": np.arange(60)})
    found = learned(rows)
    assert [one.name for one in found.unmodelled] == ["number"]
    years = found.columns["year"].reading
    assert 1900 < years.minimum <= 1950
    assert 2009 <= years.maximum < 2060


def test_numbers_that_many_rows_have_in_common_are_values_of_their_own(learned):
    cost = np.where(draw().random(ROWS) < 0.4, 0.0, np.round(draw(4).exponential(900, ROWS), 2))
    assert 0.0 in learned(pd.DataFrame({"cost": cost})).columns["cost"].reading.atoms


def test_few_numbers_far_apart_are_listed(learned):
    rows = pd.DataFrame({"x": draw().choice([0.0, 0.125, 1000.5], ROWS)})
    attribute = learned(rows).columns["x"].released
    assert isinstance(attribute, CategoricalAttribute)
    assert set(attribute.categories) == {0.0, 0.125, 1000.5}


@pytest.mark.parametrize("largest", [2 * 10**18 - 1, 10**15])
def test_whole_numbers_beyond_what_floats_tell_apart_are_numbers(learned, largest):
    rows = pd.DataFrame({"x": draw().integers(-largest, largest, ROWS)})
    attribute = learned(rows).columns["x"].reading
    assert attribute.maximum > largest / 3


@pytest.mark.parametrize("first", [10**16, 16 * 10**17])
@pytest.mark.parametrize("reach", [1, 50, 10**14])
def test_whole_numbers_beyond_what_floats_tell_apart_are_written_without_an_exponent(learned, first, reach):
    rows = pd.DataFrame({"x": first + draw().integers(0, reach, ROWS)})
    column = learned(rows).columns["x"]
    attribute = column.released or column.reading
    texts = attribute.spelled(attribute.decode(np.zeros(50, dtype=np.int64), draw()))
    assert all(abs(int(str(text)) / first - 1) < 0.01 for text in texts)


@pytest.mark.parametrize("first", [2**62, 10**19, 10**30])
def test_whole_numbers_beyond_all_grids_are_codes(learned, first):
    numbers = [str(first + place) for place in range(ROWS)]
    found = learned(pd.DataFrame({"key": numbers, "code": [numbers[place % 3] for place in range(ROWS)]}))
    assert [one.name for one in found.unmodelled] == ["key"]
    assert set(found.columns["code"].released.categories) == set(numbers[:3])


def test_values_at_the_ends_of_all_floats_do_not_become_bounds(learned):
    rows = pd.DataFrame({"x": draw().choice([-1e308, 1e308, 0.3, 5e-324, np.inf], ROWS)})
    found = learned(rows)
    assert list(found.columns) == ["x"]


@pytest.mark.parametrize("seed", range(30))
def test_fractions_too_few_for_the_unit_have_no_mass_of_their_own(learned, seed):
    cells = [f"{number:,}" for number in range(40_000, 60_000, 1001)] * 70 + ["0.5"] * 20
    attribute = learned(pd.DataFrame({"x": cells}), 0.3, seed).columns["x"].reading
    assert attribute.multiple_of == 0.5 or (attribute.integer and 0.5 not in attribute.atoms)
