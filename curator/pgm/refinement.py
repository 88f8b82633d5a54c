"""Synthetic rows adjusted to a model's marginals: values are changed row by row where that helps.

Rows that are drawn clique by clique (`sampling`) round every clique separately, and the joint distribution of
attributes of different cliques has sampling error. At large budgets this error is as large as that of the
noise. It can be removed, because the model's marginals are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.data.counting import ROWS_AT_ONCE, pairs_counted
from ...common.data.grouping import Grouping, Groups
from ...common.data.table import Table, code_dtype
from .compiled import compiled

Places = tuple[int, ...]
Indices = NDArray[np.int64]
Counts = NDArray[np.float64]

SWEEPS = 3
"""Sweeps over the rows of a release."""

_TOO_MANY = 1e12
"""Surplus of an excluded cell: more than any counts, and few enough that counts are exact beside it."""

MAX_CELLS = 1 << 20
"""Rows are not adjusted to larger marginals, in whose cells there is rarely more than one row."""

ALL_CELLS = 1 << 25
"""Largest number of cells in memory, 8 bytes each; every marginal is stored once for each attribute."""

MAX_LARGER_CELLS = ALL_CELLS // 2
"""Largest number of them for marginals of three and more attributes, so that there is room for pairs."""

WORK = 3 << 29
"""Largest number of cells that a sweep reads, in a few seconds; in a larger table each takes other rows."""

_CELLS_PER_VIEW = 12
"""To find the cells of a marginal takes as long as to read so many."""

_WEIGHT_OF_GROUPS = 0.25
"""Weight of squares of grouped counts, whose noise is larger than that of pairs."""


class Grouped(NamedTuple):
    """The wanted counts of groups of codes.

    Attributes:
        places: positions of the attributes in the domain, in order.
        groups: the grouping of each of them.
        counts: shape (n_r,), of the cells of the groups.
    """

    places: Places
    groups: Groups
    counts: Counts


def refined(
    table: Table,
    marginals: Mapping[Places, Counts],
    rng: np.random.Generator,
    masks: Mapping[Places, NDArray[np.bool_]] | None = None,
    grouped: Sequence[Grouped] = (),
    sweeps: int = SWEEPS,
) -> Table:
    """Change values where that brings the table's marginals closer to the given ones.

    In each of a few sweeps over the rows in random order, each value is set to the one with the least sum
    over marginals and cells of (count - wanted)^2, a quarter of it for groups; the sum never increases. The
    order of rows is kept.

    Args:
        table: rows that approximate the marginals.
        marginals: for the positions of two or more attributes in the domain, in order, the wanted counts,
            shape (n_r,), which add up to the number of rows. If not all fit into memory, the first are used.
        rng: source of the order of the rows.
        masks: for some of these marginals the cells that rows may have; no value is changed to another one.
        grouped: wanted counts of groups, which add up to the number of rows; they come before the others.
        sweeps: their number.
    """
    columns = [column.copy() for column in table.columns]
    sizes = np.array(table.domain.sizes, dtype=np.int64)
    maps = _Maps.of(table.domain.sizes, grouped)
    views, over = _surplus(maps.columns(columns), maps, marginals, masks or {}, grouped)
    if not len(over):
        return table
    row_work = int(np.diff(views.first) @ (sizes + _CELLS_PER_VIEW))
    at_once = min(table.record_count, max(1, WORK // row_work))
    order = rng.permutation(table.record_count)
    for sweep in range(sweeps):
        rows = order.take(np.arange(sweep * at_once, (sweep + 1) * at_once), mode="wrap")
        codes = np.column_stack(maps.columns([column[rows].astype(np.int32) for column in columns]))
        if not _sweep(codes, sizes, views, maps.starts, maps.labels, maps.mapped, over):
            break
        for place, column in enumerate(columns):
            column[rows] = codes[:, place]
    return Table(table.domain, tuple(columns))


class _Maps(NamedTuple):
    """Columns of groups, which follow those of codes.

    Attributes:
        sizes: number of codes or groups of each column.
        keys: attribute and grouping of each column of groups, sorted.
        mapped: shape (d + 1,): first column of groups of each attribute, where the columns of groups start
            at 0.
        starts: shape (columns,): where the labels of each column start; -1 for one of codes.
        labels: the groups of all codes, column by column.
    """

    sizes: tuple[int, ...]
    keys: tuple[tuple[int, Grouping], ...]
    mapped: Indices
    starts: Indices
    labels: Indices

    @classmethod
    def of(cls, sizes: Sequence[int], grouped: Sequence[Grouped]) -> _Maps:
        """The columns that these marginals need."""
        found = {key for one in grouped for key in zip(one.places, one.groups, strict=True) if key[1]}
        keys = tuple(sorted(found))
        owners = np.array([place for place, _ in keys], dtype=np.int64)
        ends = np.cumsum([0, *(len(labels) for _, labels in keys)])[:-1]
        return cls(
            (*sizes, *(max(labels) + 1 for _, labels in keys)),
            keys,
            np.searchsorted(owners, np.arange(len(sizes) + 1)).astype(np.int64),
            np.concatenate([np.full(len(sizes), -1), ends]).astype(np.int64),
            np.array([label for _, labels in keys for label in labels], dtype=np.int64),
        )

    def columns(self, codes: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """The columns of codes, then those of groups."""
        maps = ((place, np.array(labels, dtype=code_dtype(max(labels) + 1))) for place, labels in self.keys)
        return [*codes, *(labels[codes[place]] for place, labels in maps)]

    def column(self, place: int, labels: Grouping) -> int:
        """The column of an attribute's codes or groups."""
        return len(self.mapped) - 1 + self.keys.index((place, labels)) if labels else place

    def owner(self, column: int) -> int:
        """The attribute of a column."""
        codes = len(self.mapped) - 1
        return column if column < codes else self.keys[column - codes][0]


