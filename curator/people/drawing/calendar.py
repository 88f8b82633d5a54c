"""Rows of people on the days of months that their column has, and exactly as far apart as it says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....common.data.binning.months import DAYS_OF_MONTH, LAST, days_of_months, months_later
from ....common.data.binning.rhythm import ABOUT, Pace
from ....common.data.related.rows import Rows

Days = NDArray[np.int64]
Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]

_A_MONTH, _HALF_A_MONTH, _RARELY = 30, 15, 1e-6
"""Days by which a row may move: within half a month it reaches each day of one, and beyond that it goes only
where a bound leaves it none, so many times less."""

_PART_OF_GAP, _NEARLY_ALL_TOLD = 4, 0.9
"""A row that is not the first moves by at most this part of its gap, unless so many rows are on told days."""

_BLOCK = 1 << 16
"""Rows that move at once."""


def by_calendar(
    days: Days, held: Rows, pace: Pace, bounds: Bounds, near: bool, rng: np.random.Generator
) -> Days:
    """Days of rows, in order among those of each parent.

    Args:
        days: of the rows, since 1970 began, never decreasing among those of one parent, shape (rows,).
        held: the rows.
        pace: when they come.
        bounds: the first and the last day of each row.
        near: whether first rows stay.
        rng: draws which gaps are exact, and days.
    """
    first = held.first
    apart = np.diff(days, prepend=days[:1])
    months, exact = _exact_gaps(apart, first, pace, rng)
    wanted, found = np.zeros_like(days), days.copy()
    ends_matter = any(day == LAST for day, _ in pace.rhythm.monthdays)
    least = _HALF_A_MONTH if sum(share for _, share in pace.rhythm.monthdays) >= _NEARLY_ALL_TOLD else 0
    starts = np.flatnonzero(first)
    numbers = np.diff(np.append(starts, len(days)))
    for place in range(int(numbers.max(initial=0))):
        at = starts[numbers > place] + place
        low, high = (one[at].astype(np.int64) for one in bounds)
        if place:
            before = found[at - 1]
            chained = months_later(before, months[at], wanted[at - 1])
            new = np.where(months[at] > 0, chained, before + exact[at])
            free = (months[at] == 0) & (exact[at] == 0) & (apart[at] > 0)
            new[free] = (before + apart[at])[free]
            furthest = np.where(free, np.clip(apart[at] // _PART_OF_GAP, least, _HALF_A_MONTH), 0)
            # What lies apart stays apart, where there is room.
            low = np.maximum(low, np.minimum(before + (apart[at] > 0), np.maximum(high, before)))
        else:
            new, furthest = days[at], np.full(len(at), 0 if near else _A_MONTH)
        new = np.clip(new, low, np.maximum(low, high))
        if pace.rhythm.monthdays:
            new = _on_months_days(new, furthest, (low, high), pace, rng)
        number, length = days_of_months(new)
        kept = np.where(number == length, 31, number) if ends_matter else number
        wanted[at] = np.where(months[at] > 0, wanted[at - 1], kept)
        found[at] = new
    return found


def _exact_gaps(
    apart: Days, first: NDArray[np.bool_], pace: Pace, rng: np.random.Generator
) -> tuple[Days, Days]:
    """Whole months, or days, that lie between rows and those before, 0 where it is no such number."""
    months, exact = np.zeros(len(apart), dtype=np.int64), np.zeros(len(apart), dtype=np.int64)
    drawn, below = rng.random(len(apart)), np.zeros(len(apart))
    for days, number, share in pace.rhythm.lengths:
        length = days or number * DAYS_OF_MONTH
        about = ~first & (np.abs(apart - length) <= length * ABOUT)
        chosen = about & (below <= drawn) & (drawn < below + share)
        below[about] += share
        months[chosen], exact[chosen] = number, days
    return months, exact


def _on_months_days(
    days: Days, furthest: Days, bounds: tuple[Days, Days], pace: Pace, rng: np.random.Generator
) -> Days:
    """Days of rows that move to days of months, drawn by their shares, by at most so many days."""
    found = days.copy()
    shifts = np.arange(-_A_MONTH, _A_MONTH + 1)
    movable = np.flatnonzero(furthest > 0)
    for start in range(0, len(movable), _BLOCK):
        some = movable[start : start + _BLOCK]
        to = days[some, None] + shifts
        shares = pace.monthday_shares(to.ravel())
        if pace.rhythm.weekdays:
            shares *= pace.weekday_shares(to.ravel())
        likely = (shares.reshape(to.shape) + 1e-12) * np.where(np.abs(shifts) > _HALF_A_MONTH, _RARELY, 1.0)
        low, high = (one[some, None] for one in bounds)
        likely[(np.abs(shifts) > furthest[some, None]) | (to < low) | (to > high)] = 0.0
        likely[:, _A_MONTH] += 1e-15
        below = np.cumsum(likely, axis=1)
        place = (below < rng.random((len(some), 1)) * below[:, -1:]).sum(axis=1)
        found[some] = to[np.arange(len(some)), np.minimum(place, len(shifts) - 1)]
    return found
