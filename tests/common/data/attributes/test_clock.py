"""Times of day and durations: how they are read, written, and refused."""

import re
from datetime import time, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.clock import FORMATS, NUMBERS, Clock
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import encode_table
from dpmosaic.common.errors import DataError


def clock(form, **more):
    return Domain.from_json({"x": {"type": "clock", "format": form, **more}})["x"]


def seconds(form, cells):
    times, unreadable = Clock.of(form).read("x", np.array(cells, dtype=object))
    found = times.astype("datetime64[s]").astype(int).tolist()
    return [None if bad else second for second, bad in zip(found, unreadable, strict=True)]


@pytest.mark.parametrize(
    ("form", "cell", "expected"),
    [
        ("HHMM", 930, 9 * 3600 + 30 * 60),
        ("HHMM", 5.0, 5 * 60),
        ("HHMM", "0005", 5 * 60),
        ("HHMM", "2400", 24 * 3600),
        ("HHMM", 1275, None),
        ("HHMM", -5, None),
        ("HHMM", 9.5, None),
        ("HHMM", "09:30", 9 * 3600 + 30 * 60),
        ("HH:MM", "08:30:59", 8 * 3600 + 30 * 60 + 59),
        ("HH:MM", "8:30", 8 * 3600 + 30 * 60),
        ("HH:MM", "8:60", None),
        ("HH:MM", 830, None),
        ("HH:MM", time(8, 30), 8 * 3600 + 30 * 60),
        ("H:MM:SS", "101:23:45", 101 * 3600 + 23 * 60 + 45),
        ("H:MM:SS", "1:23:60", None),
        ("H:MM:SS", timedelta(hours=30, seconds=5), 30 * 3600 + 5),
        ("H:MM:SS", timedelta(seconds=-1), None),
        ("MM:SS", "75:30", 75 * 60 + 30),
        ("MM:SS", "1:00:00", 3600),
        ("HH:MM", "noon", None),
    ],
)
def test_cells_are_read_as_hours_minutes_and_seconds(form, cell, expected):
    assert seconds(form, [cell]) == [expected]


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("HHMM", 905),
        ("HH:MM", "09:05"),
        ("HH:MM:SS", "09:05:07"),
        ("H:MM", "9:05"),
        ("H:MM:SS", "9:05:07"),
        ("HH:MM:00", "09:05:00"),
        ("H:MM:00", "9:05:00"),
        ("MM:SS", "545:07"),
        ("HH:MM AM", "09:05 AM"),
        ("H:MM:SSam", "9:05:07am"),
        ("HH:MM:SS.fff", "09:05:07.000"),
    ],
)
def test_times_are_written_in_the_format(form, written):
    times = np.array(["1970-01-01T09:05:07", "NaT"], dtype="datetime64[us]")
    assert Clock.of(form).texts_of(times).tolist() == [written, None]


@pytest.mark.slow
@given(st.sampled_from(FORMATS), st.lists(st.integers(0, 359_999 * 10**6), min_size=1))
def test_what_is_written_is_read_as_the_same_time(form, values):
    moments = Clock.of(form)
    if form == NUMBERS or "a" in form.casefold():
        values = [value % (24 * 3600 * 10**6) for value in values]
    units = moments.unit_numbers(np.array(values, dtype="datetime64[us]"))
    written = moments.texts_of(moments.at(units))
    times, unreadable = moments.read("x", written)
    assert not unreadable.any()
    np.testing.assert_array_equal(moments.unit_numbers(times), units)
    assert moments.texts_of(times).tolist() == written.tolist()


def test_no_impossible_time_is_drawn():
    attribute = clock("HHMM", bins=7)
    values = attribute.decode(np.repeat(np.arange(7), 500), np.random.default_rng(0))
    written = attribute.spelled(values).astype(int)
    assert written.min() >= 0
    assert written.max() <= 2359
    assert (written % 100).max() == 59


def test_the_bounds_are_a_whole_day_unless_they_are_given():
    assert (clock("HH:MM").units.minimum, clock("HH:MM").units.maximum) == (0, 24 * 60 - 1)
    assert clock("H:MM:SS").units.maximum == 24 * 3600 - 1
    assert clock("HHMM", max="24:00").units.maximum == 24 * 60
    assert clock("HHMM", max="2400") == clock("HHMM", max="24:00")


def test_missing_values_and_texts_for_them_have_the_last_code():
    attribute = clock("HH:MM", bins=4, nullable=True, missing=["NA"])
    assert attribute.encode(np.array(["", None, "NA", "00:10"], dtype=object)).tolist() == [4, 4, 4, 0]
    masked = np.ma.masked_array(np.array([930, 0]), [False, True])
    assert clock("HHMM", bins=4, nullable=True).encode(masked).tolist() == [1, 4]


def test_an_impossible_time_is_counted_as_unreadable():
    assert clock("HHMM").census(np.array([1275, 930])) == {"unreadable": 1}


def test_order_between_times_is_a_rule():
    domain = Domain.from_json(
        {
            "attributes": {
                "left": {"type": "clock", "format": "HHMM", "bins": 24},
                "came": {"type": "clock", "format": "HH:MM", "bins": 24},
            },
            "rules": [{"at_most": ["left", "came"]}],
        }
    )
    table = encode_table(domain, {"left": np.array([930]), "came": np.array(["09:29"], dtype=object)})
    codes = dict(zip(domain.names, table.columns, strict=True))
    assert not domain.rules[0].forbids(domain, codes).any()
    later = {"left": np.array([10]), "came": np.array([9])}
    assert domain.rules[0].forbids(domain, later).all()


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"format": "%H:%M"}, "HHMM"),
        ({"format": "HH:MM", "min": "noon"}, "'01:30'"),
        ({"format": "HH:MM", "min": "9:00", "max": "8:00"}, "min before max"),
        ({}, "format"),
        ({"format": "HH:MM", "granularity": "second"}, "the granularity minute or one of"),
    ],
)
def test_an_entry_that_does_not_fit_is_refused(form, told):
    with pytest.raises(DataError, match=told):
        Domain.from_json({"x": {"type": "clock", **form}})


@pytest.mark.parametrize("granularity", ["5 minutes", "30 minutes", "hour", "6 hours"])
def test_times_of_day_are_whole_numbers_of_their_unit(granularity):
    form = {"type": "clock", "format": "HH:MM", "granularity": granularity, "bins": "auto"}
    domain = Domain.from_json({"x": form})
    assert domain.to_json()["x"]["granularity"] == granularity
    moments = domain.attributes[0].moments
    times, _ = moments.read("x", ["00:00", "06:59", "23:59"])
    written = moments.texts_of(moments.at(moments.unit_numbers(times))).tolist()
    number, unit = re.fullmatch("([0-9]*) ?(.*?)s?", granularity).groups()
    unit = int(number or 1) * {"minute": 60, "hour": 3600}[unit]
    ends = [second // unit * unit for second in (0, 7 * 3600 - 60, 24 * 3600 - 60)]
    assert written == [f"{end // 3600:02d}:{end % 3600 // 60:02d}" for end in ends]
