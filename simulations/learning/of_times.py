"""Learns columns of dates and timestamps: the order of day and month, the finest unit, and where they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.data.moments import Granularity, Moments
from .asking import Asking
from .columns import Column, times
from .kinds import Times, Vote
from .private_counts import Noisy
from .ranges import Ruler

ORDER, FINEST, COARSE, CLOSER = 0.05, 0.08, 0.2, 0.12
"""Shares of a column for the order of day and month, the finest unit, a grid over centuries, and one around
the records."""

_GRANULARITIES = (
    *(Granularity.DAY, Granularity.HOUR, Granularity.MINUTE, Granularity.SECOND, Granularity.MILLISECOND),
    Granularity.MICROSECOND,
)
_SEEN = 4.0
"""A unit is seen if its times exceed so many deviations of their noise."""

_FIRST, _LAST = "1700-01-01", "2300-01-01"
"""Dates are looked for between these; others count at the nearest."""


def learned_times(
    asking: Asking, kinds: Mapping[str, Times], votes: Mapping[str, Vote]
) -> dict[str, Column | None]:
    """The columns of dates and timestamps.

    Args:
        asking: the means.
        kinds: name -> format of its dates.
        votes: what cells voted for.

    Returns:
        For each column how it is released; None if too few records were seen anywhere.
    """
    kinds = _ordered(asking, kinds)
    read = {name: partial(asking.cells.times, name, kind) for name, kind in kinds.items()}
    asked = {name: partial(_by_finest, read[name]) for name, kind in kinds.items() if kind.timed}
    finest = asking.counts.histograms("finest unit", asked, FINEST * asking.share)
    granularities = {name: _granularity(kind, finest.get(name)) for name, kind in kinds.items()}
    moments = {name: Moments(kinds[name].timed, unit) for name, unit in granularities.items()}
    units = {name: partial(_units, moments[name], read[name]) for name in kinds}
    rulers = {
        name: Ruler.between(one.bound(name, _FIRST), one.bound(name, _LAST), 1.0)
        for name, one in moments.items()
    }
    found = asking.ranges("range", units, rulers, COARSE, CLOSER)
    zones = asking.cells.timezones
    return {
        name: Column(
            times(
                name, kind, granularities[name], found[name], zones.get(name, ""), name in asking.cells.timed
            ),
            votes[name].missing > 0,
        )
        if found[name].certain
        else None
        for name, kind in kinds.items()
    }


def _ordered(asking: Asking, kinds: Mapping[str, Times]) -> dict[str, Times]:
    """The formats, with day and month in the order in which more cells can be read."""
    unknown = {
        name: partial(asking.cells.day_and_month, name)
        for name, kind in kinds.items()
        if kind.format.startswith("a")
    }
    noisy = asking.counts.histograms("day and month", unknown, ORDER * asking.share)
    ordered = dict(kinds)
    for name, seen in noisy.items():
        day, month = ("a", "b") if seen.values[0] >= seen.values[1] else ("b", "a")
        form = kinds[name].format.replace(day, "%d", 1)
        ordered[name] = replace(kinds[name], format=form.replace(month, "%m", 1))
    return ordered


def _by_finest(read: partial[NDArray[np.datetime64]]) -> NDArray[np.int64]:
    """The number of times by their finest unit that is not zero, then of no times; (granularities + 1,)."""
    found = read()
    known = found[~np.isnat(found)]
    places = np.zeros(len(known), dtype=np.intp)
    for place, coarser in enumerate(("D", "h", "m", "s", "ms"), start=1):
        places[known != known.astype(f"datetime64[{coarser}]")] = place
    counts = np.bincount(places, minlength=len(_GRANULARITIES) + 1)
    counts[-1] = len(found) - len(known)
    return counts


def _granularity(kind: Times, finest: Noisy | None) -> Granularity:
    """The coarsest unit of which all seen times are whole numbers, and that the format can write."""
    if finest is None:
        return Granularity.MONTH if "%d" not in kind.format else Granularity.DAY
    seen = np.flatnonzero(finest.values[:-1] > _SEEN * finest.sigma)
    return _GRANULARITIES[int(seen[-1]) if len(seen) else 0]


def _units(moments: Moments, read: partial[NDArray[np.datetime64]]) -> NDArray[np.float64]:
    found = read()
    units = np.full(len(found), np.nan)
    known = ~np.isnat(found)
    units[known] = moments.counted(found[known])
    return units
