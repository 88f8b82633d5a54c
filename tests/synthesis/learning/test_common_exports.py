"""What databases, logs, data frames and shops write comes back so, without a domain and with a draft."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute
from dpmosaic.common.data.attributes.dates import DateAttribute
from dpmosaic.common.data.domain_files.reading import read_entry
from dpmosaic.common.data.values import read_numbers
from dpmosaic.common.forms.month_names import CALENDARS
from dpmosaic.party.drafting.inference import draft_file

ROWS = 1000
TIMES = [datetime(2021, 1, 4, 8, 5) + timedelta(hours=11.3 * n, microseconds=123457 * n) for n in range(ROWS)]


def at(pattern):
    return lambda time: time.strftime(pattern)


def milliseconds(pattern, mark="."):
    return lambda time: pattern.format(f"{time:%Y-%m-%d %H:%M:%S}{mark}{time.microsecond // 1000:03d}")


STAMPS = {
    "pandas with a time zone": at("%Y-%m-%d %H:%M:%S+00:00"),
    "pandas with fractions": at("%Y-%m-%d %H:%M:%S.%f+00:00"),
    "pandas in winter": at("%Y-%m-%d %H:%M:%S+01:00"),
    "PostgreSQL": at("%Y-%m-%d %H:%M:%S+00"),
    "PostgreSQL with fractions": at("%Y-%m-%d %H:%M:%S.%f-05"),
    "PostgreSQL in India": at("%Y-%m-%d %H:%M:%S+05:30"),
    "ISO 8601 without colons": at("%Y-%m-%dT%H:%M:%S+0200"),
    "SQL Server": milliseconds("{}"),
    "SQL Server with an offset": milliseconds("{} +02:00"),
    "a log of Python": milliseconds("{}", ","),
    "Oracle": lambda time: time.strftime("%d-%b-%y %I.%M.%S.%f %p").upper(),
    "the name of a file": at("%Y-%m-%d_%H-%M-%S"),
    "the name of a picture": at("%Y%m%d_%H%M%S"),
    "a short half of a day": lambda time: f"{time:%-m/%-d/%y %-I:%M}{'am' if time.hour < 12 else 'pm'}",
}


@pytest.mark.parametrize("kind", STAMPS)
def test_timestamps_of_programs_come_back_as_they_write_them(learned, tmp_path, kind):
    cells = [STAMPS[kind](time) for time in TIMES]
    rows = pd.DataFrame({"x": cells, "y": ["a", "b"] * (ROWS // 2)})
    rows.to_csv(tmp_path / "rows.csv", index=False)
    drafted = read_entry("x", draft_file(tmp_path / "rows.csv").entries["x"])
    for attribute in (learned(rows).columns["x"].reading, drafted):
        assert isinstance(attribute, DateAttribute)
        times, unreadable = attribute.moments.read("x", np.array(cells, dtype=object))
        assert not unreadable.any()
        assert attribute.moments.texts_of(times).tolist() == cells


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
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for attribute in (
        learned(rows).columns["x"].reading,
        read_entry("x", draft_file(tmp_path / "rows.csv").entries["x"]),
    ):
        assert isinstance(attribute, DateAttribute)
        times, unreadable = attribute.moments.read("x", np.array(cells, dtype=object))
        assert not unreadable.any()
        assert attribute.moments.texts_of(times).tolist() == cells
