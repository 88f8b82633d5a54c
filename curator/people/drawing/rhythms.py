"""Rows of people at the times of the month, the week and the day that a column of an order has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....common.data.binning.rhythm import DAY, Pace
from ....common.data.related.rows import Rows
from ..kin import Kin
from .calendar import by_calendar
from .quantiles import Bounds

Numbers = NDArray[np.float64]

_SHIFTS = np.array([0, 1, -1, 2, -2, 3, -3])
"""Days by which the rows of a parent may move, so that they reach each day of a week once."""


def in_rhythm(values: Numbers, held: Rows, table: Kin, bounds: Bounds, rng: np.random.Generator) -> Numbers:
    """Values of the order, at the days of the month and the week and the times of day that its column has.

    All rows of a parent move by the same number of days, so that what lies between them stays; those near to
    a column of it do not. Rows whose gap is about as long as one that the rhythm knows come exactly so much
    after the row before, as often as it says; others move to days of months. Then each row moves within its
    day: the order of all times of day stays, and with it that of the rows.

    Args:
        values: multiples of the unit within the bounds, shape (rows,).
        held: the rows.
        table: of the rows.
        bounds: no row lies before the first, and none after the second; see `Steps.values`.
        rng: chooses among days.
    """
    pace = None if table.steps is None else table.steps.units.pace
    if pace is None or table.steps is None or not len(values):
        return values
    low, high = table.steps.units.ends
    least, most = (
        np.full(len(values), end) if bound is None else np.clip(bound, low, high)
        for bound, end in zip(bounds, (low, high), strict=True)
    )
    day = DAY / pace.unit
    of_months = bool(pace.rhythm.monthdays or pace.rhythm.gaps)
    if pace.rhythm.weekdays and not (table.near or pace.rhythm.monthdays):
        values = values + day * _days_moved(values, held, pace, least, most, rng)
    if of_months:
        days = np.floor(values / day)
        bounds_of_day = np.ceil(least / day), np.maximum(np.floor((most + 1) / day) - 1, np.ceil(least / day))
        moved = by_calendar(days.astype(np.int64), held, pace, bounds_of_day, bool(table.near), rng)
        values = moved * day + (values - days * day)
        values = values[np.lexsort((values, held.parent))]
    if day > 1:
        values = _within_days(values, held, pace, day, rng)
    found: Numbers = np.clip(values, least, np.maximum(most, least))
    return found


def _days_moved(
    values: Numbers, held: Rows, pace: Pace, least: Numbers, most: Numbers, rng: np.random.Generator
) -> Numbers:
    """By how many days each row moves: those of a parent by as many, within the bounds, shape (rows,)."""
    starts = np.flatnonzero(held.first)
    lengths = np.diff(np.append(starts, len(values)))
    ends = starts + lengths - 1
    day = DAY / pace.unit
    scores = np.empty((len(starts), len(_SHIFTS)))
    for place, shift in enumerate(_SHIFTS):
        moved = values + day * shift
        shares = pace.weekday_shares(np.floor(moved / day).astype(np.int64))
        scores[:, place] = np.add.reduceat(np.log(np.maximum(shares, 1e-9)), starts)
        outside = (moved[starts] < least[starts]) | (moved[ends] > most[ends])
        scores[outside & (shift != 0), place] = -np.inf
    # Drawn by the products of the shares: the largest sum of a score and noise of Gumbel's distribution.
    chosen = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    moved_days: Numbers = np.repeat(_SHIFTS[chosen], lengths).astype(np.float64)
    return moved_days


def _within_days(values: Numbers, held: Rows, pace: Pace, day: float, rng: np.random.Generator) -> Numbers:
    """The rows at times of their days that are as frequent as the rhythm says, in the same order."""
    begun = np.floor(values / day) * day
    of_day = values - begun
    # Rows of one parent at one time of day stay together; those of others are told apart.
    parts = rng.random(held.parents)[held.parent]
    order = np.lexsort((parts, of_day))
    sorted_times, sorted_parts = of_day[order], parts[order]
    new = np.append(True, (np.diff(sorted_times) != 0) | (np.diff(sorted_parts) != 0))
    group = np.cumsum(new) - 1
    sizes = np.bincount(group)
    middles = (np.cumsum(sizes) - sizes / 2) / len(values)
    evened = np.empty(len(values))
    evened[order] = middles[group] * day - 0.5
    of_days = replace(pace, rhythm=replace(pace.rhythm, weekdays=()))
    found: Numbers = begun + of_days.in_rhythm(evened, np.zeros(len(values)), np.full(len(values), day - 1))
    return found
