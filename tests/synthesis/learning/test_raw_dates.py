"""Dates of raw files: of digits alone, with days of the week, in several formats; random ones come back."""

from datetime import date, timedelta
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.dates import DateAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.forms.day_names import WEEKS
from dpmosaic.common.forms.month_names import CALENDARS
from dpmosaic.party.drafting.inference import draft_file

ROWS = 1000
SEEDS = range(3)


def days_of(seed, years=9, rows=ROWS):
    found = np.random.default_rng(seed).integers(0, 365 * years, rows)
    return [date(2013, 1, 1) + timedelta(days=int(day)) for day in found]


@pytest.fixture
def learned_and_drafted(learned, tmp_path):
    """How a column of a frame is learned, and the entry that is drafted of it."""

    def read(cells):
        rows = pd.DataFrame({"x": cells, "y": np.resize(["a", "b"], len(cells))})
        rows.to_csv(tmp_path / "rows.csv", index=False)
        return learned(rows).columns["x"].reading, draft_file(tmp_path / "rows.csv").entries["x"]

    return read


def read_back(attribute, cells):
    assert isinstance(attribute, DateAttribute)
    times, unreadable = attribute.moments.read("x", np.array(cells, dtype=object))
    assert not unreadable.any()
    return times.astype("datetime64[s]").tolist(), attribute.moments.texts_of(times).tolist()


@pytest.mark.parametrize("form", ["%d%m%Y", "%m%d%Y", "%y%m%d", "%d%m%y", "%m%d%y"])
@pytest.mark.parametrize("seed", SEEDS)
def test_digits_alone_are_dates_in_their_order(learned_and_drafted, form, seed):
    days = days_of(seed)
    cells = [f"{day:{form}}" for day in days]
    found, entry = learned_and_drafted(cells)
    times, texts = read_back(found, cells)
    assert [time.date() for time in times] == days
    assert texts == cells
    assert (found.moments.format, entry["format"]) == (form, form)


@pytest.mark.parametrize("seed", SEEDS)
def test_four_digits_with_zeros_in_front_are_times_of_day(learned_and_drafted, seed):
    minutes = np.random.default_rng(seed).integers(0, 1440, ROWS)
    cells = [f"{minute // 60:02d}{minute % 60:02d}" for minute in minutes.tolist()]
    found, entry = learned_and_drafted(cells)
    assert read_back(found, cells)[1] == cells
    assert (found.moments.format, entry["format"]) == ("0HMM", "0HMM")


NO_DATES = {
    "years": lambda rng: str(rng.integers(2000, 2024)),
    "amounts": lambda rng: str(rng.integers(1000, 2400)),
    "hundreds": lambda rng: f"{rng.integers(0, 24) * 100:04d}",
    "postal codes": lambda rng: f"{rng.integers(100, 9999):04d}",
    "six digits": lambda rng: f"{rng.integers(0, 10**6):06d}",
    "large amounts": lambda rng: str(rng.integers(10**5, 4 * 10**5)),
    "codes of few products": lambda rng: str(rng.choice([110101, 110102, 120315, 121120])),
    "eight digits": lambda rng: f"{rng.integers(0, 10**8):08d}",
}


@pytest.mark.parametrize("kind", NO_DATES)
def test_other_digits_are_no_dates(learned_and_drafted, kind):
    rng = np.random.default_rng(2)
    cells = [NO_DATES[kind](rng) for _ in range(3 * ROWS)]
    # Random codes of eight digits name their rows.
    if kind == "eight digits":
        cells = [*cells[:ROWS], *cells[:ROWS]]
    found, entry = learned_and_drafted(cells)
    assert not isinstance(found, DateAttribute)
    assert entry["type"] in ("numeric", "categorical", "identifier")
    if isinstance(found, NumericAttribute):
        numbers = found.format.texts_of(np.array(cells[:50], dtype=float))
        assert numbers.tolist() == cells[:50]
    else:
        assert {*map(str, found.categories)} - {"", "other"} <= {*cells}


WITH_DAYS = (
    "{day}, {date:%d.%m.%Y}",
    "{day}. {date:%d.%m.%y}",
    "{day} {date:%d/%m/%Y}",
    "{day} {date:%Y-%m-%d}",
)
WITH_MONTHS = ("{day}, {date.day}. {month} {date.year}", "{day} {date.day} {month} {date.year}")


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("form", [*WITH_DAYS, *WITH_MONTHS])
def test_days_of_the_week_stand_in_their_language(learned_and_drafted, form, seed):
    rng = np.random.default_rng(seed)
    week, calendar = WEEKS[rng.integers(len(WEEKS))], CALENDARS[rng.integers(len(CALENDARS))]
    days = days_of(seed)
    cells = [form.format(day=week[day.weekday()], month=calendar[day.month - 1], date=day) for day in days]
    found, entry = learned_and_drafted(cells)
    times, texts = read_back(found, cells)
    assert [time.date() for time in times] == days
    # Some names of days are those of several languages.
    assert texts == cells
    assert entry["days"] == list(found.moments.days)
    assert entry["format"] == found.moments.format


MIXED = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%d-%b-%Y", "%B %d, %Y")


@pytest.mark.parametrize("forms", list(permutations(MIXED, 2)))
def test_dates_in_two_formats_are_all_read(learned_and_drafted, forms):
    days, second = days_of(1), np.random.default_rng(2).random(ROWS) < 0.3
    cells = [f"{day:{forms[int(other)]}}" for day, other in zip(days, second, strict=True)]
    found, entry = learned_and_drafted(cells)
    times, texts = read_back(found, cells)
    assert [time.date() for time in times] == days
    assert texts == [f"{day:{forms[0]}}" for day in days]
    assert found.moments.also == tuple(entry["also"]) == forms[1:]


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y"])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.75])
def test_of_dates_and_timestamps_together_no_time_is_made_up(learned, form, share):
    rng = np.random.default_rng(3)
    timed = rng.random(ROWS) < share
    days = days_of(3)
    cells = [f"{day:{form}}" + " 14:05" * bool(one) for day, one in zip(days, timed, strict=True)]
    found = learned(pd.DataFrame({"x": cells, "y": np.resize(["a", "b"], ROWS)})).columns["x"].reading
    times, texts = read_back(found, cells)
    assert [time.date() if hasattr(time, "date") else time for time in times] == days
    assert texts == [f"{day:{form}}" for day in days]


def test_two_orders_of_day_and_month_are_not_guessed(learned, tmp_path):
    days = days_of(4)
    cells = [f"{day:%d/%m/%Y}" if place % 2 else f"{day:%m-%d-%Y}" for place, day in enumerate(days)]
    found = learned(pd.DataFrame({"x": cells, "y": np.resize(["a", "b"], ROWS)})).columns["x"].reading
    assert not found.moments.also
    pd.DataFrame({"x": cells, "y": 1}).to_csv(tmp_path / "rows.csv", index=False)
    assert draft_file(tmp_path / "rows.csv").entries["x"]["type"] == "text"
