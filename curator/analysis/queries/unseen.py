"""Intervals that account for what a first step may not have seen of the columns that it learned.

Records beyond learned bounds count at them, and a few records without a value, or with one that is not
listed, count as the most frequent one. A release states upper limits of their numbers (`Unseen`). Ends of
intervals are moved by what so many records can change:

- a number of rows, by all of them where a condition or a group would tell them apart;
- a mean, by so many times the distance at which they lie (`tails`), or there is no interval;
- a quantile not at all, unless it lies among these records: then it has no interval. It ends where the bins
  end in which its ends lie, since inside of bins nothing was counted.

A group may have more than its part of these records: with a share s of the rows, the root of s of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.numeric import NumericAttribute
from ...certificates.unseen import Unseen
from ..tails import OUTER, distances, no_interval
from .axes import Axis, LabelAxis, NumberAxis, Truth
from .estimates import Estimate, Grouped
from .language import Aggregate, Comparison, Kind, Missing

Array = NDArray[np.float64]


class Change(NamedTuple):
    """By how much a sum of records in each group may be smaller or larger in the table, shape (groups,)."""

    less: Array
    more: Array

    def plus(self, other: Change) -> Change:
        """Both changes."""
        return Change(self.less + other.less, self.more + other.more)


def of_rows(
    grouped: Grouped, rows: Truth, compared: tuple[Comparison, ...], groups: tuple[str, ...]
) -> Change:
    """By how much the number of rows in each group may change.

    Args:
        grouped: groups.
        rows: which pieces count, shape (m,).
        compared: the comparisons that select them.
        groups: columns that make the groups.
    """
    found = Change(np.zeros(grouped.size), np.zeros(grouped.size))
    joint = grouped.joint
    for name in {*groups, *(one.column for one in compared)}:
        for codes, records, may_join in _codes_of_unseen(grouped, name, compared):
            there = np.isin(joint.axes[name].codes[joint.pieces[name]], codes)
            held = grouped.sums((there & rows).astype(np.float64))
            beside = grouped.sums((there & ~rows).astype(np.float64)) > 0
            joining = beside if may_join else np.zeros(grouped.size, dtype=np.bool_)
            found = found.plus(Change(np.minimum(held, records), np.where(joining, records, 0.0)))
    return found


def _codes_of_unseen(
    grouped: Grouped, name: str, compared: tuple[Comparison, ...]
) -> Iterator[tuple[list[int], float, bool]]:
    """Codes at which records with other values count, these records, whether conditions may hold of them."""
    one, axis = unseen_of(grouped, name), grouped.joint.axes.get(name)
    if one is None or axis is None:
        return
    here = [each for each in compared if each.column == name]
    tells = any(isinstance(each, Missing) or isinstance(axis, LabelAxis) for each in here)
    yield [one.usual], one.moved, tells
    if isinstance(axis, NumberAxis):
        reach = axis.bins.reach
        inner = ~axis.bins.alone
        places = np.flatnonzero(inner if inner.any() else ~inner)
        least, most = float(reach[places[0], 0]), float(reach[places[-1], 1])
        values = [cut.number for cut in axis.cuts]
        # Which part a date beyond the bounds has is not known.
        parted = any(getattr(each, "part", None) is not None for each in here)
        cut_below = parted or any(v <= least for v in values)
        cut_above = parted or any(v >= most for v in values)
        if not here or cut_below:
            yield [int(places[0])], one.below, cut_below
        if not here or cut_above:
            yield [int(places[-1])], one.above, cut_above


def unseen_of(grouped: Grouped, name: str) -> Unseen | None:
    """What may be unseen of a column; None if its domain was given."""
    return None if grouped.evidence is None else grouped.evidence.unseen.get(name)


def of_counts(found: list[Estimate], change: Change) -> list[Estimate]:
    """Numbers of rows with wider intervals."""
    return [
        replace(each, low=each.low - less, high=each.high + more)
        for each, less, more in zip(found, change.less, change.more, strict=True)
    ]


def of_shares(found: list[Estimate], top: Change, bottom: Change, weights: Array) -> list[Estimate]:
    """Shares with wider intervals.

    Args:
        found: for each group.
        top: of the numerator.
        bottom: of the denominator.
        weights: the denominator, shape (groups,).
    """
    wider = []
    for place, each in enumerate(found):
        weight = max(float(weights[place]), 1.0)
        other = float(bottom.less[place] + bottom.more[place]) / weight * max(each.value, 1 - each.value)
        low = each.low - float(top.less[place]) / weight - other
        wider.append(replace(each, low=low, high=each.high + float(top.more[place]) / weight + other))
    return wider


def of_numbers(
    grouped: Grouped, axis: Axis, chosen: Truth, aggregate: Aggregate, found: list[Estimate], rows: Change
) -> list[Estimate]:
    """Sums, means and quantiles with wider intervals, or with none.

    Args:
        grouped: groups.
        axis: the column.
        chosen: rows that have a part, shape (m,).
        aggregate: what was asked.
        found: for each group.
        rows: by how much the number of rows of each group may change.
    """
    one = unseen_of(grouped, axis.name)
    if one is None and not (rows.less + rows.more).any():
        return found
    one = one or Unseen(axis.name, 0, 0.0)
    pieces, wider = grouped.joint.pieces[axis.name], []
    weights = grouped.joint.weights
    whole = float(np.sum(weights))
    for place, each in enumerate(found):
        here = chosen & (grouped.groups[grouped.joint.cells] == place)
        records = np.bincount(pieces[here], weights[here], len(axis.codes))
        count = float(records.sum())
        if not count:
            wider.append(each)
            continue
        root = math.sqrt(min(1.0, count / whole))
        below, above, moved = (min(root * part, count) for part in (one.below, one.above, one.moved))
        other = float(rows.less[place] + rows.more[place])
        if aggregate.kind is Kind.QUANTILE:
            p, rest = aggregate.probability, (moved + other) / count
            hidden = p < below / count + rest or 1 - p < above / count + rest
            none = replace(each, low=np.nan, high=np.nan, note=_among(axis))
            wider.append(none if hidden else _to_ends_of_bins(axis, each))
        elif isinstance(axis, NumberAxis) and (reason := no_interval(axis.bins, one)):
            wider.append(replace(each, low=np.nan, high=np.nan, note=reason))
        else:
            lower, upper, typical = _distances(axis, records.astype(np.float64))
            usual = _usual(axis, one)
            mean = float(axis.numbers[records > 0] @ records[records > 0]) / count
            # Of records that have no value, the mean is that of all others.
            from_usual = np.array([moved * min(mean - usual, 0.0), moved * max(mean - usual, 0.0)])
            if isinstance(axis, LabelAxis):
                from_usual = moved * np.array([-1.0, 1.0]) * lower
            scale = 1.0 if aggregate.kind is Kind.SUM else 1 / count
            if aggregate.kind is Kind.SUM and not isinstance(axis, LabelAxis):
                from_usual = np.array([-moved * max(usual, 0.0), moved * max(-usual, 0.0)])
            size = abs(mean) + typical if aggregate.kind is Kind.SUM else typical
            low = each.low + (from_usual[0] - below * lower - other * size) * scale
            high = each.high + (from_usual[1] + above * upper + other * size) * scale
            wider.append(replace(each, low=float(low), high=float(high)))
    return wider


def of_variances(
    grouped: Grouped, axis: Axis, chosen: Truth, found: list[Estimate], rows: Change
) -> list[Estimate]:
    """Variances with wider intervals, or with none; see `of_numbers`.

    A record beyond a bound lies further from the mean than it counts. One that counts elsewhere changes the
    sum of squares by up to twice the variance, as is typical of values that spread as the column does.
    """
    one = unseen_of(grouped, axis.name)
    if one is None and not (rows.less + rows.more).any():
        return found
    one = one or Unseen(axis.name, 0, 0.0)
    reason = no_interval(axis.bins, one) if isinstance(axis, NumberAxis) else ""
    pieces, weights, wider = grouped.joint.pieces[axis.name], grouped.joint.weights, []
    for place, each in enumerate(found):
        here = chosen & (grouped.groups[grouped.joint.cells] == place)
        records = np.bincount(pieces[here], weights[here], len(axis.codes)).astype(np.float64)
        count = float(records.sum())
        if reason or not count or np.isnan(each.low):
            wider.append(replace(each, low=np.nan, high=np.nan, note=reason or each.note))
            continue
        root = math.sqrt(min(1.0, count / float(np.sum(weights))))
        lower, upper, deviation = _distances(axis, records)
        held = records > 0
        mean, numbers = float(axis.numbers[held] @ records[held]) / count, axis.numbers[held]
        beyond = 0.0
        for part, distance, end in ((one.below, lower, numbers.min()), (one.above, upper, numbers.max())):
            beyond += min(root * part, count) * distance * (distance + 2 * abs(float(end) - mean))
        moved = min(root * one.moved, count) + float(rows.less[place] + rows.more[place])
        change = 2 * moved * deviation**2 / count
        low, high = max(0.0, each.low - change), each.high + change + beyond / count
        wider.append(replace(each, low=low, high=high))
    return wider


def _to_ends_of_bins(axis: Axis, found: Estimate) -> Estimate:
    """A quantile with its interval up to the ends of the bins in which it ends.

    Bins that a first step chose may be wide, and nothing was counted inside of them.
    """
    if not isinstance(axis, NumberAxis) or np.isnan(found.low):
        return found
    reach = axis.bins.reach
    first = max(0, int(np.searchsorted(reach[:, 0], found.low, side="right")) - 1)
    last = min(len(reach) - 1, int(np.searchsorted(reach[:, 1], found.high)))
    low, high = min(found.low, float(reach[first, 0])), max(found.high, float(reach[last, 1]))
    return replace(found, low=low, high=high)


def _distances(axis: Axis, records: Array) -> tuple[float, float, float]:
    """How far values beyond the lower and the upper bound lie from it, and the standard deviation."""
    held = np.flatnonzero(records > 0)
    numbers, weights = axis.numbers[held], records[held] / records.sum()
    mean = float(numbers @ weights)
    deviation = math.sqrt(float(((numbers - mean) ** 2 + axis.variances[held]) @ weights))
    if isinstance(axis, LabelAxis):
        span = float(np.nanmax(axis.numbers) - np.nanmin(axis.numbers))
        return span, span, deviation
    order = np.argsort(numbers, kind="stable")
    sums = np.cumsum(weights[order])
    low = float(numbers[order][min(int(np.searchsorted(sums, OUTER)), len(order) - 1)])
    high = float(numbers[order][min(int(np.searchsorted(sums, 1 - OUTER)), len(order) - 1)])
    if isinstance(axis, NumberAxis):
        return *distances(axis.bins, deviation, low, high), deviation
    least, most = float(numbers.min()), float(numbers.max())
    return max(deviation, low - least), max(deviation, most - high), deviation


def _usual(axis: Axis, one: Unseen) -> float:
    at = np.flatnonzero((axis.codes == one.usual) & ~axis.no_number)
    return float(axis.numbers[at].mean()) if len(at) else 0.0


def _bounds(axis: Axis) -> str:
    if not isinstance(axis, NumberAxis):
        return "its values"
    low, high = map(axis.value_at, axis.bins.ends)
    return (
        f"{low:,.6g} to {high:,.6g}" if isinstance(axis.attribute, NumericAttribute) else f"{low} to {high}"
    )


def _among(axis: Axis) -> str:
    return (
        f"no interval: the quantile may lie among the records beyond {_bounds(axis)}, between which the "
        f"release found {axis.name!r}; give bounds in a domain"
    )
