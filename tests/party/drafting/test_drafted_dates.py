"""Drafts of columns of text that hold dates, timestamps, times of day, weeks or quarters."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpmosaic
from dpmosaic.common.data.attributes.moments import format_time
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.domain_files.reading import read_entry
from dpmosaic.common.forms.date_formats import has_offset, readings, short
from dpmosaic.common.forms.date_lists import RARE_FORMATS, SHORT_DAY, USUAL_FORMATS
from dpmosaic.common.forms.month_names import CALENDARS
from dpmosaic.party.drafting.inference import draft_file
from dpmosaic.party.sources.source import open_source

pytestmark = pytest.mark.slow

TIMES = [datetime(2020, 1, 1, 8, 30) + timedelta(hours=37 * n, minutes=7 * n) for n in range(200)]
DAYS = [f"{time:%Y-%m-%d}" for time in TIMES]


def drafted(tmp_path, cells):
    """The entry of a column of these cells, and the remarks on it; the rows can be encoded with it."""
    path = tmp_path / "rows.csv"
    path.write_text("row,x\n" + "".join(f'0,"{cell}"\n' for cell in cells), encoding="utf-8")
    draft = draft_file(path)
    assert open_source(path).read(draft.domain).record_count == len(cells)
    entry = {key: value for key, value in draft.entries["x"].items() if key != "reviewed"}
    return entry, [remark for name, remark in draft.remarks if name == "x"]


def draft(tmp_path, *cells):
    return drafted(tmp_path, cells)[0]


def moments(kind, least, largest, **more):
    return {"type": kind, "min": least, "max": largest, "bins": "auto", "nullable": False} | more


@pytest.mark.parametrize(
    ("cells", "entry"),
    [
        (["2020-02-01", "2021-03-31"], moments("date", "2020-01-01", "2021-12-31")),
        (["31.12.2020", "01.02.2021"], moments("date", "2020-01-01", "2021-12-31", format="%d.%m.%Y")),
        (["12/31/2020", "02/01/2020"], moments("date", "2020-01-01", "2020-12-31", format="%m/%d/%Y")),
        (
            ["2020-02-01 10:30", "2020-02-02 11:45"],
            moments(
                "timestamp",
                "2020-01-01T00:00:00",
                "2020-12-31T23:59:59",
                granularity="minute",
                format="%Y-%m-%d %H:%M",
            ),
        ),
        (
            ["2020-02-01T10:30:01", "2020-02-02T11:45:00"],
            moments("timestamp", "2020-01-01T00:00:00", "2020-12-31T23:59:59"),
        ),
    ],
)
def test_dates_are_found_with_their_format_and_bounded_by_whole_years(tmp_path, cells, entry):
    assert draft(tmp_path, *cells) == entry


def test_booleans_with_na_have_missing_values(tmp_path):
    entry = draft(tmp_path, "Y", "NA", "N")
    assert entry == {"type": "boolean", "nullable": True, "true": ["Y"], "false": ["N"], "missing": ["NA"]}


def test_dates_with_na_have_missing_values(tmp_path):
    entry = draft(tmp_path, "2020-02-01", "NA", "2020-02-03")
    assert (entry["type"], entry["nullable"], entry["missing"]) == ("date", True, ["NA"])


def test_dates_that_can_be_read_in_two_ways_are_named(tmp_path):
    entry, remarks = drafted(tmp_path, ["01/02/2020", "03/04/2020"])
    assert entry["format"] == "%d/%m/%Y"
    assert any("2 formats" in remark for remark in remarks)


@pytest.mark.parametrize(
    ("written", "entry"),
    [
        ("{0:%Y-%m-%dT%H:%M:%S}+02:00", {"timezone": "Etc/GMT-2"}),
        ("{0:%Y-%m-%dT%H:%M:%S}-05:00", {"timezone": "Etc/GMT+5"}),
        ("{0:%Y-%m-%dT%H:%M:%S}+05:30", {"timezone": "Asia/Kolkata"}),
        ("{0:%Y-%m-%dT%H:%M:%S}Z", {"timezone": "UTC", "format": "%Y-%m-%dT%H:%M:%SZ"}),
        ("{0:%Y-%m-%dT%H:%M:%S}.125Z", {"timezone": "UTC", "granularity": "millisecond"}),
        ("{0:%Y-%m-%d %H:%M:%S} UTC", {"timezone": "UTC", "format": "%Y-%m-%d %H:%M:%S UTC"}),
        (
            "{0.month}/{0.day}/{0.year} {0.hour}:{0:%M}",
            {"format": "%-m/%-d/%Y %-H:%M", "granularity": "minute"},
        ),
        ("{0:%m/%d/%Y} 12:00 AM", {"format": "%m/%d/%Y %I:%M %p", "granularity": "day"}),
        ("{0:%d.%m.%Y %H:%M}", {"format": "%d.%m.%Y %H:%M", "granularity": "minute"}),
        ("{0:%a %b %d %H:%M:%S} +0000 {0:%Y}", {"format": "%a %b %d %H:%M:%S %z %Y", "timezone": "UTC"}),
    ],
)
def test_timestamps_are_found_in_the_formats_of_common_exports(tmp_path, written, entry):
    found = draft(tmp_path, *map(written.format, TIMES))
    assert found["type"] == "timestamp"
    assert {key: found.get(key) for key in entry} == entry
    assert (found["min"][:10], found["max"][:10]) == ("2020-01-01", "2020-12-31")


def test_offsets_that_change_are_read_in_utc_with_a_remark(tmp_path):
    cells = [f"{time:%Y-%m-%dT%H:%M:%S}+0{1 + n % 2}:00" for n, time in enumerate(TIMES)]
    entry, remarks = drafted(tmp_path, cells)
    assert entry["timezone"] == "UTC"
    assert any("Europe/Berlin" in remark for remark in remarks)


@pytest.mark.parametrize(
    ("written", "form"),
    [("%Y%m%d", "%Y%m%d"), ("%d/%m/%y", "%d/%m/%y"), ("%d%b%Y", "%d%b%Y"), ("%B %d, %Y", "%B %d, %Y")],
)
def test_dates_are_found_in_further_formats(tmp_path, written, form):
    found = draft(tmp_path, *(f"{time:{written}}" for time in TIMES))
    assert (found["type"], found["format"]) == ("date", form)


@pytest.mark.parametrize("form", ["%Y-%m", "%Y%m", "%b-%y", "%m/%Y", "%Y %b"])
def test_months_are_dates_of_this_granularity(tmp_path, form):
    found = draft(tmp_path, *(f"{time:{form}}" for time in TIMES))
    assert (found["type"], found["granularity"], found["format"]) == ("date", "month", form)


def test_one_odd_date_of_many_is_a_missing_value_with_a_remark(tmp_path):
    entry, remarks = drafted(tmp_path, [*DAYS, "around Easter"])
    assert (entry["type"], entry["unreadable"], entry["nullable"]) == ("date", "missing", True)
    assert "1 of 201 rows hold no date in this format; they count as missing" in remarks
    assert "Easter" not in str(entry) + str(remarks)


@pytest.mark.parametrize(("word", "key"), [("open", "texts"), ("00/00/0000", "missing")])
def test_a_word_of_many_rows_among_dates_is_listed(tmp_path, word, key):
    entry, remarks = drafted(tmp_path, [*DAYS, *[word] * 20, "around Easter"])
    assert (entry["type"], entry[key], entry["unreadable"]) == ("date", [word], "missing")
    assert any("20 of 221 rows" in remark for remark in remarks)
    assert "Easter" not in str(entry) + str(remarks)


@pytest.mark.parametrize("day", ["9999-12-31", "1900-01-01"])
def test_a_date_that_stands_for_none_in_many_rows_is_an_atom_and_no_bound(tmp_path, day):
    entry = draft(tmp_path, *DAYS, *[day] * 400)
    assert (entry["min"], entry["max"], entry["atoms"]) == ("2020-01-01", "2020-12-31", [day])


def test_one_date_far_from_all_others_is_no_bound(tmp_path):
    entry, remarks = drafted(tmp_path, [*DAYS, *DAYS, "1022-03-05"])
    assert (entry["min"], entry["max"]) == ("2020-01-01", "2020-12-31")
    assert any("far from all others" in remark for remark in remarks)


def test_dates_in_several_formats_are_read_with_a_remark(tmp_path):
    cells = [f"{time:%Y-%m-%d}" if n % 3 else f"{time:%d.%m.%Y}" for n, time in enumerate(TIMES)]
    entry, remarks = drafted(tmp_path, cells)
    assert (entry["type"], entry["also"], "missing" in entry) == ("date", ["%d.%m.%Y"], False)
    assert any("written in 2 formats" in remark for remark in remarks)


def test_dates_in_formats_that_may_be_mistaken_are_left_out_with_a_remark(tmp_path):
    cells = [f"{time:%d.%m.%y}" if n % 3 else f"{time:%m/%d/%y}" for n, time in enumerate(TIMES)]
    entry, remarks = drafted(tmp_path, cells)
    assert entry == {"type": "text", "drop": True}
    assert any("several formats" in remark for remark in remarks)


@pytest.mark.parametrize(
    "form", ["%d/%m/%y", "%m/%d/%y", "%y/%m/%d", "%y-%m-%d", "%d-%m-%y", "%y%m%d", "%d%m%y"]
)
def test_two_digits_are_the_year_by_which_years_differ_least(tmp_path, form):
    # The numbers of days and of years overlap.
    days = [datetime(2015, 1, 1) + timedelta(days=11 * n) for n in range(200)]
    entry, remarks = drafted(tmp_path, [f"{day:{form}}" for day in days])
    assert entry == moments("date", "2015-01-01", "2020-12-31", format=form)
    assert any("two digits" in remark for remark in remarks)


@pytest.mark.parametrize(
    ("form", "kind"),
    [("%Y%m%d", "date"), ("%d%m%Y", "date"), ("%Y%m", "date"), ("%Y%m%d%H%M", "timestamp")],
)
def test_digits_alone_are_written_as_they_were(tmp_path, form, kind):
    found = draft(tmp_path, *(f"{time:{form}}" for time in TIMES))
    assert (found["type"], found["format"]) == (kind, form)


def test_six_digits_of_few_codes_are_no_dates(tmp_path):
    assert draft(tmp_path, *(["110101", "120512", "091231"] * 60))["type"] == "categorical"


def clock(form, **more):
    return {"type": "clock", "format": form, "bins": "auto", "nullable": False} | more


@pytest.mark.parametrize(
    ("cells", "entry"),
    [
        ([f"{time:%H:%M}" for time in TIMES], clock("HH:MM")),
        ([f"{time:%H:%M:%S}" for time in TIMES], clock("HH:MM:00")),
        ([f"{time:%H:%M}:{time.day:02d}" for time in TIMES], clock("HH:MM:SS")),
        ([f"{time.hour}:{time:%M}" for time in TIMES], clock("H:MM")),
        ([f"{hours}:{hours % 60:02d}:07" for hours in range(101)], clock("H:MM:SS", max="101:00")),
        ([time.hour * 100 + time.minute for time in TIMES], clock("HHMM")),
        ([2400, *(time.hour * 100 + time.minute for time in TIMES)], clock("HHMM", max="24:00")),
    ],
)
def test_times_of_day_and_durations_are_a_clock(tmp_path, cells, entry):
    assert draft(tmp_path, *cells) == entry


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(range(0, 2400, 50), id="half hundreds"),
        pytest.param(range(1900, 1960), id="years"),
        pytest.param([*(time.hour * 100 + time.minute for time in TIMES), 1275], id="with 75 minutes"),
        pytest.param(range(-100, 1000, 7), id="negative"),
    ],
)
def test_other_whole_numbers_are_no_clock(tmp_path, cells):
    assert draft(tmp_path, *cells)["type"] != "clock"


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("%I:%M %p", "HH:MM AM"),
        ("%-I:%M %p", "H:MM AM"),
        ("%-I:%M%P", "H:MMam"),
        ("%I:%M:%d %P", "HH:MM:SS am"),
        ("%H:%M:%S.%f", "HH:MM:SS.ffffff"),
    ],
)
def test_times_with_a_half_of_the_day_or_a_fraction_are_clocks(tmp_path, written, form):
    found = draft(tmp_path, *(time.strftime(written) for time in TIMES))
    assert (found["type"], found["format"]) == ("clock", form)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from([*USUAL_FORMATS, *RARE_FORMATS]), st.integers(0, 2), st.sampled_from(CALENDARS))
@example(("%d. %N %Y", SHORT_DAY), 0, CALENDARS[30])
def test_dates_in_every_format_are_drafted_in_one_that_writes_them_as_they_stand(
    tmp_path_factory, formed, order, months
):
    form, detail = formed
    if has_offset(form):
        return
    # Short numbers with points between them, such as 1.2.3, are of versions.
    orders = [form] if form.startswith("%d.%m.%y") and detail & SHORT_DAY else list(readings(form))
    named, of = (orders[order % len(orders)].replace("%N", "%b"), months if "%N" in form else ())
    cells = [format_time(time, short(named, detail), of) for time in TIMES]
    entry = draft(tmp_path_factory.mktemp("table"), *cells)
    assert entry["type"] in ("date", "timestamp")
    moments = read_entry("x", entry).moments
    read, unreadable = moments.read("x", np.array(cells, dtype=object))
    assert not unreadable.any()
    assert moments.texts_of(read).tolist() == cells


@pytest.mark.parametrize("written", ["%G-W%V", "KW %V/%G"])
def test_weeks_are_dates(tmp_path, written):
    found = draft(tmp_path, *(f"{time:{written}}" for time in TIMES))
    # The first week begins in December.
    assert found == moments("date", "2019-01-01", "2020-12-31", granularity="week", format=written)


@pytest.mark.parametrize("written", ["%YQ{}", "%Y-Q{}", "Q{} %Y"])
def test_quarters_are_dates(tmp_path, written):
    days = [datetime(2019 + n % 3, 1 + 3 * (n % 4), 1) for n in range(60)]
    found = draft(tmp_path, *(day.strftime(written).format((day.month + 2) // 3) for day in days))
    assert (found["type"], found["granularity"]) == ("date", "quarter")
    assert found["format"] == written.format("%q")
    assert (found["min"], found["max"]) == ("2019-01-01", "2021-12-31")


@pytest.mark.parametrize(
    "written", ["%a, %d %b %Y", "%A, %B %-d, %Y", "%Y年%-m月%-d日", "%m/%d/%Y %-I:%M %P"]
)
def test_weekdays_characters_and_small_halves_of_the_day_come_back(tmp_path, written):
    days = [datetime(2020, 1, 5, 8, 5) + timedelta(days=3 * n, minutes=73 * n) for n in range(200)]
    assert draft(tmp_path, *(day.strftime(written) for day in days))["format"] == written


@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S"])
def test_a_draft_says_when_in_a_week_and_in_a_day_times_are(tmp_path, form):
    rng = np.random.default_rng(3)
    days = pd.Timestamp("2021-01-04") + pd.to_timedelta(7 * rng.integers(0, 90, 3000), "D")
    days += pd.to_timedelta(rng.choice(5, 3000), "D")
    minutes = 60 * rng.integers(8, 18, 3000) + 15 * rng.integers(0, 4, 3000)
    minutes[::10] += rng.integers(1, 15, 300)
    rows = pd.DataFrame({"at": (days + pd.to_timedelta(minutes, "min")).strftime(form)})
    rows["day"] = days.strftime("%Y-%m-%d")
    rows["clock"] = [f"{one // 60:02d}:{one % 60:02d}" for one in minutes]
    even = pd.Timestamp("2021-01-04") + pd.to_timedelta(rng.integers(0, 10**6, 3000), "min")
    rows["even"] = even.strftime(form)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    entries = draft_file(tmp_path / "rows.csv").entries
    rhythm = entries["at"]["rhythm"]
    assert rhythm["weekdays"] == pytest.approx([0.2] * 5 + [0] * 2, abs=0.03)
    assert rhythm["hours"] == pytest.approx([0] * 8 + [0.1] * 10 + [0] * 6, abs=0.025)
    assert sum(rhythm["minutes"][one] for one in ("60", "30", "15")) == pytest.approx(0.9, abs=0.01)
    assert set(rhythm) == {"weekdays", "hours", "minutes"}
    assert set(entries["day"]["rhythm"]) == {"weekdays"}
    assert set(entries["clock"]["rhythm"]) == {"minutes"}
    assert "rhythm" not in entries["even"]
    Domain.from_json(draft_file(tmp_path / "rows.csv").to_json())


@pytest.mark.parametrize("unit", ["10 seconds", "5 minutes", "15 minutes", "30 minutes", "6 hours"])
def test_times_on_a_grid_stay_on_it(tmp_path, unit):
    number, name = unit.split()
    step = timedelta(**{name: int(number)})
    times = [datetime(2020, 1, 1) + step * (37 * n % 5000) for n in range(200)]
    assert draft(tmp_path, *(f"{time:%d.%m.%Y %H:%M:%S}" for time in times))["granularity"] == unit
    if name != "hours":
        assert draft(tmp_path, *(f"{time:%H:%M:%S}" for time in times))["granularity"] == unit


@pytest.mark.parametrize("text", ["2006-02-15", "2006-02-15 04:57:20", "15.02.2006"])
def test_a_time_that_is_the_same_in_all_rows_comes_back_as_it_is(tmp_path, text):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"dumped": [text] * 900, "a": [0, 1, 2] * 300}).to_csv(path, index=False)
    drafted = draft_file(path)
    assert len(drafted.entries["dumped"]["atoms"]) == 1
    found = dpmosaic.synthesize(path, 1.0, domain=drafted.domain, seed=1).table["dumped"]
    assert (found.astype(str).str.slice(0, 10) == found.astype(str).str.slice(0, 10).mode()[0]).mean() > 0.95
    assert found.nunique() < 20


def test_a_first_day_of_a_month_at_an_end_is_a_date_like_the_others(tmp_path):
    """Though it has many times as many rows as the days beside it."""
    days = pd.date_range("2020-01-01", "2022-12-31")
    found = draft(tmp_path, *days.repeat([30 if day == 1 else 1 for day in days.day]).strftime("%Y-%m-%d"))
    assert "atoms" not in found
    assert found["rhythm"]["monthdays"].keys() == {"1"}
