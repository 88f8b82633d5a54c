"""Sweeps over rows: one attribute after the other, each row takes the value that serves the marginals best.

While an attribute has its turn, its marginals stand beside each other with its values contiguous, small
enough for the processor's cache. Outside its turn each marginal is stored once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....common.data.grouping import Grouping
from ....common.data.table import code_dtype
from ..compiled import compiled

Codes = NDArray[np.int32]
Indices = NDArray[np.int64]
Surplus = NDArray[np.float32]

ROW_PARTS = 4
"""Number of parts of the rows in a sweep: each attribute has a turn for every part. With one part for many
rows, the first attributes alone would make good what all should."""

_LANES = 8
"""Lines of values are padded to a multiple of this, which the processor adds up at once."""


class Columns(NamedTuple):
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
    def of(cls, sizes: Sequence[int], keys: Sequence[tuple[int, Grouping]]) -> Columns:
        """The columns for these groupings of attributes, which are sorted."""
        owners = np.array([place for place, _ in keys], dtype=np.int64)
        ends = np.cumsum([0, *(len(labels) for _, labels in keys)])[:-1]
        return cls(
            (*sizes, *(max(labels) + 1 for _, labels in keys)),
            tuple(keys),
            np.searchsorted(owners, np.arange(len(sizes) + 1)).astype(np.int64),
            np.concatenate([np.full(len(sizes), -1), ends]).astype(np.int64),
            np.array([label for _, labels in keys for label in labels], dtype=np.int64),
        )

    @property
    def attributes(self) -> int:
        """The number of attributes."""
        return len(self.mapped) - 1

    def of_codes(self, codes: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """The columns of codes, then those of groups."""
        maps = ((place, np.array(labels, dtype=code_dtype(max(labels) + 1))) for place, labels in self.keys)
        return [*codes, *(labels[codes[place]] for place, labels in maps)]

    def column(self, place: int, labels: Grouping) -> int:
        """The column of an attribute's codes or groups."""
        return self.attributes + self.keys.index((place, labels)) if labels else place

    def owner(self, column: int) -> int:
        """The attribute of a column."""
        return column if column < self.attributes else self.keys[column - self.attributes][0]


class Marginal(NamedTuple):
    """A marginal of columns.

    Attributes:
        columns: the columns, of different attributes.
        over: shape of the columns: counts minus wanted counts.
        weight: of its squares beside those of others.
    """

    columns: tuple[int, ...]
    over: Surplus
    weight: float = 1.0


def sweep(codes: Codes, columns: Columns, marginals: Sequence[Marginal]) -> int:
    """One sweep over all rows: changes codes and surplus, and returns the number of changes.

    Every value is set to the one with the least sum over marginals and cells of the weighted squared surplus;
    the sum never increases.

    Args:
        codes: shape (rows, columns), C-contiguous; columns of groups fit those of codes.
        columns: the columns.
        marginals: the marginals, whose surplus is that of all rows, those outside `codes` included.
    """
    turns = _turns(columns, marginals)
    lines = np.zeros(max(turn.cells for turn in turns), dtype=np.float32)
    views = [[*turn.views(lines, marginals)] for turn in turns]
    changed = 0
    for first, last in itertools.pairwise(np.linspace(0, len(codes), ROW_PARTS + 1).astype(int).tolist()):
        for turn, both in zip(turns, views, strict=True):
            for mine, home in both:
                mine[...] = home
            met = np.empty(turn.padded, dtype=np.float32)
            changed += _choose(codes[first:last], turn.place, turn.size, turn.layout, columns[2:], lines, met)
            for mine, home in both:
                home[...] = mine
    return changed


def _turns(columns: Columns, marginals: Sequence[Marginal]) -> list[_Turn]:
    """The turn of each attribute."""
    owners = [columns.owner(column) for column in range(len(columns.sizes))]
    held: list[list[tuple[int, int]]] = [[] for _ in range(columns.attributes)]
    for number, marginal in enumerate(marginals):
        for axis, column in enumerate(marginal.columns):
            held[owners[column]].append((number, axis))
    return [_Turn.of(place, tuple(of), columns, marginals) for place, of in enumerate(held)]


class _Layout(NamedTuple):
    """Where the cells of a row are, in each of the marginals of an attribute.

    Attributes:
        own: shape (views,): the attribute's column of codes or groups in it.
        start: shape (views,): its first cell.
        depth: shape (views,): its number of other columns.
        others: shape (views, k): its other columns.
        strides: shape (views, k): of these.
        weight: shape (views,): of its squares.
    """

    own: Indices
    start: Indices
    depth: Indices
    others: Indices
    strides: Indices
    weight: Surplus


