"""What databases, logs, data frames and shops write comes back so, without a domain and with a draft."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.dates import DateAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.attributes.unmodelled import Identifier
from dpmosaic.common.data.domain_files.reading import read_entry
from dpmosaic.common.data.values import read_numbers
from dpmosaic.common.forms.month_names import CALENDARS
from dpmosaic.party.drafting.inference import draft_file
from dpmosaic.synthesis.synthesize import DomainWarning, synthesize

ROWS = 1000
TIMES = [datetime(2021, 1, 4, 8, 5) + timedelta(hours=11.3 * n, microseconds=123457 * n) for n in range(ROWS)]


def at(pattern):
    return lambda time: time.strftime(pattern)


def milliseconds(pattern, mark="."):
    return lambda time: pattern.format(f"{time:%Y-%m-%d %H:%M:%S}{mark}{time.microsecond // 1000:03d}")


def ordinal(day):
    return f"{day}{'th' if day in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def half(time, before_noon):
    return before_noon.translate(str.maketrans("aA", "pP")) if time.hour >= 12 else before_noon


RUSSIAN = CALENDARS[[months[0] for months in CALENDARS].index("января")]

GERMAN = CALENDARS[[months[0] for months in CALENDARS].index("Januar")]

STAMPS = {
    "English ordinals": lambda time: f"{ordinal(time.day)} {time:%B %Y}",
    "American ordinals": lambda time: f"{time:%B} {ordinal(time.day)}, {time:%Y}",
    "short ordinals": lambda time: f"{ordinal(time.day)} {time:%b %y}",
    "ordinals behind a weekday": lambda time: f"{time:%A}, {time:%b} {ordinal(time.day)}, {time:%Y}",
    "moment.js": lambda time: f"{time:%B} {ordinal(time.day)} {time:%Y, %-I:%M:%S} {half(time, 'am')}",
    "a letter": lambda time: f"{time:%B} {ordinal(time.day)}, {time:%Y} at {time:%-I:%M %p}",
    "Russian with a word for year": lambda time: f"{time.day} {RUSSIAN[time.month - 1]} {time.year} г.",
    "Bulgarian with a word for year": at("%d.%m.%Y г."),
    "a log of a web server": at("[%d/%b/%Y:%H:%M:%S +0000]"),
    "a log of a web server by columns": at("[%d/%b/%Y:%H:%M:%S"),
    "half of a day with points": lambda time: f"{time:%-I:%M} {half(time, 'a.m.')}",
    "half of a day with large letters": lambda time: f"{time:%I:%M:%S} {half(time, 'A.M.')}",
    "half of a day in Spanish": lambda time: f"{time:%-d/%-m/%Y %-I:%M:%S} {half(time, 'a. m.')}",
    "a dash before the time": at("%d/%m/%Y - %H:%M:%S"),
    "a word before the time": at("%d/%m/%Y at %H:%M"),
    "a French word before the time": at("%d/%m/%Y à %H:%M"),
    "a German word before the time": at("%d.%m.%Y um %H:%M Uhr"),
    "a Danish word before the time": at("%d.%m.%Y kl. %H.%M"),
    "points in the time": at("%d.%m.%Y %H.%M"),
    "Chinese with a time": at("%Y年%m月%d日 %H时%M分"),
    "JavaScript": at("%a %b %d %Y %H:%M:%S GMT+0100"),
    "a name of a file with a date": at("%Y_%m_%d"),
    "Hungarian": at("%Y.%m.%d."),
    "hours from Greenwich": at("%Y-%m-%d %H:%M GMT+1"),
    "hours and minutes from Greenwich": at("%d.%m.%Y %H:%M:%S UTC+05:00"),
    "hours from Greenwich before a year": at("%a %b %d %H:%M:%S UTC-5 %Y"),
    "a tracker of issues": at("%d/%b/%y %-I:%M %p"),
    "a tracker of issues by day": lambda time: f"{time.day}/{time:%b/%Y %H:%M}",
    "a tracker of issues in German": lambda time: f"{time.day}/{GERMAN[time.month - 1]}/{time:%y %H:%M}",
    "SQL Server by a style": at("%b %d %Y %H:%M:%S"),
    "short years between dashes": at("%d-%m-%y %H:%M:%S"),
    "digits before a time": at("%Y%m%d %H:%M:%S"),
    "a comma before a time": at("%Y-%m-%d, %H:%M"),
    "pandas with a time zone": at("%Y-%m-%d %H:%M:%S+00:00"),
    "pandas with fractions": at("%Y-%m-%d %H:%M:%S.%f+00:00"),
    "pandas in winter": at("%Y-%m-%d %H:%M:%S+01:00"),
    "PostgreSQL": at("%Y-%m-%d %H:%M:%S+00"),
    "PostgreSQL with fractions": at("%Y-%m-%d %H:%M:%S.%f-05"),
    "PostgreSQL in India": at("%Y-%m-%d %H:%M:%S+05:30"),
    "ISO 8601 without colons": at("%Y-%m-%dT%H:%M:%S+0200"),
    "SQL Server": milliseconds("{}"),
    "milliseconds with six digits": milliseconds("{}000"),
    "milliseconds with nine digits": milliseconds("{}000000"),
    "SQL Server with an offset": milliseconds("{} +02:00"),
    "a log of Python": milliseconds("{}", ","),
    "Oracle": lambda time: time.strftime("%d-%b-%y %I.%M.%S.%f %p").upper(),
    "the name of a file": at("%Y-%m-%d_%H-%M-%S"),
    "the name of a picture": at("%Y%m%d_%H%M%S"),
    "a short half of a day": lambda time: f"{time:%-m/%-d/%y %-I:%M}{'am' if time.hour < 12 else 'pm'}",
}


def readings(learned, tmp_path, rows):
    """The column x as learned and as drafted."""
    rows.to_csv(tmp_path / "rows.csv", index=False)
    drafted = read_entry("x", draft_file(tmp_path / "rows.csv").entries["x"])
    return learned(rows).columns["x"].reading, drafted


def assert_times_come_back(attribute, cells, written):
    """What is read of these cells is written so."""
    assert isinstance(attribute, DateAttribute)
    times, unreadable = attribute.moments.read("x", np.array(cells, dtype=object))
    assert not unreadable.any()
    assert attribute.moments.texts_of(times).tolist() == written


@pytest.mark.parametrize("kind", STAMPS)
def test_timestamps_of_programs_come_back_as_they_write_them(learned, tmp_path, kind):
    cells = [STAMPS[kind](time) for time in TIMES]
    rows = pd.DataFrame({"x": cells, "y": ["a", "b"] * (ROWS // 2)})
    for attribute in readings(learned, tmp_path, rows):
        assert_times_come_back(attribute, cells, cells)


@pytest.mark.parametrize("text", ["5+", "unknown answer", "other", "S"])
@pytest.mark.parametrize(
    "numbers", [["1.0", "2.0", "3.0"], ["4.4", "5.0", "6.5"], ["1", "2", "10"], ["-1.0", "0.0", "1.0"]]
)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_few_numbers_beside_a_text_keep_their_spelling_and_their_rows(learned, text, numbers, missing):
    rng = np.random.default_rng(3)
    cells = rng.choice([*numbers, text, ""], 4 * ROWS, p=[0.3, 0.3, 0.25 - missing, 0.15, missing])
    found = learned(pd.DataFrame({"x": cells, "y": "a"}), zcdp_rho=0.05).columns["x"]
    assert isinstance(found.released, CategoricalAttribute)
    assert {*map(str, found.released.categories)} == {*cells}
    # Each cell is the category that is written so.
    released, codes = found.finish(found.reading, found.missing, found.usual)
    read = codes[found.reading.read(cells).codes]
    assert [str(released.categories[code]) for code in read] == cells.tolist()


@pytest.mark.parametrize("decimals", [0, 1, 2])
@pytest.mark.parametrize("largest", ["k", "K", "KM"])
def test_thousands_with_a_letter_beside_smaller_numbers_are_numbers(learned, decimals, largest):
    numbers = np.random.default_rng(4).lognormal(6.5, 1.5, 4 * ROWS)

    def written(number):
        if number >= 1e5 and largest[1:]:
            return f"{number / 1e6:.{decimals}f}M"
        return f"{number / 1000:.{decimals}f}{largest[0]}" if number >= 1000 else f"{number:.0f}"

    cells = [written(number) for number in numbers.tolist()]
    attribute = learned(pd.DataFrame({"x": cells, "y": "a"})).columns["x"].reading
    read, unreadable = read_numbers("x", cells, attribute.format)
    assert not unreadable.any()
    assert attribute.format.texts_of(read).tolist() == cells


AMOUNTS = {
    "of Switzerland": lambda number: f"{number}.-",
    "of Switzerland with a currency": lambda number: f"Fr. {number}.\u2013",
    "of Switzerland by thousands": lambda number: f"CHF {number:,}.-".replace(",", "'"),
    "of Germany": lambda number: f"{number},-",
    "of Denmark": lambda number: f"{number:,},-".replace(",", ".", 1 if number > 999 else 0),
    "euros by thousands": lambda number: f"{number + 0.5:,.2f}€".translate(str.maketrans(",.", ".,")),
    "euros by blanks": lambda number: f"{number + 0.5:,.2f}€".translate(str.maketrans(",.", " ,")),
}


@pytest.mark.parametrize("kind", AMOUNTS)
def test_amounts_come_back_as_shops_write_them(learned, kind):
    numbers = np.random.default_rng(5).lognormal(6.5, 1, ROWS).astype(int).tolist()
    cells = [AMOUNTS[kind](number) for number in numbers]
    attribute = learned(pd.DataFrame({"x": cells, "y": "a"})).columns["x"].reading
    read, unreadable = read_numbers("x", cells, attribute.format)
    assert not unreadable.any()
    assert np.floor(read).astype(int).tolist() == numbers
    assert attribute.format.texts_of(read).tolist() == cells


@pytest.mark.parametrize("month", ["tammikuuta", "ianuarie", "января", "ЯНВ", "Ocak"])
def test_months_in_more_languages_are_dates(learned, tmp_path, month):
    names = next(months for months in CALENDARS if months[0] == month)
    cells = [f"{time.day} {names[time.month - 1]} {time.year}" for time in TIMES]
    rows = pd.DataFrame({"x": cells, "y": "a"})
    for attribute in readings(learned, tmp_path, rows):
        assert_times_come_back(attribute, cells, cells)


def accounting(amount):
    return f" $({-amount:,.2f})" if amount < 0 else f" ${amount:,.2f} "


NUMBERS = {
    "averages of baseball": lambda number: f"{number % 1:.3f}"[1:],
    "SPSS": lambda number: f"{number:.2f}".replace("0.", ".", 1) if abs(number) < 1 else f"{number:.2f}",
    "shares of several lengths": lambda number: f"{number % 0.9 + 0.05:.2f}".rstrip("0")[1:],
    "areas": lambda number: f"{1000 + 200 * number:,.0f} sq ft",
    "areas with points": lambda number: f"{1000 + 200 * number:.0f} sq. ft.",
    "salaries": lambda number: f"${60000 + 20000 * number:,.0f}/yr",
    "rents for a month": lambda number: f"€{1400 + 300 * number:,.2f}/mo",
    "rents": lambda number: f"${500 + 100 * number:.2f} per month",
    "body mass indices": lambda number: f"{25 + 4 * number:.1f} kg/m2",
    "counts of blood": lambda number: f"{abs(number) + 6:.1f} x10^9/L",
    "counts of blood with a star": lambda number: f"{abs(number) + 6:.1f} 10*3/uL",
    "filtration rates": lambda number: f"{100 + 20 * number:.0f} mL/min/1.73m2",
    "squares": lambda number: f"{1000 * number**2:,.2f} m^2".translate(str.maketrans(",.", ".,")),
    "amounts behind a code": lambda number: f"USD{2000 * abs(number):,.2f}",
    "degrees": lambda number: f"{20 + 5 * number:.1f}\u2103",
    "statements of banks": lambda number: f"{abs(900 * number):,.2f} {'CR' if number >= 0 else 'DR'}",
    "statements of Indian banks": lambda number: f"₹{abs(90 * number):.2f} {'Cr' if number >= 0 else 'Dr'}",
    "statements of German banks": lambda number: (
        f"{abs(900 * number):,.2f} {'H' if number >= 0 else 'S'}".translate(str.maketrans(",.", ".,"))
    ),
    "accounts of Excel": lambda number: accounting(900 * number + 0.25),
    "padded on the left": lambda number: f"{100 * number:10.2f}",
    "padded whole numbers": lambda number: f"{int(9000 * abs(number)) + 1:8d}",
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_come_back_as_programs_write_them(learned, tmp_path, kind):
    cells = [NUMBERS[kind](number) for number in np.random.default_rng(6).normal(0.4, 1, ROWS).tolist()]
    cells = [cell for cell in cells if cell != "-.00"]
    rows = pd.DataFrame({"x": cells, "y": "a"})
    for attribute in readings(learned, tmp_path, rows):
        assert isinstance(attribute, NumericAttribute)
        read, unreadable = read_numbers("x", cells, attribute.format)
        assert not unreadable.any()
        assert attribute.format.texts_of(read).tolist() == [cell.strip() for cell in cells]


@pytest.mark.parametrize("blanks", [" {}", "{}  ", " {} "])
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M"])
def test_dates_among_blanks_are_dates(learned, tmp_path, blanks, form):
    cells = [blanks.format(f"{time:{form}}") for time in TIMES]
    rows = pd.DataFrame({"x": cells, "y": "a"})
    for attribute in readings(learned, tmp_path, rows):
        assert_times_come_back(attribute, cells, [cell.strip() for cell in cells])


def test_numbers_with_two_units_of_one_letter_count_as_the_nearest(learned):
    # Milliseconds and seconds have been "other", since beginnings of codes were looked for.
    cells = [
        f"{one:.0f}ms" if one < 1000 else f"{one / 1000:.2f}s"
        for one in np.random.default_rng(7).lognormal(5.5, 1.3, 5 * ROWS)
    ]
    found = learned(pd.DataFrame({"x": cells, "y": "a"}), zcdp_rho=0.05).columns["x"].reading
    texts = np.array(found.categories)[found.encode(np.array(cells, dtype=object))]
    assert (texts == "other").mean() < 0.05


@pytest.mark.parametrize("name", ["EmpNo", "PERSON_NO", "Serial", "OrderNumber", "mrn"])
def test_numbers_that_all_differ_are_keys_by_their_name(learned, name):
    keys = np.random.default_rng(8).permutation(40 * ROWS)[:ROWS] * 3 + 10**6
    found = learned(pd.DataFrame({name: keys, "y": "a"}))
    assert [(one.name, one.pattern) for one in found.unmodelled] == [(name, "{:d}")]


def test_many_digits_that_all_differ_are_keys_with_their_zeros(learned):
    keys = [f"{key:08d}" for key in np.random.default_rng(8).permutation(400 * ROWS)[:ROWS]]
    found = learned(pd.DataFrame({"x": keys, "y": "a"}))
    assert [one.pattern for one in found.unmodelled] == ["{:08d}"]


@pytest.mark.parametrize("seed", range(6))
def test_few_codes_with_zeros_in_front_stay_categories(learned, seed):
    # Of seventeen columns; the number of different codes has noise of two dozen.
    rng = np.random.default_rng(seed)
    cells = rng.choice(["01", "02", "15", "99", "NA"], 5 * ROWS, p=[0.2, 0.2, 0.3, 0.1, 0.2])
    found = learned(pd.DataFrame({"x": cells}), zcdp_rho=0.018, seed=seed).columns["x"]
    assert isinstance(found.reading, CategoricalAttribute)
    assert {"01", "02", "15", "99"} <= {*found.reading.categories}


BOUNDS = np.array([1, 0.8, 1.3])

MEASURED = {
    "coordinates": lambda rng: "{:.4f}, {:.4f}".format(*rng.normal((51.5, -0.1), 0.2)),
    "sizes": lambda rng: "{}x{}x{} cm".format(*rng.integers(10, 90, 3)),
    "estimates": lambda rng: "{:.2f} ({:.2f}-{:.2f})".format(*rng.lognormal(0.4, 0.4) * BOUNDS),
    "times of work": lambda rng: "{} yrs {} mos".format(*rng.integers(0, (25, 12))),
}


@pytest.mark.parametrize("kind", MEASURED)
@pytest.mark.parametrize("rows", [200, 5 * ROWS])
def test_several_numbers_that_measure_something_name_no_rows(learned, kind, rows):
    rng = np.random.default_rng(11)
    cells = [MEASURED[kind](rng) for _ in range(rows)]
    found = learned(pd.DataFrame({"x": cells, "y": "a"}), zcdp_rho=0.2)
    assert not any(isinstance(one, Identifier) for one in found.unmodelled)


def test_two_numbers_that_name_the_rows_keep_their_form(learned):
    cells = [f"{number // 100:03d}/{number % 100:02d}" for number in range(ROWS)]
    [found] = learned(pd.DataFrame({"x": cells, "y": "a"})).unmodelled
    assert (type(found), found.pattern) == (Identifier, "{:03d}/{:02d}")


def test_amounts_on_two_sides_of_an_account_are_released_with_both_signs():
    numbers = np.random.default_rng(12).normal(40, 100, 3 * ROWS).round(2)
    cells = [f"{abs(number):,.2f} {'CR' if number >= 0 else 'DR'}" for number in numbers.tolist()]
    with pytest.warns(DomainWarning, match="no domain"):
        released = synthesize(
            pd.DataFrame({"x": cells}), epsilon=20.0, mechanism="independent", seed=1, progress=False
        ).table["x"]
    assert released.str.fullmatch(r"[0-9,]+[.][0-9]{2} (CR|DR)").all()
    assert released.str.endswith("DR").mean() == pytest.approx((numbers < 0).mean(), abs=0.03)
