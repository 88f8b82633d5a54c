"""Drafts which gaps between the rows of a row above are exact: whole months, or a number of days."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.dates import BinnedTimes
from ....common.data.binning.months import DAYS_OF_MONTH, whole_months
from ....common.data.binning.rhythm import ABOUT
from ....common.data.values import blank_texts
from .courses import Related

_MOST_MONTHS = 60
"""Longer gaps are looked for in days alone."""

_LEAST_DAYS = 8
"""Shorter gaps are coded exactly."""

_FEWEST, _LEAST_OF_ALL, _LEAST_EXACT = 20, 0.01, 0.3
"""Least number of gaps that are exact, and their least share of all gaps and of those about as long."""

_BY_CHANCE = 2.0
"""So many times as often as they would be among even days of about this length."""


def gaps_of(found: Related, order: BinnedTimes) -> dict[str, float]:
    """What lies exactly between rows and those before, and how often among gaps that are about as long.

    Args:
        found: rows in their order.
        order: the dates by which they are.
    """
    times, _ = order.moments.read(order.name, blank_texts(found.cells[order.name], order.missing))
    known = ~np.isnat(times)
    inside = (np.diff(found.parent) == 0) & known[1:] & known[:-1]
    days = times.astype("datetime64[D]").astype(np.int64)
    before, after = days[:-1][inside], days[1:][inside]
    apart, months = after - before, whole_months(before, after)
    found_gaps: dict[str, float] = {}
    free = np.ones(len(apart), dtype=np.bool_)

    def look(length: float, exact: NDArray[np.bool_], name: str) -> None:
        about = np.abs(apart - length) <= length * ABOUT
        number = int((exact & about).sum())
        chance = 1 / (2 * np.floor(length * ABOUT) + 1)
        share = number / max(int(about.sum()), 1)
        least = max(_LEAST_EXACT, min(_BY_CHANCE * chance, 0.9))
        if number >= max(_FEWEST, _LEAST_OF_ALL * len(apart)) and share >= least:
            found_gaps[name] = float(np.floor(1000 * share) / 1000)
            free[exact & about] = False

    for number in range(1, _MOST_MONTHS + 1):
        look(number * DAYS_OF_MONTH, months == number, f"{number} month{'s' if number > 1 else ''}")
    counts = np.bincount(apart[free & (apart >= _LEAST_DAYS)])
    for number in np.flatnonzero(counts >= max(_FEWEST, _LEAST_OF_ALL * len(apart))).tolist():
        look(float(number), free & (apart == number), f"{number} days")
    return found_gaps


def entries_with_gaps(entries: Mapping[str, Any], order: str, gaps: Mapping[str, float]) -> dict[str, Any]:
    """Entries of a domain that say which gaps between rows in order by a column are exact."""
    if not gaps:
        return dict(entries)
    rhythm = {**entries[order].get("rhythm", {}), "gaps": dict(gaps)}
    # What nobody has reviewed stays the last of its keys.
    rest = {key: value for key, value in entries[order].items() if key != "reviewed"}
    return {**entries, order: {**rest, "rhythm": rhythm, "reviewed": False}}
