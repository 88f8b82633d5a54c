"""Round dates and times at the axis of a chart."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.data.attributes.clock import Clock
from ...common.data.attributes.moments import Moments

_MOST_DATES = 4
"""Most of them: the texts of dates are long."""

_STEPS = {
    "Y": (100, 50, 20, 10, 5, 2, 1),
    "M": (6, 3, 2, 1),
    "D": (14, 7, 2, 1),
    "h": (12, 6, 3, 2, 1),
    "m": (30, 15, 5, 1),
}
"""NumPy's units, and how many of them lie between two ticks, from the most to the fewest."""


def time_ticks(moments: Moments, low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Units of round dates or times, with their texts; the two ends if none lies between.

    Args:
        moments: what the units are.
        low: the first unit.
        high: the last one.
    """
    begin, end = moments.at(np.array([np.ceil(low), np.floor(high)]).astype(np.int64))
    ends = tuple((float(one), moments.bound_text(int(one))) for one in (low, high))
    best: tuple[str, Any] | None = None
    for unit, steps in _STEPS.items():
        if isinstance(moments, Clock) and unit in ("Y", "M", "D"):
            continue
        for step in steps:
            first = -(-begin.astype(f"datetime64[{unit}]").astype(np.int64) // step) * step
            last = end.astype(f"datetime64[{unit}]").astype(np.int64)
            if last - first > (_MOST_DATES + 1) * step:
                break
            times = np.arange(first, last + 1, step).astype(f"datetime64[{unit}]")
            times = times[times >= begin]
            if len(times) > _MOST_DATES:
                break
            best = (unit, times) if len(times) else best
    if best is None or len(best[1]) < 2:
        return ends
    unit, times = best
    units = moments.unit_numbers(times.astype("datetime64[us]")).tolist()
    if isinstance(moments, Clock):
        return tuple((float(one), moments.bound_text(one)) for one in units)
    written = unit if unit in ("Y", "M", "D") else "m"
    texts = times.astype(f"datetime64[{written}]").astype(str).tolist()
    return tuple((float(one), text.replace("T", " ")) for one, text in zip(units, texts, strict=True))