class _Turn(NamedTuple):
    """An attribute whose marginals stand beside each other.

    Attributes:
        place: the attribute.
        size: number of its codes.
        padded: length of a line of its codes.
        cells: number of all cells with their padding.
        held: number of each marginal, and the axis of the attribute in it.
        layout: of the cells.
    """

    place: int
    size: int
    padded: int
    cells: int
    held: tuple[tuple[int, int], ...]
    layout: _Layout

    @classmethod
    def of(
        cls,
        place: int,
        held: tuple[tuple[int, int], ...],
        columns: Columns,
        marginals: Sequence[Marginal],
    ) -> _Turn:
        """The turn of an attribute whose marginals are `held`."""
        most = max((len(marginals[number].columns) for number, _ in held), default=2) - 1
        others, strides = (np.zeros((len(held), most), dtype=np.int64) for _ in range(2))
        own, start, depth = (np.zeros(len(held), dtype=np.int64) for _ in range(3))
        end = 0
        for view, (number, axis) in enumerate(held):
            named = marginals[number].columns
            own[view], start[view], depth[view] = named[axis], end, len(named) - 1
            stride = _pad_to_lanes(columns.sizes[named[axis]])
            for k, column in enumerate(reversed([column for column in named if column != named[axis]])):
                others[view, k], strides[view, k] = column, stride
                stride *= columns.sizes[column]
            end += stride
        size = columns.sizes[place]
        weight = np.array([marginals[number].weight for number, _ in held], dtype=np.float32)
        layout = _Layout(own, start, depth, others, strides, weight)
        return cls(place, size, _pad_to_lanes(size), end, held, layout)

    def views(self, lines: Surplus, marginals: Sequence[Marginal]) -> Iterator[tuple[Surplus, Surplus]]:
        """Each marginal as it stands in the lines and at home, the attribute's axis last."""
        for (number, axis), start in zip(self.held, self.layout.start.tolist(), strict=True):
            over = marginals[number].over
            # What `moveaxis` gives, at a quarter of its time: in small releases there are thousands of views.
            home = over.transpose(*(other for other in range(over.ndim) if other != axis), axis)
            shape = (*home.shape[:-1], _pad_to_lanes(home.shape[-1]))
            yield lines[start : start + math.prod(shape)].reshape(shape)[..., : home.shape[-1]], home


def _pad_to_lanes(size: int) -> int:
    return -(-size // _LANES) * _LANES


@compiled
def _choose(
    codes: Codes,
    place: int,
    size: int,
    layout: _Layout,
    groups: tuple[Indices, Indices, Indices],
    lines: Surplus,
    met: Surplus,
) -> int:
    """Sets an attribute of each row to its best value, and updates lines; returns the number of changes."""
    own, start, depth, others, strides, weights = layout
    mapped, starts, labels = groups
    attributes = len(mapped) - 1
    one = np.float32(1.0)
    at = np.empty(len(own), dtype=np.int64)
    changed = 0
    for row in range(len(codes)):
        now = codes[row, place]
        # For each value half the change of the sum of squares by one more row with it, where this row counts
        # no longer: the sum of the surpluses of the cells in which such a row counts.
        met[:] = np.float32(0.0)
        plain = np.float32(0.0)
        for view in range(len(own)):
            line, weight = start[view], weights[view]
            for k in range(depth[view]):
                line += strides[view, k] * codes[row, others[view, k]]
            at[view] = line
            labelled = starts[own[view]]
            if labelled < 0:
                plain += weight
                # A slice, because an index that might be negative keeps the loop from being vectorised.
                cells = lines[line : line + len(met)]
                for value in range(len(met)):
                    met[value] += weight * cells[value]
            else:
                same = line + labels[labelled + now]
                lines[same] -= one
                for value in range(size):
                    met[value] += weight * lines[line + labels[labelled + value]]
                lines[same] += one
        best, least = now, met[now] - plain - np.float32(1e-6)
        for value in range(size):
            if met[value] < least:
                best, least = value, met[value]
        if best == now:
            continue
        changed += 1
        for view in range(len(own)):
            labelled = starts[own[view]]
            before, after = now, best
            if labelled >= 0:
                before, after = labels[labelled + now], labels[labelled + best]
            lines[at[view] + before] -= one
            lines[at[view] + after] += one
        codes[row, place] = best
        for group in range(mapped[place], mapped[place + 1]):
            column = attributes + group
            codes[row, column] = labels[starts[column] + best]
    return changed
