import datetime as dt
import zoneinfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmosaic.common.data.attributes.granularity import Granularity
from dpmosaic.common.data.attributes.moments import Moments
from dpmosaic.common.errors import DataError

BERLIN = "Europe/Berlin"
times = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))


def begin_of(time, granularity):
    """By the calendar of Python."""
    day = time.replace(hour=0, minute=0, second=0, microsecond=0)
    match granularity:
        case Granularity.MICROSECOND:
            return time
        case Granularity.MILLISECOND:
            return time.replace(microsecond=time.microsecond // 1000 * 1000)
        case Granularity.SECOND:
            return time.replace(microsecond=0)
        case Granularity.MINUTE:
            return time.replace(second=0, microsecond=0)
        case Granularity.HOUR:
            return time.replace(minute=0, second=0, microsecond=0)
        case Granularity.DAY:
            return day
        case Granularity.WEEK:
            return day - dt.timedelta(day.weekday())
        case Granularity.MONTH:
            return day.replace(day=1)
        case Granularity.QUARTER:
            return day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
        case Granularity.YEAR:
            return day.replace(day=1, month=1)
    number, unit = granularity.split()
    return day + (time - day) // dt.timedelta(**{unit: int(number)}) * dt.timedelta(**{unit: int(number)})


@pytest.mark.slow
@pytest.mark.parametrize("granularity", Granularity)
@settings(deadline=None)
@given(st.lists(times, min_size=1, max_size=20))
def test_units_begin_where_the_calendar_says_and_count_up(granularity, values):
    moments = Moments(True, granularity)
    units = moments.unit_numbers(np.array(values, dtype="datetime64[us]"))
    assert moments.at(units).tolist() == [begin_of(value, granularity) for value in values]
    assert np.array_equal(moments.unit_numbers(moments.at(units)), units)
    after = moments.at(units + 1)
    assert np.all(after > np.array(values, dtype="datetime64[us]"))
    assert np.array_equal(moments.unit_numbers(after - np.timedelta64(1, "us")), units)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(times, min_size=1, max_size=20),
    st.sampled_from([BERLIN, "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo", "UTC"]),
)
def test_instants_are_those_of_python_and_come_back_to_the_local_time_that_exists(values, zone):
    moments, there = Moments(True, Granularity.MICROSECOND, timezone=zone), zoneinfo.ZoneInfo(zone)
    local = np.array(values, dtype="datetime64[us]")
    instants = [value.replace(tzinfo=there).astimezone(dt.UTC) for value in values]
    assert moments.instants(local).tolist() == [instant.replace(tzinfo=None) for instant in instants]
    back = [instant.astimezone(there).replace(tzinfo=None) for instant in instants]
    assert moments.local(moments.instants(local)).tolist() == back
    written = moments.texts_of(local)
    assert written.tolist() == [
        instant.astimezone(there).isoformat(timespec="microseconds") for instant in instants
    ]
    found, unreadable = moments.read("x", written)
    assert found.tolist() == back
    assert not unreadable.any()


def test_a_local_time_that_the_zone_leaves_out_is_written_an_hour_later():
    moments = Moments(True, Granularity.MINUTE, timezone=BERLIN)
    written = moments.texts_of(np.array(["2024-03-31T02:30", "2024-10-27T02:30"], dtype="datetime64[us]"))
    assert written.tolist() == ["2024-03-31T03:30:00+02:00", "2024-10-27T02:30:00+02:00"]


def test_every_kind_of_cell_is_read_as_the_same_local_time():
    moments = Moments(True, Granularity.SECOND, timezone=BERLIN)
    cells = [
        "2024-07-01T12:00:00",
        "2024-07-01 12:00:00+02:00",
        "2024-07-01T10:00:00Z",
        dt.datetime(2024, 7, 1, 12),
        dt.datetime(2024, 7, 1, 10, tzinfo=dt.UTC),
        pd.Timestamp("2024-07-01 19:00", tz="Asia/Tokyo"),
        np.datetime64("2024-07-01T12:00:00.000000000"),
    ]
    found, unreadable = moments.read("x", cells)
    assert found.tolist() == [dt.datetime(2024, 7, 1, 12)] * 7
    assert not unreadable.any()
    for array in (
        np.array(["2024-07-01T12"], dtype="datetime64[ns]"),
        pd.Series(["2024-07-01 12:00"]).astype("datetime64[s]"),
        pd.Series([pd.Timestamp("2024-07-01 12:00", tz=BERLIN)]),
    ):
        assert moments.read("x", array)[0].tolist() == [dt.datetime(2024, 7, 1, 12)]


