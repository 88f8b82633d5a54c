"""Learns when in a week and in a day times are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.clock import Clock
from ....common.data.attributes.moments import Moments
from ....common.data.binning.rhythm import DAY, HOUR, MINUTE, Rhythm, TimesCounted
from ..asking import Asking
from ..private_counts import Noisy

RHYTHM = 0.15
"""Share of a column for each of the days of a week, the hours of a day and the minutes of an hour."""


def learned_rhythms(
    asking: Asking, moments: Mapping[str, Moments], units: Mapping[str, partial[NDArray[np.float64]]]
) -> dict[str, Rhythm | None]:
    """When in a week and in a day the times of columns are; None if they come evenly, as far as is seen."""
    lengths = {name: unit for name, one in moments.items() if (unit := one.granularity.seconds) <= DAY}
    dated = [name for name in lengths if not isinstance(moments[name], Clock)]
    asked = {
        "days of the week": ("weekdays", dated),
        "hours of the day": ("hours", [name for name in dated if lengths[name] <= HOUR]),
        "minutes": ("minutes", [name for name, unit in lengths.items() if unit <= MINUTE]),
    }
    cost = asking.part(RHYTHM, len(lengths)) * asking.share
    found: dict[str, dict[str, Noisy]] = {name: {} for name in lengths}
    for step, (part, names) in asked.items():
        counts = {name: partial(_by_rhythm, moments[name], units[name], part) for name in names}
        for name, noisy in asking.counts.histograms(step, counts, cost).items():
            found[name][part] = noisy
    return {
        name: TimesCounted(**{part: noisy.values[:-1] for part, noisy in parts.items()}).rhythm(
            lengths[name], next(iter(parts.values())).sigma, dated=name in dated
        )
        for name, parts in found.items()
        if parts
    }


def _by_rhythm(moments: Moments, units: partial[NDArray[np.float64]], part: str) -> NDArray[np.int64]:
    """The number of rows by weekday, hour or minute as `TimesCounted` has them, then of all others."""
    found = units()
    known = found[~np.isnan(found)].astype(np.int64)
    counts = getattr(TimesCounted.of(moments.at(known), np.ones(len(known), dtype=np.int64)), part)
    return np.append(counts, len(found) - counts.sum()).astype(np.int64)
