"""Rows come on the days of months of their column, and as far apart as it says."""

import numpy as np
import pytest

from dpmosaic.common.data.binning.months import days_of_months, whole_months
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.common.data.related.steps import Steps
from dpmosaic.curator.people.drawing.rhythms import in_rhythm
from dpmosaic.curator.people.kin import Kin

NO_BOUNDS = (None, None)


def table(rhythm, timed=False):
    form = {"type": "date", "min": "2015-01-01", "max": "2024-12-31", "bins": 24}
    if timed:
        form |= {"type": "timestamp", "max": "2024-12-31T23:59:59", "granularity": "minute"}
    return Kin(
        "rows",
        None,
        parent="people",
        foreign="id",
        steps=Steps(Domain.from_json({"at": form | {"rhythm": rhythm}})["at"]),
    )


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def rows(rng, gaps, people=800, most=20):
    """Days since 1970 of people with rows so many days apart, drawn from these."""
    whose = np.repeat(np.arange(people), rng.integers(1, most + 1, people))
    held = Rows({}, whose, people)
    apart = np.where(held.first, 0, rng.choice(gaps, len(whose)))
    summed = np.cumsum(apart)
    summed = summed - summed[np.flatnonzero(held.first)][whose]
    return (16_500 + rng.integers(0, 1_000, people)[whose] + summed).astype(float), held


def test_rows_a_month_apart_keep_the_day_of_the_first(rng):
    values, held = rows(rng, np.arange(28, 32))
    found = in_rhythm(values, held, table({"gaps": {"1 month": 1.0}}), NO_BOUNDS, rng).astype(int)
    inside = ~held.first[1:]
    assert (whole_months(found[:-1], found[1:])[inside] == 1).mean() > 0.98
    number, _ = days_of_months(found)
    first = number[np.flatnonzero(held.first)][held.parent]
    # Those of the 29th to the 31st come earlier in short months, and come back.
    assert ((number == first) | (first > 28)).all()
    assert number[first == 31].max() == 31


def test_as_many_gaps_are_exact_as_are_stated_and_none_that_is_much_longer(rng):
    values, held = rows(rng, np.append(np.arange(340, 390), np.arange(10, 40)), most=6)
    found = in_rhythm(values, held, table({"gaps": {"12 months": 0.6}}), NO_BOUNDS, rng).astype(int)
    inside = ~held.first[1:]
    before, after = np.diff(values)[inside], np.diff(found)[inside]
    exact = whole_months(found[:-1], found[1:])[inside] == 12
    # Four deviations of four thousand draws, and gaps that are a year by themselves.
    assert exact[before > 300].mean() == pytest.approx(0.6, abs=0.05)
    assert (after[before < 100] == before[before < 100]).all()


def test_days_between_rows_may_be_exact_too(rng):
    values, held = rows(rng, np.arange(13, 16))
    found = in_rhythm(values, held, table({"gaps": {"14 days": 1.0}}), NO_BOUNDS, rng)
    assert (np.diff(found)[~held.first[1:]] == 14).all()


@pytest.mark.parametrize("timed", [False, True])
def test_rows_come_at_the_end_of_months_where_all_do(rng, timed):
    values, held = rows(rng, np.arange(28, 32))
    unit = 1440 if timed else 1
    values = values * unit + (rng.integers(0, unit, len(values)) if timed else 0)
    kin = table({"monthdays": {"last": 1.0}, "gaps": {"1 month": 1.0}}, timed)
    found = in_rhythm(values, held, kin, NO_BOUNDS, rng)
    days = (found // unit).astype(int)
    number, length = days_of_months(days)
    assert (number == length).mean() > 0.99
    assert (np.diff(found)[~held.first[1:]] >= 0).all()


def test_single_rows_have_the_days_of_months(rng):
    values, held = rows(rng, np.arange(28, 32), people=20_000, most=1)
    found = in_rhythm(values, held, table({"monthdays": {"1": 0.5, "15": 0.3}}), NO_BOUNDS, rng).astype(int)
    number, _ = days_of_months(found)
    assert (number == 1).mean() == pytest.approx(0.5, abs=0.05)
    assert (number == 15).mean() == pytest.approx(0.3, abs=0.05)
    assert (np.abs(found - values) <= 15).all()


def test_rows_stay_in_order_and_between_the_bounds_of_their_parents(rng):
    for rhythm in (
        {"monthdays": {"last": 0.9}},
        {"gaps": {"1 month": 0.9}},
        {"monthdays": {"1": 1.0}, "gaps": {"7 days": 1}},
    ):
        values, held = rows(rng, np.arange(0, 60))
        starts = np.flatnonzero(held.first)
        ends = np.append(starts[1:], len(values)) - 1
        low = (values[starts] - rng.integers(0, 20, len(starts)))[held.parent]
        high = (values[ends] + rng.integers(0, 20, len(starts)))[held.parent]
        found = in_rhythm(values, held, table(rhythm), (low, high), rng)
        assert (found >= low).all()
        assert (found <= high).all()
        assert (np.diff(found)[~held.first[1:]] >= 0).all()
        # Rows of one day stay on one day.
        same = (np.diff(values) == 0) & ~held.first[1:]
        assert (np.diff(found)[same] == 0).all()
