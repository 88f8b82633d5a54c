"""Rows of people come at the days of the week and the times of day of their column."""

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.common.data.related.steps import Steps
from dpmosaic.curator.people.drawing.rhythms import in_rhythm
from dpmosaic.curator.people.kin import Kin

FORM = {"type": "timestamp", "min": "2021-01-01", "max": "2022-12-31", "bins": 24, "granularity": "minute"}
ON_WORKDAYS = {"weekdays": [0.3, 0.3, 0.2, 0.1, 0.1, 0, 0]}
BY_DAY = {"hours": [0] * 8 + [0.125] * 8 + [0] * 8}
DAY, NO_BOUNDS = 1440, (None, None)


def table(rhythm):
    at = Domain.from_json({"at": FORM | ({"rhythm": rhythm} if rhythm else {})})["at"]
    return Kin("visits", None, parent="people", foreign="id", steps=Steps(at))


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def rows(rng, people=4000, most=5):
    """Numbers of minutes since 1970 of people with one row or more, in order."""
    whose = np.repeat(np.arange(people), rng.integers(1, most + 1, people))
    low, high = table({}).steps.units.ends
    times = np.floor(low + rng.random(len(whose)) * (high - low))
    return times[np.lexsort((times, whose))], Rows({}, whose, people)


def weekdays(values):
    return np.bincount((values // DAY).astype(int) % 7, minlength=7)[[4, 5, 6, 0, 1, 2, 3]] / len(values)


def test_without_a_rhythm_nothing_moves(rng):
    values, held = rows(rng)
    assert in_rhythm(values, held, table({}), NO_BOUNDS, rng) is values


def test_single_rows_have_the_days_of_the_week_and_the_hours(rng):
    values, held = rows(rng, 20_000, 1)
    found = in_rhythm(values, held, table(ON_WORKDAYS | BY_DAY), NO_BOUNDS, rng)
    # Four deviations of 20,000 draws.
    assert weekdays(found) == pytest.approx(ON_WORKDAYS["weekdays"], abs=0.013)
    assert np.bincount((found % DAY // 60).astype(int), minlength=24) / 20_000 == pytest.approx(
        BY_DAY["hours"], abs=0.01
    )
    assert (np.abs(found - values) < 4 * DAY).all()


def test_rows_stay_in_order_and_whole_days_between_them_stay(rng):
    values, held = rows(rng)
    for rhythm in (ON_WORKDAYS, BY_DAY, ON_WORKDAYS | BY_DAY):
        found = in_rhythm(values, held, table(rhythm), NO_BOUNDS, rng)
        between = np.diff(found)[~held.first[1:]]
        assert (between >= 0).all()
        days = np.diff(found // DAY)[~held.first[1:]]
        assert (days == np.diff(values // DAY)[~held.first[1:]]).mean() > 0.99


def test_rows_at_one_time_stay_at_one_time(rng):
    values, held = rows(rng)
    values = values[np.flatnonzero(held.first)][held.parent]
    found = in_rhythm(values, held, table(ON_WORKDAYS | BY_DAY), NO_BOUNDS, rng)
    assert (np.diff(found)[~held.first[1:]] == 0).all()


def test_rows_stay_between_the_bounds_of_their_parents(rng):
    values, held = rows(rng, most=1)
    low = values - rng.integers(0, 600, len(values))
    high = values + rng.integers(0, 600, len(values))
    found = in_rhythm(values, held, table(ON_WORKDAYS | BY_DAY), (low, high), rng)
    assert (found >= low).all()
    assert (found <= high).all()
