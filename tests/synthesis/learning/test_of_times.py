"""Columns of dates and timestamps: format, order of day and month, the finest unit, and bounds."""

from contextlib import closing
from datetime import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpmosaic.common.data.attributes.clock import Clock
from dpmosaic.common.data.attributes.dates import DateAttribute
from dpmosaic.common.data.attributes.granularity import Granularity
from dpmosaic.common.data.attributes.moments import Moments
from dpmosaic.simulations.tables.frames import raw_table
from dpmosaic.synthesis.learning.asking import Rows
from dpmosaic.synthesis.learning.cells import Cells
from dpmosaic.synthesis.learning.learning import learn

pytestmark = pytest.mark.slow

ROWS = 1500
FIRST = pd.Timestamp("2018-02-01")


def moments(step, most):
    offsets = np.random.default_rng(3).integers(0, most, ROWS)
    return pd.Series(FIRST + pd.to_timedelta(offsets * pd.Timedelta(step).value, "ns"))


DAYS = moments("1D", 700)

UNITS = {
    "1D": (700, Granularity.DAY),
    "6h": (1500, Granularity.SIX_HOURS),
    "1h": (9000, Granularity.HOUR),
    "4h": (9000, Granularity.HOUR),
    "30min": (9000, Granularity.THIRTY_MINUTES),
    "15min": (9000, Granularity.FIFTEEN_MINUTES),
    "10min": (9000, Granularity.TEN_MINUTES),
    "5min": (9000, Granularity.FIVE_MINUTES),
    "7min": (9000, Granularity.MINUTE),
    "10s": (10**6, Granularity.TEN_SECONDS),
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


STEPS = {"30min": "30 minutes", "15min": "15 minutes", "5min": "5 minutes", "1min": "minute"}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("zcdp_rho", [0.01, 0.03, 1e8])
@pytest.mark.parametrize("form", ["%Y-%m-%d %H:%M", "%H:%M", "%-I:%M %p"])
def test_times_on_a_grid_stay_on_it_with_noise_and_others_on_none(learned, step, zcdp_rho, form):
    written = moments(step, 9000).sample(5000, replace=True, random_state=1).dt.strftime(form)
    attribute = learned(pd.DataFrame({"t": written}), zcdp_rho=zcdp_rho).columns["t"].reading
    assert attribute.moments.granularity == STEPS[step]


def test_a_tenth_of_times_beside_a_grid_are_read_as_they_are(learned):
    times = pd.concat([moments("15min", 9000)] * 9 + [moments("1min", 90000)]).dt.strftime("%d.%m.%Y %H:%M")
    for zcdp_rho in (0.003, 0.03, 1e8):
        attribute = learned(pd.DataFrame({"t": times}), zcdp_rho=zcdp_rho).columns["t"].reading
        assert attribute.moments.granularity is Granularity.MINUTE


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
    "%d.%m.%y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d-%b-%y",
    "%-d/%-m/%Y",
    "%-m/%-d/%y",
    "%-d-%b-%Y",
    "%Y%m%d",
]


@pytest.mark.parametrize("written", FORMATS)
def test_dates_keep_their_format_and_day_and_month_their_order(learned, written):
    attribute = learned(pd.DataFrame({"t": DAYS.dt.strftime(written)})).columns["t"].reading
    assert attribute.moments.format == ("" if written == "%Y-%m-%d" else written)
    assert not attribute.moments.timed


@pytest.mark.parametrize(
    "written", ["%m/%d/%Y %H:%M", "%-m/%-d/%Y %-H:%M", "%-d/%-m/%Y %-I:%M:%S %p", "%Y%m%d%H%M%S"]
)
def test_timestamps_keep_their_format(learned, written):
    times = moments("1min", 10**6)
    attribute = learned(pd.DataFrame({"t": times.dt.strftime(written)})).columns["t"].reading
    assert attribute.moments.format == written
    assert attribute.moments.granularity is Granularity.MINUTE


