"""Columns of dates and timestamps: format, order of day and month, the finest unit, and bounds."""

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.dates import DateAttribute
from dpmosaic.common.data.moments import Granularity

ROWS = 1500
FIRST = pd.Timestamp("2018-02-01")


def moments(step, most):
    offsets = np.random.default_rng(3).integers(0, most, ROWS)
    return pd.Series(FIRST + pd.to_timedelta(offsets * pd.Timedelta(step).value, "ns"))


DAYS = moments("1D", 700)

UNITS = {
    "1D": (700, Granularity.DAY),
    "1h": (9000, Granularity.HOUR),
    "15min": (9000, Granularity.MINUTE),
    "1s": (10**6, Granularity.SECOND),
    "1ms": (10**9, Granularity.MILLISECOND),
    "1us": (10**12, Granularity.MICROSECOND),
}


@pytest.mark.parametrize("step", UNITS)
def test_timestamps_are_of_the_finest_unit_that_occurs(learned, step):
    most, unit = UNITS[step]
    attribute = learned(pd.DataFrame({"t": moments(step, most)})).columns["t"].reading
    assert isinstance(attribute, DateAttribute)
    assert attribute.moments.granularity is unit
    assert attribute.moments.timed


FORMATS = [
    "%Y-%m-%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%d-%b-%Y",
    "%d %b %Y",
    "%b %d, %Y",
]


@pytest.mark.parametrize("written", FORMATS)
def test_dates_keep_their_format_and_day_and_month_their_order(learned, written):
    attribute = learned(pd.DataFrame({"t": DAYS.dt.strftime(written)})).columns["t"].reading
    assert attribute.moments.format == ("" if written == "%Y-%m-%d" else written)
    assert not attribute.moments.timed


@pytest.mark.parametrize("step", ["1D", "1s"])
def test_bounds_hold_the_times_and_not_much_more(learned, step):
    times = moments(step, UNITS[step][0])
    attribute = learned(pd.DataFrame({"t": times})).columns["t"].reading
    low, high = (
        attribute.moments.counted(np.array([end], "datetime64[us]"))[0] for end in (times.min(), times.max())
    )
    assert attribute.units.minimum <= low
    assert attribute.units.maximum >= high
    assert attribute.units.maximum - attribute.units.minimum <= 3 * (high - low)


def test_months_have_no_days(learned):
    attribute = learned(pd.DataFrame({"t": DAYS.dt.strftime("%Y-%m")})).columns["t"].reading
    assert attribute.moments.granularity is Granularity.MONTH


def test_instants_keep_the_time_zone_that_their_type_declares(learned):
    rows = pd.DataFrame({"t": DAYS.dt.tz_localize("Europe/Berlin")})
    assert learned(rows).columns["t"].reading.moments.timezone == "Europe/Berlin"


def test_dates_that_cannot_be_read_count_as_missing(learned):
    texts = DAYS.dt.strftime("%d.%m.%Y").where(DAYS.index > 50, "unsure")
    found = learned(pd.DataFrame({"t": texts})).columns["t"]
    assert isinstance(found.reading, DateAttribute)
    assert found.missing
