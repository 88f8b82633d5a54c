"""Rows of a parent lie where values of the order are as frequent as released.

Drawn values of the order follow from those of first rows, gaps and spans, so the noise of all of these, and
what their pairs lack, adds up in them. Records have the value itself as a column that is counted and in no
pair. By quantiles, each drawn value would become that below which the same share of the released counts lies.
All rows of a parent move together by the mean of what theirs would: gaps and spans stay. So values come
nearer to the released counts and do not reach them, and are moved again, by the quantiles that they have
then. The maps are of all rows, and the same for further people.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ....common.data.related.rows import Rows
from ...analysis.release import Release
from ..kin import Kin
from .numbers import Margin, target_of

Numbers = NDArray[np.float64]
Quantiles = tuple[tuple[float, float], ...]
Bounds = tuple[Numbers | None, Numbers | None]

_KNOTS = 24
"""Most values between which a map is linear."""

_MAPS = 8
"""Most maps, one after the other."""


def quantiles_of(
    values: Numbers, weights: Numbers, edges: Numbers, mass: Numbers, low: float, high: float
) -> Quantiles:
    """Pairs of a drawn value and of what it becomes, both increasing.

    Args:
        values: drawn, shape (rows,).
        weights: of the rows, shape (rows,).
        edges: where the bins of the order begin, increasing, shape (bins,).
        mass: counts of the bins, not negative, shape (bins,).
        low: the least value, which stays.
        high: no value is as large; it stays.
    """
    if weights.sum() <= 0 or mass.sum() <= 0:
        return ((low, low), (high, high))
    below = np.cumsum(mass)[:-1] / mass.sum()
    held, place = np.unique(values, return_inverse=True)
    # The share of rows below each value, and below the end.
    shares = np.append(0.0, np.cumsum(np.bincount(place, weights)) / weights.sum())
    ends = np.append(held, high)
    found = [(low, low)]
    for one in range(1, _KNOTS if len(below) else 0):
        at = int(np.abs(below - one / _KNOTS).argmin())
        drawn, released = float(np.interp(below[at], shares, ends)), float(edges[at + 1])
        if found[-1][0] < drawn < high and found[-1][1] < released < high:
            found.append((drawn, released))
    return (*found, (high, high))


def map_to_quantiles(values: Numbers, held: Rows, table: Kin, bounds: Bounds) -> Numbers:
    """Values of the order; those of one parent move together by the mean of what quantiles move each.

    Args:
        values: drawn, multiples of the unit within the bounds, shape (rows,).
        held: the rows.
        table: of the rows.
        bounds: no row lies before the first, and none after the second; see `Steps.values`.
    """
    for quantiles in table.moves:
        values = _map(values, held, table, quantiles, bounds)
    return values


def _map(values: Numbers, held: Rows, table: Kin, quantiles: Quantiles, bounds: Bounds) -> Numbers:
    """One map; arguments as of `map_to_quantiles`."""
    if table.steps is None or not len(values):
        return values
    unit, (low, high) = table.steps.unit, table.steps.units.ends
    drawn, released = (np.array(side) for side in zip(*quantiles, strict=True))
    wanted = np.interp(values, drawn, released) - values
    starts, numbers = np.flatnonzero(held.first), held.numbers[held.numbers > 0]
    further = np.round(np.add.reduceat(wanted, starts) / numbers / unit) * unit
    ends = np.append(starts[1:], len(values)) - 1
    least, most = (
        np.full(len(starts), end) if bound is None else np.clip(bound[starts], low, high)
        for bound, end in zip(bounds, (low, high), strict=True)
    )
    # Rows that would pass a bound stay: if they went up to it, many would lie there.
    first, last = values[starts] + further, values[ends] + further
    inside = (np.minimum(least, values[starts]) <= first) & (last <= np.maximum(most, values[ends]))
    # Those who begin with their parent go on to do so.
    inside &= (bounds[0] is None) | (values[starts] > least)
    found: Numbers = values + np.repeat(np.where(inside, further, 0.0), numbers)
    return found


def with_quantiles(
    table: Kin, values: Numbers, held: Rows, bounds: Bounds, weights: Numbers, release: Release
) -> Kin:
    """A table that knows where drawn values of its order move to, as far as noise does not explain it.

    Those near to a column of the parent stay: where they are follows from that.

    Args:
        table: the table.
        values: drawn ones of its order, shape (rows,).
        held: the rows.
        bounds: see `map_to_quantiles`.
        weights: of the rows, shape (rows,).
        release: of the table's records.
    """
    evidence = release.published.evidence
    known = None if evidence is None or table.steps is None else evidence.known.get((table.steps.when.name,))
    if known is None or evidence is None or table.steps is None or table.near:
        return table
    starts = table.steps.units.cells[:, 0].astype(np.float64)
    low, high = (float(end) for end in table.steps.units.ends)
    codes = table.steps.codes_of_times(values)
    cells = known.values.ravel()[: len(starts)]
    mass = target_of(Margin(codes, cells, known.sigma**2, evidence.records, True), weights)
    maps: list[Quantiles] = []
    for _ in range(_MAPS):
        quantiles = quantiles_of(values, weights, starts, mass, low, high + table.steps.unit)
        moved = _map(values, held, table, quantiles, bounds)
        if np.array_equal(moved, values):
            break
        maps.append(quantiles)
        values = moved
    return replace(table, moves=tuple(maps))