NAMED = {
    "German": (
        "%-d. %B %Y",
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    ),
    "French": (
        "%o %B %Y",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    ),
    "French, short": ("%-d %b %Y", "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc."),
    "Spanish": (
        "%-d de %B de %Y",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    ),
    "Portuguese": ("%d/%b/%Y", "jan fev mar abr mai jun jul ago set out nov dez"),
    "Italian": ("%-d %b %Y", "gen feb mar apr mag giu lug ago set ott nov dic"),
    "Dutch": ("%d-%b-%y", "jan feb mrt apr mei jun jul aug sep okt nov dec"),
    "Polish without accents": (
        "%-d %B %Y",
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika listopada grudnia",
    ),
    "SAS": ("%d%b%Y", "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"),
}


@pytest.mark.parametrize("language", NAMED)
def test_names_of_months_come_back_in_their_language_and_letters(learned, language):
    written, names = NAMED[language]
    months = tuple(names.split())
    usual = Moments(False, Granularity.DAY, written, months=months)
    cells = usual.texts_of(DAYS.to_numpy().astype("datetime64[us]"))
    column = learned(pd.DataFrame({"t": cells})).columns["t"]
    assert column.reading.moments.months == months
    assert column.reading.moments.format.replace("%B", "%b") == written.replace("%B", "%b")
    assert not column.missing
    assert not column.reading.read(cells).counted["blanked"].any()


def test_timestamps_of_sas_come_back_in_capitals(learned):
    times = moments("1s", 10**6)
    cells = times.dt.strftime("%d%b%Y:%H:%M:%S").str.upper()
    attribute = learned(pd.DataFrame({"t": cells})).columns["t"].reading
    assert attribute.moments.format == "%d%b%Y:%H:%M:%S"
    assert attribute.moments.texts_of(times.to_numpy().astype("datetime64[us]")).tolist() == cells.tolist()


@pytest.mark.parametrize("written", ["%m.%Y", "%-m.%Y"])
def test_months_with_a_point_are_dates_and_a_few_such_numbers_are_numbers(learned, written):
    days = pd.Series(pd.Timestamp("1990-01-05") + pd.to_timedelta(np.arange(ROWS) * 5, "D"))
    numbers = pd.Series(np.random.default_rng(1).uniform(1, 12, ROWS)).map("{:.4f}".format)
    columns = learned(pd.DataFrame({"t": days.dt.strftime(written), "x": numbers})).columns
    assert columns["t"].reading.moments.format == written
    assert columns["x"].reading.multiple_of == 0.0001
    assert not columns["x"].missing


@pytest.mark.parametrize("last", ["1971-01-01", "2068-12-20"])
def test_years_of_two_digits_lie_where_they_are_read(learned, last):
    days = pd.Timestamp(last) - pd.to_timedelta(np.arange(ROWS) % 700, "D")
    attribute = learned(pd.DataFrame({"t": days.strftime("%d.%m.%y")})).columns["t"].reading
    low, high = (attribute.moments.bound("t", day) for day in ("1969-01-01", "2068-12-31"))
    assert low <= attribute.units.minimum < attribute.units.maximum <= high


ZONES = {
    "+02:00": "Etc/GMT-2",
    "-0500": "Etc/GMT+5",
    "+05:30": "Asia/Kolkata",
    "+00:00": "UTC",
    "+13:15": "UTC",
}


@pytest.mark.parametrize("offset", ZONES)
def test_times_of_one_distance_from_utc_keep_it(learned, offset):
    midnights = DAYS.dt.strftime("%Y-%m-%dT00:00:00") + offset
    moments = learned(pd.DataFrame({"t": midnights})).columns["t"].reading.moments
    assert moments.timezone == ZONES[offset]
    # In their own zone they are days, though not in another.
    assert (moments.granularity is Granularity.DAY) == (offset != "+13:15")


