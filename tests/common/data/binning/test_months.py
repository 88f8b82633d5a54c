"""Days of months and whole months, beside pandas' calendar; a statistical test errs once in 10,000 runs."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from dpmosaic.common.data.binning.months import LAST, days_of_months, months_later, whole_months
from dpmosaic.common.data.binning.rhythm import Pace, Rhythm, TimesCounted
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.errors import DataError

DAY = 86400


@pytest.fixture
def days():
    """Days of the years 1882 to 2057, among them those before 1970 and leap days."""
    return np.random.default_rng(4).integers(-32_000, 32_000, 3_000)


def dates(days):
    return pd.Series(days.astype("datetime64[D]").astype("datetime64[s]"))


def test_days_of_months_are_those_of_a_calendar(days):
    number, length = days_of_months(days)
    assert (number == dates(days).dt.day).all()
    assert (length == dates(days).dt.days_in_month).all()


def test_months_later_are_those_of_a_calendar(days):
    rng = np.random.default_rng(5)
    months = rng.integers(1, 30, len(days))
    found = months_later(days, months, days_of_months(days)[0])
    expected = [one + pd.DateOffset(months=int(n)) for one, n in zip(dates(days), months, strict=True)]
    assert (dates(found).to_numpy() == pd.Series(expected).to_numpy().astype("datetime64[s]")).all()
    assert (whole_months(days, found) == months).all()


def test_days_that_are_no_whole_months_apart_are_none():
    one, *later = np.array(
        ["2023-01-31", "2023-02-27", "2023-02-28", "2023-03-30", "2023-04-30"], "datetime64[D]"
    )
    found = whole_months(np.full(4, one.astype(int)), np.array(later).astype(int))
    assert found.tolist() == [0, 1, 0, 3]


@pytest.mark.parametrize(
    "rhythm",
    [
        Rhythm(monthdays=((LAST, 0.4), (1, 0.3), (15, 0.2))),
        Rhythm(weekdays=(0.2,) * 5 + (0.0,) * 2, monthdays=((LAST, 0.9),)),
    ],
)
def test_dates_have_the_days_of_months_of_their_rhythm(rhythm):
    """Of 400 years, in which each day of a month is as often each day of a week as chance has it, nearly."""
    rows, size = 20_000, 146_097
    numbers = np.random.default_rng(3).random(rows) * size - 0.5
    pace = Pace(rhythm, DAY)
    found = pace.in_rhythm(numbers, np.zeros(rows), np.full(rows, size - 1.0))
    number, length = days_of_months(found.astype(int))
    counts = np.bincount(np.where(number == length, LAST, number), minlength=32)
    listed = dict(rhythm.monthdays)
    expected = np.array([listed[day] for day in listed])
    if not rhythm.weekdays:
        stated = counts[[*listed]]
        rest = rows - stated.sum()
        far = ((stated - rows * expected) ** 2 / (rows * expected)).sum()
        assert far + (rest - rows * 0.1) ** 2 / (rows * 0.1) < chi2.isf(1e-4, len(listed))
    else:
        assert counts[LAST] / rows == pytest.approx(0.9, abs=0.03)
        assert ((found.astype(int) + 3) % 7 < 5).all()
    thresholds = np.array([1_000.5, 70_000.5])
    begun = pace.without_rhythm(thresholds, np.zeros(2), np.full(2, size - 1.0))
    shares = [(found < one).mean() for one in thresholds]
    assert (begun + 0.5) / size == pytest.approx(shares, abs=0.015)


def test_what_is_counted_says_the_days_of_months():
    stated = ((LAST, 0.5), (1, 0.3))
    rows, size = 5_000, 1_461
    numbers = np.random.default_rng(3).random(rows) * size - 0.5
    found = Pace(Rhythm(monthdays=stated), DAY).in_rhythm(numbers, np.zeros(rows), np.full(rows, size - 1.0))
    known = TimesCounted.of(found.astype(int).astype("datetime64[D]"), np.ones(rows, dtype=np.int64)).rhythm(
        DAY
    )
    assert [day for day, _ in known.monthdays] == [day for day, _ in stated]
    assert [share for _, share in known.monthdays] == pytest.approx([share for _, share in stated], abs=0.05)


def test_a_date_that_many_have_is_no_day_of_months():
    rng = np.random.default_rng(6)
    even = rng.integers(18_000, 19_461, 4_000)
    days = np.append(even, np.full(1_000, 18_628)).astype("datetime64[D]")
    found = TimesCounted.of(days, np.ones(5_000, dtype=np.int64)).rhythm(DAY)
    assert found is None or not found.monthdays


@pytest.mark.parametrize(
    ("rhythm", "words"),
    [
        ({"monthdays": {"1": 0.7, "last": 0.6}}, "at most 1 together"),
        ({"monthdays": {"32": 0.7}}, "monthdays"),
        ({"gaps": {"a month": 0.7}}, "lengths such as"),
        ({"gaps": {"1 month": 1.7}}, "lengths such as"),
    ],
)
def test_what_is_no_rhythm_of_months_is_refused(rhythm, words):
    form = {"type": "date", "min": "2021-01-01", "max": "2021-12-31", "bins": 4, "rhythm": rhythm}
    with pytest.raises(DataError, match=words):
        Domain.from_json({"at": form})


def test_a_rhythm_of_months_is_written_as_it_is_read():
    rhythm = {"monthdays": {"last": 0.5, "1": 0.25}, "gaps": {"1 month": 0.9, "14 days": 0.5}}
    form = {"type": "date", "min": "2021-01-01", "max": "2021-12-31", "bins": 4, "rhythm": rhythm}
    domain = Domain.from_json({"at": form})
    assert domain.to_json()["at"]["rhythm"] == rhythm
    assert Domain.from_json(domain.to_json()) == domain
