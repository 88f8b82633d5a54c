"""Statistical tests reject a right rhythm once in ten thousand runs."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest

from dpmosaic.common.data.binning.rhythm import MINUTES, Pace, Rhythm, TimesCounted
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError

ON_WORKDAYS = (0.3, 0.2, 0.2, 0.2, 0.1, 0.0, 0.0)
BY_DAY = (0.0,) * 7 + (0.1,) * 5 + (0.05,) * 10 + (0.0,) * 2
RHYTHMS = {
    "weekdays": Rhythm(weekdays=ON_WORKDAYS),
    "hours": Rhythm(hours=BY_DAY),
    "midnight": Rhythm(midnight=0.6),
    "quarters": Rhythm(minutes=((60, 0.5), (30, 0.2), (15, 0.3))),
    "all": Rhythm(ON_WORKDAYS, BY_DAY, 0.25, ((60, 0.6), (5, 0.2), (1, 0.2))),
}
DAY, WEEK = 86400, 7 * 86400


def times_of(units, unit):
    return (units * (unit * 1000)).astype("datetime64[ms]")


def drawn(rhythm, unit, rows=20_000, weeks=3):
    """Units of so many weeks, in the rhythm."""
    size = round(weeks * WEEK / unit)
    least, most = np.zeros(rows), np.full(rows, size - 1.0)
    numbers = np.random.default_rng(3).random(rows) * size - 0.5
    return Pace(rhythm, unit).in_rhythm(numbers, least, most)


@pytest.mark.parametrize("unit", [1, 60])
@pytest.mark.parametrize("rhythm", RHYTHMS.values(), ids=RHYTHMS)
def test_times_have_the_shares_of_their_rhythm(rhythm, unit):
    units = drawn(rhythm, unit)
    rows = len(units)
    counted = TimesCounted.of(times_of(units, unit), np.ones(rows, dtype=np.int64))
    midnight = rhythm.midnight
    expected = [(counted.weekdays, np.array(rhythm.weekdays or (1 / 7,) * 7))]
    hours = counted.hours[1:].copy()
    if midnight is None:
        hours[0] += counted.hours[0]
    expected.append((hours, np.array(rhythm.hours or (1 / 24,) * 24) * (1 - (midnight or 0.0))))
    if rhythm.minutes:
        shares = [dict(rhythm.minutes).get(one, 0.0) for one in MINUTES]
        expected.append((counted.minutes, np.append(shares, 1 - sum(shares)) * counted.minutes.sum() / rows))
    for found, shares in expected:
        # Hours of a day of which midnight is a part have that part besides.
        kept = shares * rows > 5
        far = (found[kept] - shares[kept] * rows) ** 2 / (shares[kept] * rows)
        assert far.sum() < chi2.isf(1e-4, kept.sum()) + 0.002 * rows
        assert found[shares == 0].sum() <= 0.002 * rows


@pytest.mark.parametrize("rhythm", RHYTHMS.values(), ids=RHYTHMS)
def test_numbers_keep_their_order_and_stay_in_their_ranges(rhythm):
    rng = np.random.default_rng(1)
    pace = Pace(rhythm, 60)
    for _ in range(30):
        begin, length = rng.integers(-(10**6), 10**6), rng.integers(1, 30_000)
        least, most = np.full(500, float(begin)), np.full(500, float(begin + length - 1))
        numbers = np.sort(begin + rng.random(500) * length - 0.5)
        found = pace.in_rhythm(numbers, least, most)
        assert (np.diff(found) >= 0).all()
        assert (found >= least).all()
        assert (found <= most).all()
        assert (found == np.floor(found)).all()


@pytest.mark.parametrize("rhythm", RHYTHMS.values(), ids=RHYTHMS)
def test_a_threshold_divides_a_range_as_its_numbers_do(rhythm):
    unit, rows = 60, 4_000
    size = 2 * WEEK // unit
    numbers = (np.arange(rows) + 0.5) / rows * size - 0.5
    pace = Pace(rhythm, unit)
    found = pace.in_rhythm(numbers, np.zeros(rows), np.full(rows, size - 1.0))
    for threshold in np.random.default_rng(2).integers(1, size, 40) - 0.5:
        found_even = pace.without_rhythm(np.array([threshold]), np.zeros(1), np.array([size - 1.0]))
        assert (found < threshold).mean() == pytest.approx((found_even[0] + 0.5) / size, abs=2 / rows)


@pytest.mark.parametrize("rhythm", RHYTHMS.values(), ids=RHYTHMS)
@pytest.mark.parametrize("noise", [0.0, 30.0])
def test_what_is_counted_says_the_rhythm(rhythm, noise):
    rng, times = np.random.default_rng(8), times_of(drawn(rhythm, 60), 60)
    counted = TimesCounted.of(times, np.ones(len(times), dtype=np.int64))
    parts = (counted.weekdays, counted.hours, counted.minutes)
    noisy = TimesCounted(*(one + noise * rng.standard_normal(len(one)) for one in parts))
    found = noisy.rhythm(60, noise)
    assert (found.midnight is None) == (rhythm.midnight is None)
    for name in ("weekdays", "hours"):
        stated, known = getattr(rhythm, name), getattr(found, name)
        assert bool(stated) == bool(known)
        assert np.abs(np.array(stated) - np.array(known)).sum() < 0.1
    stated, known = dict(rhythm.minutes), dict(found.minutes)
    assert bool(stated) == bool(known)
    assert sum(abs(stated.get(one, 0) - known.get(one, 0)) for one in MINUTES) < 0.1


@pytest.mark.parametrize("noise", [0.0, 30.0])
@pytest.mark.parametrize("unit", [1, 60, 3600, DAY])
def test_even_times_have_no_rhythm(noise, unit):
    """Each of three shares is stated of even times once in 700 tables."""
    rng = np.random.default_rng(7)
    for _ in range(4):
        times = times_of(np.floor(rng.random(5000) * 100 * WEEK / unit), unit)
        counted = TimesCounted.of(times, np.ones(5000, dtype=np.int64))
        parts = (counted.weekdays, counted.hours, counted.minutes)
        noisy = TimesCounted(*(one + noise * rng.standard_normal(len(one)) for one in parts))
        assert noisy.rhythm(unit, noise) is None


def test_dates_are_drawn_in_their_rhythm_within_their_bins():
    form = {"type": "timestamp", "min": "2021-01-04", "max": "2021-12-26T23:59:59", "granularity": "minute"}
    rhythm = {"weekdays": [0.5, 0.5, 0, 0, 0, 0, 0], "hours": [0] * 12 + [1] + [0] * 11}
    domain = Domain.from_json({"at": form | {"bins": 17, "rhythm": rhythm}})
    codes = np.random.default_rng(0).integers(0, 17, 5000)
    times = domain["at"].decode(codes, np.random.default_rng(1))
    assert np.array_equal(domain["at"].encode(times), codes)
    counted = TimesCounted.of(times, np.ones(5000, dtype=np.int64))
    assert counted.weekdays[2:].sum() == 0
    assert counted.hours[13] == 5000
    # Bins of three weeks: even within the hours that there are.
    assert kstest(times.astype("datetime64[m]").astype(int) % 60, "randint", (0, 60)).pvalue > 1e-4
    assert Domain.from_json(domain.to_json())["at"] == domain["at"]


def test_times_of_day_have_no_weekdays():
    form = {"type": "clock", "format": "HH:MM", "bins": 4}
    assert Domain.from_json({"at": form | {"rhythm": {"minutes": {"15": 1}}}})
    with pytest.raises(DataError, match="times of day have no weekdays"):
        Domain.from_json({"at": form | {"rhythm": {"weekdays": [1 / 7] * 7}}})


def test_gaps_stay_in_their_bins():
    form = {
        "begun": {"type": "timestamp", "min": "2021-01-01", "max": "2021-12-31T23:59:59"},
        "ended": {
            "type": "timestamp",
            "after": {"begun": {"edges": [0, 3600, 10 * DAY, 30 * DAY]}},
            "rhythm": {"hours": [0] * 10 + [0.5, 0.5] + [0] * 12},
        },
    }
    form["begun"]["bins"] = 12
    ended = Domain.from_json(form)["ended"]
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 3000)
    begun = np.datetime64("2021-02-01") + rng.integers(0, 300 * DAY, 3000).astype("timedelta64[s]")
    gaps = ended.decode(codes, rng)
    later = ended.after(gaps, begun.astype("datetime64[us]"))
    found = (later - begun).astype("timedelta64[s]").astype(np.float64)
    assert np.array_equal(ended.read(found).codes, codes)
    hours = later[codes > 0].astype("datetime64[h]").astype(int) % 24
    assert np.isin(hours, [10, 11]).all()


@pytest.mark.parametrize(
    ("rhythm", "more", "told"),
    [
        ({"weekdays": [0.5, 0.5]}, {}, "weekdays of a rhythm are 7 shares"),
        ({"hours": [1] * 24}, {}, "hours of a rhythm are 24 shares"),
        ({"hours": [0.05] * 20 + [-0.1, 0.1, 0, 0]}, {}, "hours of a rhythm are 24 shares"),
        ({"midnight": 2}, {}, "midnight of a rhythm is a share"),
        ({"minutes": {"60": 0.9, "15": 0.9}}, {}, "minutes of a rhythm are shares"),
        ({"minutes": {"7": 0.9}}, {}, "unknown"),
        ({"hours": [1 / 24] * 24}, {"granularity": "day"}, "a rhythm of its parts needs a finer granularity"),
        ({"weekdays": [1 / 7] * 7}, {"granularity": "month"}, "a rhythm of its parts needs a finer"),
    ],
)
def test_a_rhythm_that_means_nothing_is_refused(rhythm, more, told):
    form = {"type": "timestamp", "min": "2021-01-01", "max": "2021-12-31", "bins": 12, "rhythm": rhythm}
    with pytest.raises(DataError, match=told):
        Domain.from_json({"at": form | more})