class _Views(NamedTuple):
    """The layout of cells: each marginal once for each of its attributes, whose values are contiguous.

    Attributes:
        first: shape (d + 1,): first view of each attribute.
        owner: shape (views,): the column of the attribute's codes or groups.
        start: shape (views,): its first cell.
        others: shape (views, k): the columns of the marginal's other attributes.
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
    columns: Sequence[NDArray[Any]],
    maps: _Maps,
    marginals: Mapping[Places, Counts],
    masks: Mapping[Places, NDArray[np.bool_]],
    grouped: Sequence[Grouped],
) -> tuple[_Views, Counts]:
    """The views, and counts minus wanted counts; an excluded cell has too many rows already."""
    wanted = {places: marginals[places] for places in masks if places in marginals}
    for one in grouped:
        wanted[tuple(map(maps.column, one.places, one.groups))] = one.counts
    wanted |= marginals
    found: list[tuple[int, int, int, Places]] = []
    cells: list[Counts] = []
    end = 0
    room: dict[Places, Counts] = {}
    for places, counts in wanted.items():
        if counts.size <= MAX_CELLS and end + len(places) * counts.size <= ALL_CELLS:
            room[places] = counts
            end += len(places) * counts.size
    end = 0
    counted = _counted(columns, maps.sizes, room)
    for places, counts in room.items():
        shape = [maps.sizes[place] for place in places]
        over = (counted[places] - counts).reshape(shape)
        if places in masks:
            over[~masks[places]] += _TOO_MANY
        for axis, place in enumerate(places):
            found.append((maps.owner(place), place, end, places))
            cells.append(np.moveaxis(over, axis, -1).ravel())
            end += over.size
    return _views(found, maps), np.concatenate(cells) if cells else np.zeros(0)


def _counted(
    columns: Sequence[NDArray[Any]], sizes: Sequence[int], cliques: Iterable[Places]
) -> dict[Places, NDArray[np.int64]]:
    """Counts of the cells of these columns, pairs together."""
    names = [str(place) for place in range(len(columns))]
    named = {places: tuple(names[place] for place in places) for places in cliques}
    by_name = dict(zip(names, columns, strict=True))
    pairs = [clique for clique in named.values() if len(clique) == 2]
    found = pairs_counted(by_name, dict(zip(names, sizes, strict=True)), pairs)
    for places, clique in named.items():
        if len(places) != 2:
            found[clique] = _larger_counted(
                [columns[place] for place in places], [sizes[place] for place in places]
            )
    return {places: found[clique] for places, clique in named.items()}


def _larger_counted(columns: Sequence[NDArray[Any]], shape: Sequence[int]) -> NDArray[np.int64]:
    """Counts of the cells of these columns, with temporary memory of a block of rows."""
    found = np.zeros(math.prod(shape), dtype=np.int64)
    for first in range(0, len(columns[0]), ROWS_AT_ONCE):
        block = [column[first : first + ROWS_AT_ONCE].astype(np.int64) for column in columns]
        found += np.bincount(np.ravel_multi_index(block, shape), minlength=found.size)
    return found


def _views(found: list[tuple[int, int, int, Places]], maps: _Maps) -> _Views:
    """The views, given attribute, its column, first cell and columns of the marginal of each."""
    found = sorted(found)
    most = max((len(places) for *_, places in found), default=1)
    others, strides = (np.zeros((len(found), most - 1), dtype=np.int64) for _ in range(2))
    alike = np.full((len(found), most), -1, dtype=np.int64)
    numbers = {(places, column): view for view, (_, column, _, places) in enumerate(found)}
    for view, (_, column, _, places) in enumerate(found):
        stride = maps.sizes[column]
        for k, place in enumerate(reversed([place for place in places if place != column])):
            others[view, k], strides[view, k] = place, stride
            stride *= maps.sizes[place]
        alike[view, : len(places)] = [numbers[places, place] for place in places]
    attributes = np.array([owner for owner, *_ in found], dtype=np.int64)
    first = np.searchsorted(attributes, np.arange(len(maps.mapped))).astype(np.int64)
    columns = np.array([column for _, column, _, _ in found], dtype=np.int64)
    starts = np.array([start for _, _, start, _ in found], dtype=np.int64)
    return _Views(first, columns, starts, others, strides, alike)


@compiled
def _sweep(
    codes: NDArray[np.int32],
    sizes: Indices,
    views: _Views,
    starts: Indices,
    labels: Indices,
    mapped: Indices,
    over: Counts,
) -> int:
    """One pass over all rows of the codes; changes codes and surplus, and returns the number of changes."""
    first, owner, start, others, strides, alike = views
    changed = 0
    sums = np.empty(sizes.max())
    for row in range(len(codes)):
        for a in range(len(sizes)):
            now = codes[row, a]
            # For each value half the change of the sum of squares by one more row with it, where this row
            # counts no longer: the sum of the surpluses of the cells in which such a row counts.
            met = sums[: sizes[a]]
            met[:] = 0.0
            plain = 0
            for view in range(first[a], first[a + 1]):
                at = start[view]
                for k in range(others.shape[1]):
                    at += strides[view, k] * codes[row, others[view, k]]
                groups = starts[owner[view]]
                if groups < 0:
                    plain += 1
                    # A slice, because an index that might be negative keeps the loop from being vectorised.
                    cells = over[at : at + sizes[a]]
                    for value in range(len(met)):
                        met[value] += cells[value]
                else:
                    same = labels[groups + now]
                    over[at + same] -= 1.0
                    for value in range(sizes[a]):
                        met[value] += _WEIGHT_OF_GROUPS * over[at + labels[groups + value]]
                    over[at + same] += 1.0
            best, least = now, met[now] - plain - 1e-6
            for value in range(sizes[a]):
                if met[value] < least:
                    best, least = value, met[value]
            if best == now:
                continue
            changed += 1
            for more in (-1.0, 1.0):
                value = now if more < 0 else best
                codes[row, a] = value
                for group in range(mapped[a], mapped[a + 1]):
                    column = len(sizes) + group
                    codes[row, column] = labels[starts[column] + value]
                for view in range(first[a], first[a + 1]):
                    for k in range(alike.shape[1]):
                        same = alike[view, k]
                        if same >= 0:
                            at = start[same] + codes[row, owner[same]]
                            for other in range(others.shape[1]):
                                at += strides[same, other] * codes[row, others[same, other]]
                            over[at] += more
    return changed
