"""What a first step may not have seen of its columns, in estimates of means and regressions.

The same assumptions as for queries (`queries/unseen`, `tails`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.dates import bins_of
from ..published import Published, evidence_of
from ..tails import OUTER, distances, no_interval
from .estimates import Estimates

Array = NDArray[np.float64]


def withheld(published: Published, columns: Iterable[str]) -> str:
    """Why there are no intervals of functions of these columns' values; empty if there may be."""
    for name in columns:
        one, bins = evidence_of(published).unseen.get(name), bins_of(published.domain[name])
        if one is not None and bins is not None and (reason := no_interval(bins, one)):
            return reason
    return ""


def wider(
    published: Published,
    found: Estimates,
    column: str,
    values: Array,
    groups: Iterable[NDArray[np.bool_]],
    selecting: Iterable[str],
    *,
    shares: bool,
) -> Estimates:
    """Means of groups with wider intervals, or with none.

    Args:
        published: the release.
        found: the means.
        column: of whose values they are.
        values: of the rows, shape (rows,).
        groups: the rows of each mean.
        selecting: columns of conditions and groups.
        shares: whether values are one where a condition holds, and zero elsewhere.
    """
    unseen = evidence_of(published).unseen
    if not unseen:
        return found
    reason = "" if shares else withheld(published, (column,))
    low, high, notes = found.low.copy(), found.high.copy(), list(found.notes)
    for place, rows in enumerate(groups):
        less, more = reach_of_mean(published, column, values[rows], len(values), selecting, shares)
        low[place] -= less
        high[place] += more
        if reason:
            low[place] = high[place] = np.nan
            notes[place] = notes[place] or reason
    return replace(found, low=low, high=high, notes=tuple(notes))


def reach_of_mean(
    published: Published, column: str, values: Array, rows: int, selecting: Iterable[str], shares: bool
) -> tuple[float, float]:
    """How much smaller and larger the mean of a group may be.

    Args:
        published: the release.
        column: of whose values it is.
        values: of the group's rows.
        rows: number of all rows of the synthetic table.
        selecting: see `wider`.
        shares: see `wider`.
    """
    unseen, count = evidence_of(published).unseen, len(values) * published.records / rows
    root = math.sqrt(len(values) / rows)
    spread = 1.0 if shares else float(values.std())
    other = sum(min(root * unseen[name].moved, count) for name in set(selecting) if name in unseen) * spread
    one, bins = unseen.get(column), bins_of(published.domain[column])
    if one is None:
        return other / count, other / count
    below, above, hidden = (min(root * part, count) for part in (one.below, one.above, one.moved))
    if shares:
        hidden += below + above + other
        return hidden / count, hidden / count
    if bins is None:
        hidden = hidden * float(np.ptp(values)) + other
        return hidden / count, hidden / count
    low, high = np.quantile(values, [OUTER, 1 - OUTER])
    lower, upper = distances(bins, spread, float(low), float(high))
    usual = 0.0 if one.usual >= len(bins.reach) else float(bins.reach[one.usual].mean() - values.mean())
    less = below * lower + hidden * max(usual, 0.0) + other
    return less / count, (above * upper + hidden * max(-usual, 0.0) + other) / count
