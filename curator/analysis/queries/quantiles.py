"""Quantiles, by inverting the estimated cumulative distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..intervals import INFERRED, MEASURED, wald
from .axes import Axis, Truth
from .estimates import NO_ROWS, Estimate, Grouped, reach_of

Array = NDArray[np.float64]

_MOST_THRESHOLDS = 128

_THRESHOLD_VALUES = 2**24
"""Thresholds times combinations of pieces, at most."""


def quantiles(grouped: Grouped, axis: Axis, of: Truth, probability: float) -> list[Estimate]:
    """A quantile of a column in each group.

    At each threshold t between pieces, the sum over the group of 1[x <= t] - p is estimated. The quantile is
    where it crosses 0; the interval ends where the ends of its own interval do.

    Args:
        grouped: groups.
        axis: the column.
        of: rows that have a part, shape (m,); the column has a number there.
        probability: p.

    Source: R. S. Woodruff, "Confidence intervals for medians and other position measures" (1952).
    """
    known = np.flatnonzero(~axis.no_number)
    order = known[np.argsort(axis.numbers[known], kind="stable")]
    rank = np.full(len(axis.codes), -1)
    rank[order] = np.arange(len(order))
    places = rank[grouped.joint.pieces[axis.name]]
    return [_quantile(grouped, axis, group, of, places, order, probability) for group in range(grouped.size)]


def _quantile(
    grouped: Grouped,
    axis: Axis,
    group: int,
    of: Truth,
    places: NDArray[np.int64],
    order: NDArray[np.int64],
    probability: float,
) -> Estimate:
    joint = grouped.joint
    rows = of & (grouped.groups[joint.cells] == group)
    weights = np.bincount(places[rows], joint.weights[rows], len(order)).astype(np.float64)
    if not weights.sum() > 0:
        return Estimate(float("nan"), note=NO_ROWS)
    thresholds = _thresholds(weights, max(8, min(_MOST_THRESHOLDS, _THRESHOLD_VALUES // len(rows))))

    def value_at(curve: Array) -> float:
        """Where a curve over the thresholds first crosses 0."""
        after = int(np.argmax(curve >= 0)) if (curve >= 0).any() else len(curve) - 1
        after = max(after, 1)
        before, here = curve[after - 1], curve[after]
        share = float(np.clip(-before / (here - before), 0, 1)) if here > before else 1.0
        # Pieces between two thresholds share this step by their records.
        first, last = thresholds[after - 1] + 1, thresholds[after] + 1
        among = np.cumsum(weights[first:last])
        if among[-1] > 0:
            share *= float(among[-1])
            piece = min(int(np.searchsorted(among, share)), len(among) - 1)
            start = float(among[piece - 1]) if piece else 0.0
            rest = (share - start) / max(float(among[piece]) - start, np.finfo(float).tiny)
        else:
            piece, rest = 0, share
        return axis.number_at(int(order[first + piece]), float(np.clip(rest, 0, 1)))

    cumulative = np.concatenate([[0.0], np.cumsum(weights)])
    released = cumulative[thresholds + 1] - probability * cumulative[-1]
    if obstacle := grouped.obstacle(len(thresholds)):
        return Estimate(value_at(released), note=obstacle)
    above = rows[:, None] * ((places[:, None] <= thresholds) - probability)
    means = joint.means(above)
    inside = (above**2).T @ joint.weights - (means**2).T @ joint.support.weights
    inside = np.where(inside > 1e-12 * weights.sum(), inside, 0)
    total = grouped.estimate_totals(means, np.diag(inside))
    value = value_at(np.maximum.accumulate(total.values))
    nearest = int(np.argmin(np.abs(total.values)))
    low, high = wald(total.values, np.diag(total.covariance(grouped.population)), grouped.level)
    # The quantile may be below a threshold unless the sum there is significantly negative.
    note = INFERRED if reach_of(total)[nearest] < MEASURED else ""
    return Estimate(value, value_at(high), value_at(np.minimum.accumulate(low[::-1])[::-1]), note)


def _thresholds(weights: Array, most: int) -> NDArray[np.int64]:
    """Ranks of pieces after which to look: -1, the last, and at most so many between, by records."""
    last = len(weights) - 1
    if last < most:
        return np.arange(-1, last + 1)
    shares = np.cumsum(weights) / weights.sum()
    inner = np.searchsorted(shares, np.arange(1, most) / most)
    return np.unique(np.concatenate([[-1], np.minimum(inner, last), [last]]))