def test_missing_cells_of_every_kind_are_missing():
    cells = ["", None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT")]
    found, unreadable = Moments(False, Granularity.DAY).read("x", cells)
    assert np.isnat(found).all()
    assert not unreadable.any()
    masked = np.ma.array(np.array(["2024-07-01"] * 2, dtype="datetime64[us]"), mask=[True, False])
    assert np.isnat(Moments(False, Granularity.DAY).read("x", masked)[0]).tolist() == [True, False]


def test_cells_that_are_no_times_or_of_a_time_zone_that_nobody_declared_cannot_be_read():
    cells = ["now", "31.12.2024", "2024-13-01", "2024-07-01T10:00:00Z", 3.5, True, (1, 2)]
    found, unreadable = Moments(True, Granularity.SECOND).read("x", cells)
    assert unreadable.all()
    assert np.isnat(found).all()


def test_numbers_are_read_by_a_format_of_digits():
    moments = Moments(False, Granularity.DAY, "%Y%m%d")
    for cells in ([20240701], np.array([20240701]), np.array([20240701.0]), ["20240701"]):
        assert moments.read("x", cells)[0].tolist() == [dt.datetime(2024, 7, 1)]


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%Y%m%d", "%Y-%j"])
def test_formats_are_written_and_read(form):
    moments = Moments(False, Granularity.DAY, form)
    days = np.arange("1990-01-01", "1993-01-01", 13, dtype="datetime64[D]")
    written = moments.texts_of(days)
    assert written.tolist() == [day.strftime(form) for day in days.tolist()]
    assert np.array_equal(moments.read("x", written)[0], days)
    moments.check_format("x", moments.unit_numbers(days))


@pytest.mark.parametrize("granularity", [Granularity.MILLISECOND, Granularity.MICROSECOND])
def test_fractions_of_seconds_have_the_digits_of_their_unit(granularity):
    moments = Moments(True, granularity, "%d.%m.%Y %H:%M:%S.%f")
    digits = ("120", "007") if granularity is Granularity.MILLISECOND else ("120000", "000007")
    cells = [f"05.03.2021 07:08:09.{one}" for one in digits]
    assert moments.texts_of(moments.read("x", cells)[0]).tolist() == cells


@pytest.mark.parametrize(
    ("form", "granularity"), [("%y", "year"), ("%Y-%m", "day"), ("%H", "year"), ("%", "day")]
)
def test_refuses_a_format_that_does_not_give_the_value_back(form, granularity):
    moments = Moments(False, Granularity(granularity), form)
    with pytest.raises(DataError, match="cannot be read back"):
        moments.check_format(
            "x", moments.unit_numbers(np.array(["1950-02-03", "2020-02-03"], dtype="datetime64[D]"))
        )


def test_a_format_without_minutes_suits_hours_in_a_time_zone():
    moments = Moments(True, Granularity.HOUR, "%Y-%m-%d %H", BERLIN)
    hours = np.arange("2024-03-30", "2024-04-02", dtype="datetime64[h]")
    moments.check_format("x", moments.unit_numbers(hours))


def test_refuses_an_unknown_time_zone_and_hours_of_dates():
    with pytest.raises(DataError, match="unknown timezone"):
        Moments(True, Granularity.HOUR, timezone="Mars/Olympus").check("x")
    with pytest.raises(DataError, match="granularity of dates is one of day, week, month, quarter, year"):
        Moments(False, Granularity.HOUR).check("x")


def test_the_last_days_of_the_calendar_are_read_in_a_time_zone():
    moments = Moments(True, Granularity.DAY, timezone=BERLIN)
    found, unreadable = moments.read("x", ["9999-12-31T23:59:59", "0001-01-01T00:00:00+14:00"])
    assert found[0].tolist() == dt.datetime(9999, 12, 31, 23, 59, 59)
    assert not unreadable.any()
    assert moments.texts_of(found[:1]).tolist() == ["9999-12-31T23:59:59+01:00"]


FRENCH = tuple("janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.".split())


def test_names_of_months_are_read_in_any_letters_and_written_as_they_stand():
    named = Moments(False, Granularity.DAY, "%-d %b %Y", months=FRENCH)
    times, unreadable = named.read("x", ["1 janv. 2020", "12 AOÛT 2021", "3 Sept. 2022", "4 Aug 2022", ""])
    assert unreadable.tolist() == [False, False, False, True, False]
    assert named.texts_of(times[:3]).tolist() == ["1 janv. 2020", "12 août 2021", "3 sept. 2022"]


def test_the_first_of_a_month_may_be_written_as_in_french():
    french = Moments(False, Granularity.DAY, "%o %b %Y", months=FRENCH)
    times, unreadable = french.read("x", ["1er janv. 2020", "1 janv. 2020", "21 janv. 2020"])
    assert not unreadable.any()
    assert french.texts_of(times).tolist() == ["1er janv. 2020", "1er janv. 2020", "21 janv. 2020"]


@pytest.mark.parametrize(
    ("form", "months"),
    [
        ("%d %b %Y", FRENCH[:11]),
        ("%d %b %Y", (*FRENCH[:11], "Janv.")),
        ("%d.%m.%Y", FRENCH),
        ("%d %b %Y", (*FRENCH[:11], "%d")),
        ("%d %b %Y", (*FRENCH[:11], "")),
        ("%d %b %Y", (*FRENCH[:11], "=A1")),
        ("%d %b %Y", (*FRENCH[:11], "d" * 22)),
    ],
)
def test_refuses_months_that_are_no_twelve_different_names(form, months):
    with pytest.raises(DataError, match="months"):
        Moments(False, Granularity.DAY, form, months=months).check("x")
