"""The memory layout of a junction tree's cliques for the kernels, computed once.

The axes of a clique are cut into four parts: batch, outer part, middle part and run, so that each of its
factors (potentials and neighbours' messages) has no axis in at least one of the last three. Factors without
run axes are multiplied into one table S, those without middle axes into a table B, the others into a table E,
and the clique is

    belief[z, o, m, i] = S[z, o, m] B[z, o, i] E[z, m, i].

Its sums to each of the tables are then matrix products, S * (B E'), B * (S E) and E * (S' B) for each z. So
inputs and results are tables, which are much smaller than the clique. If no such cut is good, the middle part
is empty and B is as large as the clique. The separator has no axis in the run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique
from .cuts import Cut, cut, table_of
from .junction_tree import JunctionTree

Records = NDArray[Any]
Integers = NDArray[np.int64]


def _record(names: str) -> np.dtype[Any]:
    return np.dtype([(name, np.int64) for name in names.split()])


# A map is an array of offsets into other cells, stored in `Layout.maps` from the given index. The offset of a
# cell of a table is that of its row plus that of its column.
CLIQUE = _record(
    "batch outer middle run "  # cells of the parts
    "scales wide narrow "  # where the tables S, B and E begin
    "sources sources_end "  # what multiplies it
    "separator separator_cells row column"  # where its cells begin, how many, and maps to them from S
)
SOURCE = _record(
    "cells table row column straight"  # first cell, table, maps to cells, whether rows are contiguous
)


class Sizes(NamedTuple):
    """Sizes of the memory that kernels need.

    Attributes:
        potentials: cells of all measured cliques.
        messages: cells of all separators; the root's has one.
        tables: cells of the tables of all cliques.
        largest: largest number of cells of the tables of one clique.
    """

    potentials: int
    messages: int
    tables: int
    largest: int


class Layout(NamedTuple):
    """Records of the types above, cliques in tree order, and all maps end to end."""

    cliques: Records
    sources: Records
    maps: Integers


def lay_out(tree: JunctionTree, cliques: Sequence[Clique]) -> tuple[Layout, Sizes, tuple[Cut, ...]]:
    """The layout of a tree whose cliques are multiplied by potentials of smaller cliques.

    The cells of potentials are stored end to end in the given order; those of the messages over the
    separators follow, clique by clique. A separator of one cell has no message.

    Args:
        tree: contains each of the cliques in one of its own.
        cliques: distinct, each in domain order.

    Returns:
        the layout, the sizes of its tables, and the cut of each clique of the tree.

    Raises:
        ValueError: a clique lies in none of the tree's.
    """
    sources: list[list[_Source]] = [[] for _ in tree.cliques]
    start = 0
    for clique in cliques:
        home = tree.home(clique)
        if home is None:
            raise ValueError(f"the clique {clique} lies in no clique of the tree")
        sources[home].append(_Source(start, _strides(clique, tree.domain.shape(clique))))
        start += tree.domain.cells(clique)
    potentials, separators = start, []
    for place, separator in enumerate(tree.separators):
        separators.append(_Source(start, _strides(separator, tree.domain.shape(separator))))
        if tree.domain.cells(separator) > 1:
            sources[tree.parents[place]].append(separators[-1])
        start += tree.domain.cells(separator)
    builder = _Builder(potentials)
    for place, clique in enumerate(tree.cliques):
        builder.add(clique, tree.shapes[place], sources[place], separators[place])
    return builder.built(start - potentials)


class _Source(NamedTuple):
    """A factor of a clique: offset of its first cell, and strides along its attributes."""

    cells: int
    strides: dict[str, int]


def _strides(names: Clique, shape: Sequence[int]) -> dict[str, int]:
    """Strides of each attribute of a row-major table."""
    strides, stride = {}, 1
    for name, size in zip(reversed(names), reversed(shape), strict=True):
        strides[name] = stride
        stride *= size
    return strides


class _Builder:
    """Records and maps, clique after clique."""

    def __init__(self, potentials: int) -> None:
        self._potentials = potentials
        self._cliques: list[tuple[int, ...]] = []
        self._sources: list[tuple[int, ...]] = []
        self._cuts: list[Cut] = []
        self._maps: list[Integers] = []
        self._mapped = self._tables = self._largest = 0
        self._places: dict[tuple[tuple[int, int], ...], int] = {}

    def add(
        self, clique: Clique, shape: Sequence[int], sources: Sequence[_Source], separator: _Source
    ) -> None:
        """Add a clique."""
        sizes = dict(zip(clique, shape, strict=True))
        axes = {name: axis for axis, name in enumerate(clique)}
        touched = [frozenset(axes[name] for name in s.strides) for s in (*sources, separator)]
        found = cut(shape, touched[:-1], touched[-1])
        parts = [tuple(clique[axis] for axis in part) for part in found]
        part_of = {name: number for number, part in enumerate(parts) for name in part}
        batch, outer, middle, run = parts
        sides = (((*batch, *outer), middle), ((*batch, *outer), run), ((*batch, *middle), run))

        def placed(source: _Source) -> tuple[int, int, int]:
            table = table_of({part_of[name] for name in source.strides})
            row, column = (self._map(sizes, side, source.strides) for side in sides[table])
            return table, row, column

        begun = len(self._sources)
        for source in sources:
            table, row, column = placed(source)
            along = sides[table][1]
            straight = [source.strides.get(name, 0) for name in along] == list(
                _strides(along, [sizes[name] for name in along]).values()
            )[::-1]
            self._sources.append((source.cells, table, row, column, int(straight)))
        lengths = [math.prod(sizes[name] for name in part) for part in parts]
        begins = [self._tables]
        for rows, columns in sides:
            begins.append(begins[-1] + math.prod(sizes[name] for name in (*rows, *columns)))
        if not middle:
            begins[3] = begins[2]
        self._cliques.append(
            (
                *lengths,
                *begins[:3],
                *(begun, len(self._sources)),
                *(separator.cells, math.prod(sizes[name] for name in separator.strides)),
                *placed(separator)[1:],
            )
        )
        self._cuts.append(found)
        self._largest = max(self._largest, begins[3] - self._tables)
        self._tables = begins[3]

    def _map(self, sizes: Mapping[str, int], names: Sequence[str], strides: Mapping[str, int]) -> int:
        """The index of the map from the cells of some attributes, row-major."""
        axes = tuple((sizes[name], strides.get(name, 0)) for name in names)
        if axes not in self._places:
            offsets = np.zeros(1, dtype=np.int64)
            for size, stride in axes:
                offsets = (offsets[:, None] + stride * np.arange(size)).ravel()
            self._places[axes] = self._mapped
            self._maps.append(offsets)
            self._mapped += len(offsets)
        return self._places[axes]

    def built(self, messages: int) -> tuple[Layout, Sizes, tuple[Cut, ...]]:
        layout = Layout(
            np.array(self._cliques, dtype=CLIQUE),
            np.array(self._sources, dtype=SOURCE),
            np.concatenate(self._maps),
        )
        sizes = Sizes(self._potentials, messages, self._tables, self._largest)
        return layout, sizes, tuple(self._cuts)
