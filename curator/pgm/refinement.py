"""Synthetic rows adjusted to a model's marginals: values are changed row by row where that helps.

Rows that are drawn clique by clique (`sampling`) round every clique separately, and the joint distribution of
attributes of different cliques has sampling error. At large budgets this error is as large as that of the
noise. It can be removed, because the model's marginals are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.data.table import Table
from .compiled import compiled

Places = tuple[int, ...]
Indices = NDArray[np.int64]

_SWEEPS = 3

_TOO_MANY = 1e12
"""Surplus of an excluded cell: more than any counts, and few enough that counts are exact beside it."""

MAX_CELLS = 1 << 20
"""Rows are not adjusted to larger marginals, in whose cells there is rarely more than one row."""

_ALL_CELLS = 1 << 25
"""Largest number of cells in memory, 8 bytes each; every marginal is stored once for each attribute."""

MAX_LARGER_CELLS = _ALL_CELLS // 2
"""Largest number of them for marginals of three and more attributes, so that there is room for pairs."""

_WORK = 1 << 33
"""Largest number of cells that a sweep reads, in a few seconds; in a larger table each takes other rows."""


def refined(
    table: Table,
    marginals: Mapping[Places, NDArray[np.float64]],
    rng: np.random.Generator,
    masks: Mapping[Places, NDArray[np.bool_]] | None = None,
) -> Table:
    """Change values where that brings the table's marginals closer to the given ones.

    In each of three sweeps over the rows in random order, each value is set to the one with the least sum
    over marginals and cells of (count - wanted)^2; the sum never increases. The order of rows is kept.

    Args:
        table: rows that approximate the marginals.
        marginals: for the positions of two or more attributes in the domain, in order, the wanted counts,
            shape (n_r,), which add up to the number of rows. If not all fit into memory, the first are used.
        rng: source of the order of the rows.
        masks: for some of these marginals the cells that rows may have; no value is changed to another one.
    """
    views, over = _surplus(table, marginals, masks or {})
    if not len(over):
        return table
    sizes = np.array(table.domain.sizes, dtype=np.int64)
    row_work = int(np.diff(views.first) @ sizes)
    at_once = min(table.record_count, max(1, _WORK // row_work))
    order = rng.permutation(table.record_count)
    columns = [column.copy() for column in table.columns]
    for sweep in range(_SWEEPS):
        rows = order.take(np.arange(sweep * at_once, (sweep + 1) * at_once), mode="wrap")
        codes = np.column_stack([column[rows].astype(np.int32) for column in columns])
        if not _sweep(codes, sizes, views, over):
            break
        for place, column in enumerate(columns):
            column[rows] = codes[:, place]
    return Table(table.domain, tuple(columns))


class _Views(NamedTuple):
    """The layout of cells: each marginal once for each of its attributes, whose values are contiguous.

    Attributes:
        first: shape (d + 1,): first view of each attribute.
        owner: shape (views,): the attribute.
        start: shape (views,): its first cell.
        others: shape (views, k): the marginal's other attributes.
        strides: shape (views, k): of the other attributes.
        alike: shape (views, k + 1): the views of the same marginal; -1 for none.
    """

    first: Indices
    owner: Indices
    start: Indices
    others: Indices
    strides: Indices
    alike: Indices


def _surplus(
    table: Table,
    marginals: Mapping[Places, NDArray[np.float64]],
    masks: Mapping[Places, NDArray[np.bool_]],
) -> tuple[_Views, NDArray[np.float64]]:
    """The views, and counts minus wanted counts; an excluded cell has too many rows already."""
    sizes = table.domain.sizes
    found: list[tuple[int, int, Places]] = []
    cells: list[NDArray[np.float64]] = []
    end = 0
    names = table.domain.names
    held: dict[Places, NDArray[np.float64]] = {}
    for places, wanted in marginals.items():
        if wanted.size <= MAX_CELLS and end + len(places) * wanted.size <= _ALL_CELLS:
            held[places] = wanted
            end += len(places) * wanted.size
    end = 0
    counted = table.marginals(tuple(names[place] for place in places) for places in held)
    for (places, wanted), counts in zip(held.items(), counted, strict=True):
        shape = [sizes[place] for place in places]
        over = (counts - wanted).reshape(shape)
        if places in masks:
            over[~masks[places]] += _TOO_MANY
        for axis, place in enumerate(places):
            found.append((place, end, places))
            cells.append(np.moveaxis(over, axis, -1).ravel())
            end += over.size
    return _views(found, sizes), np.concatenate(cells) if cells else np.zeros(0)


def _views(found: list[tuple[int, int, Places]], sizes: tuple[int, ...]) -> _Views:
    """The views, given attribute, first cell and marginal of each."""
    found = sorted(found)
    most = max((len(places) for _, _, places in found), default=1)
    others, strides = (np.zeros((len(found), most - 1), dtype=np.int64) for _ in range(2))
    alike = np.full((len(found), most), -1, dtype=np.int64)
    numbers = {(places, owner): view for view, (owner, _, places) in enumerate(found)}
    for view, (owner, _, places) in enumerate(found):
        stride = sizes[owner]
        for k, place in enumerate(reversed([place for place in places if place != owner])):
            others[view, k], strides[view, k] = place, stride
            stride *= sizes[place]
        alike[view, : len(places)] = [numbers[places, place] for place in places]
    owners = np.array([owner for owner, _, _ in found], dtype=np.int64)
    first = np.searchsorted(owners, np.arange(len(sizes) + 1)).astype(np.int64)
    starts = np.array([start for _, start, _ in found], dtype=np.int64)
    return _Views(first, owners, starts, others, strides, alike)


@compiled
def _sweep(
    codes: NDArray[np.int32], sizes: NDArray[np.int64], views: _Views, over: NDArray[np.float64]
) -> int:
    """One pass over all rows of the codes; changes codes and surplus, and returns the number of changes."""
    first, owner, start, others, strides, alike = views
    changed = 0
    sums = np.empty(sizes.max())
    for row in range(len(codes)):
        for a in range(len(sizes)):
            now = codes[row, a]
            # For each value the sum of the surpluses of the cells in which a row with it counts.
            met = sums[: sizes[a]]
            met[:] = 0.0
            for view in range(first[a], first[a + 1]):
                at = start[view]
                for k in range(others.shape[1]):
                    at += strides[view, k] * codes[row, others[view, k]]
                for value in range(sizes[a]):
                    met[value] += over[at + value]
            # Half the change of the sum of squares by another value: its surplus less this one's, plus one
            # each.
            best, least = now, met[now] - (first[a + 1] - first[a]) - 1e-6
            for value in range(sizes[a]):
                if met[value] < least:
                    best, least = value, met[value]
            if best == now:
                continue
            changed += 1
            for more in (-1.0, 1.0):
                codes[row, a] = now if more < 0 else best
                for view in range(first[a], first[a + 1]):
                    for k in range(alike.shape[1]):
                        same = alike[view, k]
                        if same >= 0:
                            at = start[same] + codes[row, owner[same]]
                            for other in range(others.shape[1]):
                                at += strides[same, other] * codes[row, others[same, other]]
                            over[at] += more
    return changed