def test_times_of_several_distances_from_utc_are_in_utc(learned):
    offsets = pd.Series(["+01:00", "+02:00"]).repeat(ROWS // 2).reset_index(drop=True)
    rows = pd.DataFrame({"t": DAYS.dt.strftime("%Y-%m-%dT%H:%M:%S") + offsets})
    assert learned(rows).columns["t"].reading.moments.timezone == "UTC"


@pytest.mark.parametrize("least", [2, 12])
def test_a_z_among_distances_from_utc_is_one_too(learned, least):
    """One in so many cells has a Z, or all others have."""
    zoned = np.arange(ROWS) % least == 0
    for z_at, other in ((zoned, "-05:00"), (~zoned, "+02:00")):
        cells = DAYS.dt.strftime("%Y-%m-%dT12:%M:%S") + np.where(z_at, "Z", other)
        column = learned(pd.DataFrame({"t": cells})).columns["t"]
        assert column.reading.moments.timezone == (
            "Etc/GMT+5" if least == 12 and other == "-05:00" else "UTC"
        )
        assert not column.missing
        assert not column.reading.read(cells.to_numpy(dtype=object)).counted["blanked"].any()


def test_the_distance_of_one_time_changes_no_zone(private_counts):
    rows = pd.DataFrame({"t": DAYS.dt.strftime("%Y-%m-%dT%H:%M:%S") + "+02:00"})
    rows.loc[0, "t"] = "2020-01-01T00:00:00+07:00"
    raw = raw_table(rows)
    with closing(Cells.of(raw.source, raw.timezones)) as cells:
        # The noise of each distance has a deviation of 3.5 records beside 1,500.
        found = learn(cells, private_counts(50.0), Rows(ROWS), 50.0, 1e-9)
    assert found.columns["t"].reading.moments.timezone == "Etc/GMT-2"


@pytest.mark.parametrize("step", ["1D", "1s"])
def test_bounds_hold_the_times_and_not_much_more(learned, step):
    times = moments(step, UNITS[step][0])
    # Noise alone shows records elsewhere in 1 of 50 columns; with this seed in none.
    attribute = learned(pd.DataFrame({"t": times}), seed=2).columns["t"].reading
    low, high = (
        attribute.moments.unit_numbers(np.array([end], "datetime64[us]"))[0]
        for end in (times.min(), times.max())
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


@pytest.mark.parametrize("word", ["infinity", "-infinity", "Infinity"])
@pytest.mark.parametrize("step", ["1D", "1s", "1us"])
def test_an_infinite_time_is_a_text_beside_the_times(learned, word, step):
    times = moments(step, UNITS[step][0])
    texts = times.dt.strftime("%Y-%m-%d" if step == "1D" else "%Y-%m-%d %H:%M:%S.%f")
    attribute = learned(pd.DataFrame({"t": texts.where(DAYS.index % 3 > 0, word)})).columns["t"].reading
    assert attribute.moments.granularity == UNITS[step][1]
    assert attribute.texts == (word,)


FAR = ["0950-10-14 12:00:00.000001", "1066-10-14 12:00:00.000001", "3000-01-01 00:00:00.000001"]


@pytest.mark.parametrize("far", [*FAR, "9999-12-31 23:59:59.999999"])
def test_microseconds_of_many_centuries_are_those_that_floats_tell_apart(learned, far):
    cells = moments("1us", 10**12).dt.strftime("%Y-%m-%d %H:%M:%S.%f").where(DAYS.index % 3 > 0, far)
    attribute = learned(pd.DataFrame({"t": cells})).columns["t"].reading
    assert attribute.moments.granularity is Granularity.MICROSECOND
    assert max(-attribute.units.minimum, attribute.units.maximum) <= 2**53
    codes = attribute.read(cells.to_numpy(dtype=object)).codes
    alone = attribute.decode(codes, np.random.default_rng(1))
    assert not np.isnat(alone).any()


CLOCKS = {
    "HH:MM": [f"{m // 60:02d}:{m % 60:02d}" for m in range(400, 1100)],
    "H:MM": [f"{m // 60}:{m % 60:02d}" for m in range(60, 1400)],
    "HH:MM:SS": [f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in range(0, 86400, 50)],
    "HH:MM:00": [f"{m // 60:02d}:{m % 60:02d}:00" for m in range(0, 1440, 5)],
    "H:MM:00": [f"{m // 60}:{m % 60:02d}:00" for m in range(0, 1440, 5)],
}


@pytest.mark.parametrize("written", CLOCKS)
def test_times_of_day_keep_their_format_and_end_at_midnight(learned, written):
    cells = np.random.default_rng(2).choice(CLOCKS[written], ROWS)
    attribute = learned(pd.DataFrame({"t": cells})).columns["t"].reading
    assert isinstance(attribute.moments, Clock)
    assert attribute.moments.format == written
    assert attribute.units.maximum <= attribute.moments.bound("t", "24:00")


def test_durations_may_be_longer_than_a_day(learned):
    minutes = np.random.default_rng(2).integers(60, 9000, ROWS)
    attribute = (
        learned(pd.DataFrame({"t": [f"{m // 60:02d}:{m % 60:02d}" for m in minutes]})).columns["t"].reading
    )
    assert attribute.units.minimum <= minutes.min()
    assert attribute.units.maximum >= minutes.max()


def test_columns_of_the_type_time_are_times_of_day(learned):
    times = [time(m // 60, m % 60) for m in np.random.default_rng(2).integers(0, 1440, ROWS)]
    declared = pd.Series(pd.array(times, dtype=pd.ArrowDtype(pa.time64("us"))))
    for column in (pd.Series(times, dtype=object), declared):
        attribute = learned(pd.DataFrame({"t": column})).columns["t"].reading
        assert attribute.moments == Clock.of("HH:MM:00")


NONE = {
    "%Y-%m-%d": "9999-12-31",
    "%d.%m.%Y": "31.12.9999",
    "%Y/%m/%d": "0001/01/01",
    "%m/%d/%Y": "01/01/1900",
    "%Y-%m-%d %H:%M:%S": "9999-12-31 23:59:59",
    "%Y-%m-%dT%H:%M:%SZ": "1970-01-01T00:00:00Z",
    "%Y-%m": "2999-12",
}


@pytest.mark.parametrize("written", NONE)
def test_a_date_that_stands_for_none_comes_back_as_it_is_and_moves_no_bound(learned, written):
    cells = DAYS.dt.strftime(written).where(np.arange(ROWS) % 3 > 0, NONE[written])
    attribute = learned(pd.DataFrame({"t": cells}), seed=2).columns["t"].reading
    units = attribute.units
    assert len(units.atoms) == 1
    codes = attribute.read(cells.to_numpy(dtype=object)).codes
    alone = attribute.decode(np.full(5, codes[0]), np.random.default_rng(1))
    assert set(attribute.spelled(alone).tolist()) == {NONE[written]}
    day = units.maximum - units.minimum
    months = {Granularity.MONTH: 1, Granularity.DAY: 31}.get(attribute.moments.granularity, 31 * 86400)
    # Days lie in 24 months, and bounds have margins.
    assert day < 24 * 4 * months


def test_a_column_of_nothing_but_one_of_them_holds_it(learned):
    attribute = learned(pd.DataFrame({"t": ["9999-12-31"] * ROWS})).columns["t"].reading
    assert attribute.units.atoms == (2932896.0,)
    assert attribute.units.minimum == attribute.units.maximum == 2932896


def test_dates_of_every_day_hold_none_of_them(learned):
    attribute = learned(pd.DataFrame({"t": DAYS.dt.strftime("%Y-%m-%d")})).columns["t"].reading
    assert attribute.units.atoms == ()


def test_dates_of_every_century_lie_within_their_bounds(learned):
    for first, last in ((1480, 1560), (1650, 1950), (980, 1120), (2310, 2370), (2250, 2450)):
        years = np.random.default_rng(5).integers(first, last, ROWS)
        dates = pd.Series([f"{year:04d}-06-15" for year in years])
        units = learned(pd.DataFrame({"t": dates})).columns["t"].reading.units
        low, high = (
            np.datetime64("1970-01-01") + np.array([units.minimum, units.maximum]).astype(int)
        ).tolist()
        reach = last - first
        assert first - reach < low.year <= first
        assert last <= high.year < last + reach


@pytest.mark.parametrize(
    "cell", ["0001-01-01T00:00:00+09:00", "9999-12-31T23:59:59-05:00", "9999-12-31T23:59:59+09:00"]
)
def test_the_ends_of_the_calendar_end_no_release_in_any_time_zone(learned, cell):
    offset = cell[-6:]
    cells = (DAYS.dt.strftime("%Y-%m-%dT%H:%M:%S") + offset).where(np.arange(ROWS) % 3 > 0, cell)
    units = learned(pd.DataFrame({"t": cells})).columns["t"].reading.units
    assert len(units.atoms) <= 1
