"""The memory layout of a junction tree's cliques for the kernels, computed once.

The axes of a clique are cut into four parts: batch, outer part, middle part and run, so that each of its
factors (potentials and neighbours' messages) has no axis in at least one of the last three. Factors without
run axes are multiplied into one table S, those without middle axes into a table B, the others into a table E,
and the clique is

    belief[z, o, m, i] = S[z, o, m] B[z, o, i] E[z, m, i].

Its sums to each of the tables are then matrix products, S * (B E'), B * (S E) and E * (S' B) for each z. So
inputs and results are tables, which are much smaller than the clique. If no such cut is good, the middle part
is empty and B is as large as the clique. The separator has no axis in the run.

If that would be slow, as between large neighbours, the whole table of the clique is stored, row by row, and
built in stages (see `stages`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ..structure.junction_tree import JunctionTree
from .cuts import Cut, table_of, timed_cut
from .stages import FASTEST, Stage, stage_table

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
    "separator separator_cells row column "  # where its cells begin, how many, and maps to them from S
    # If the table is stored whole: rows, columns and first cell, else 0; how its rows lie in the separator;
    # cells of its smaller tables, and what is added to them.
    "rows columns whole kind stages stages_end steps steps_end"
)
SOURCE = _record(
    "cells table row column kind"  # first cell, table, maps to cells, how rows lie in them
)
STEP = _record("target rows columns cells row column kind")  # a source of a smaller table
GATHERED, CONTIGUOUS, CONSTANT = range(3)
"""How the cells of a row lie in those that they map to: anywhere, one after another, or all in one."""


class Sizes(NamedTuple):
    """Sizes of the memory that kernels need.

    Attributes:
        potentials: cells of all measured cliques.
        messages: cells of all separators; the root's has one.
        stages: cells of all smaller tables of cliques that are stored whole.
        tables: cells of the tables of all cliques.
        largest: largest number of cells of the tables of one clique that is not stored whole.
    """

    potentials: int
    messages: int
    stages: int
    tables: int
    largest: int


class Layout(NamedTuple):
    """Records of the types above, cliques in tree order, and all maps end to end."""

    cliques: Records
    sources: Records
    steps: Records
    maps: Integers


def lay_out(tree: JunctionTree, cliques: Sequence[Clique]) -> tuple[Layout, Sizes, tuple[Cut, ...]]:
    """The layout of a tree whose cliques are multiplied by potentials of smaller cliques.

    The cells of potentials are stored end to end in the given order; those of the messages over the
    separators follow, clique by clique, then those of smaller tables. A separator of one cell has no message.
    The axes of messages and whole tables are in one order, attributes of many separators last, so that rows
    of most tables lie in others.

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
    order = _order(tree)
    for place, separator in enumerate(tree.separators):
        ordered = sorted(separator, key=order.__getitem__)
        separators.append(_Source(start, _strides(ordered, tree.domain.shape(ordered))))
        if tree.domain.cells(separator) > 1:
            sources[tree.parents[place]].append(separators[-1])
        start += tree.domain.cells(separator)
    builder = _Builder(start, order)
    for place, clique in enumerate(tree.cliques):
        builder.add(clique, tree.shapes[place], sources[place], separators[place])
    return builder.build(potentials, start - potentials)


def _order(tree: JunctionTree) -> dict[str, int]:
    """The place of each attribute in the order of messages and whole tables."""
    weights = dict.fromkeys(tree.domain, 0)
    for separator in tree.separators:
        for name in separator:
            weights[name] += tree.domain.cells(separator)
    return {name: place for place, name in enumerate(sorted(tree.domain, key=weights.__getitem__))}


class _Source(NamedTuple):
    """A factor of a clique: offset of its first cell, and strides along its attributes."""

    cells: int
    strides: dict[str, int]


def _strides(names: Sequence[str], shape: Sequence[int]) -> dict[str, int]:
    """Strides of each attribute of a row-major table."""
    strides, stride = {}, 1
    for name, size in zip(reversed(names), reversed(shape), strict=True):
        strides[name] = stride
        stride *= size
    return strides


class _Builder:
    """Records and maps, clique after clique.

    Args:
        start: where the cells of smaller tables begin.
        order: of attributes in whole tables.
    """

    def __init__(self, start: int, order: Mapping[str, int]) -> None:
        self._start = self._end = start
        self._order = order
        self._cliques: list[tuple[int, ...]] = []
        self._sources: list[tuple[int, ...]] = []
        self._steps: list[tuple[int, ...]] = []
        self._cuts: list[Cut] = []
        self._maps: list[Integers] = []
        self._mapped = self._tables = self._largest = 0
        self._places: dict[tuple[tuple[int, int], ...], int] = {}

    def add(
        self, clique: Clique, shape: Sequence[int], sources: Sequence[_Source], separator: _Source
    ) -> None:
        """Add a clique, stored whole if that is faster."""
        axes = {name: axis for axis, name in enumerate(clique)}
        touched = [frozenset(axes[name] for name in s.strides) for s in (*sources, separator)]
        time, found = timed_cut(shape, touched[:-1], touched[-1])
        sizes = dict(zip(clique, shape, strict=True))
        if time > math.prod(shape) * FASTEST:
            ordered = tuple(sorted(clique, key=self._order.__getitem__))
            axes = {name: axis for axis, name in enumerate(ordered)}
            touched = [frozenset(axes[name] for name in s.strides) for s in (*sources, separator)]
            whole_time, stage = stage_table([sizes[name] for name in ordered], touched[:-1], touched[-1])
            if whole_time < time:
                self._add_whole(ordered, sizes, stage, sources, separator)
                self._cuts.append(Cut((), (), (), tuple(clique.index(name) for name in ordered)))
                return
        self._add_cut([tuple(clique[axis] for axis in part) for part in found], sizes, sources, separator)
        self._cuts.append(found)

    def _add_cut(
        self,
        parts: Sequence[tuple[str, ...]],
        sizes: Mapping[str, int],
        sources: Sequence[_Source],
        separator: _Source,
    ) -> None:
        """Add a clique as a product of three tables."""
        part_of = {name: number for number, part in enumerate(parts) for name in part}
        batch, outer, middle, run = parts
        sides = (((*batch, *outer), middle), ((*batch, *outer), run), ((*batch, *middle), run))
        begun = len(self._sources)
        for source in sources:
            table = table_of({part_of[name] for name in source.strides})
            self._sources.append((source.cells, table, *self._source_maps(sizes, *sides[table], source)))
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
                *self._source_maps(sizes, *sides[0], separator)[:2],
                *([0] * 8),
            )
        )
        self._largest = max(self._largest, begins[3] - self._tables)
        self._tables = begins[3]

    def _add_whole(
        self,
        clique: Clique,
        sizes: Mapping[str, int],
        stage: Stage,
        sources: Sequence[_Source],
        separator: _Source,
    ) -> None:
        """Add a clique whose table is stored whole, axes in this order."""
        steps, stages = len(self._steps), self._end
        parts = [self._add_stage(clique, sizes, part, sources) for part in stage.parts]
        begun = len(self._sources)
        sides = clique[: len(clique) - stage.columns], clique[len(clique) - stage.columns :]
        for source in [*(sources[number] for number in stage.sources), *parts]:
            self._sources.append((source.cells, 3, *self._source_maps(sizes, *sides, source)))
        row, column, kind = self._source_maps(sizes, *sides, separator)
        rows, columns = (math.prod(sizes[name] for name in side) for side in sides)
        self._cliques.append(
            (
                *([0] * 7),
                *(begun, len(self._sources)),
                *(separator.cells, math.prod(sizes[name] for name in separator.strides)),
                *(row, column, rows, columns, self._tables, kind),
                *(stages, self._end, steps, len(self._steps)),
            )
        )
        self._tables += rows * columns

    def _add_stage(
        self, clique: Clique, sizes: Mapping[str, int], stage: Stage, sources: Sequence[_Source]
    ) -> _Source:
        """Add the steps of a smaller table after those of its parts."""
        parts = [self._add_stage(clique, sizes, part, sources) for part in stage.parts]
        names = [clique[axis] for axis in stage.axes]
        made = _Source(self._end, _strides(names, [sizes[name] for name in names]))
        self._end += math.prod(sizes[name] for name in names)
        sides = names[: len(names) - stage.columns], names[len(names) - stage.columns :]
        rows, columns = (math.prod(sizes[name] for name in side) for side in sides)
        for source in [*(sources[number] for number in stage.sources), *parts]:
            placed = self._source_maps(sizes, *sides, source)
            self._steps.append((made.cells, rows, columns, source.cells, *placed))
        return made

    def _source_maps(
        self, sizes: Mapping[str, int], rows: Sequence[str], columns: Sequence[str], source: _Source
    ) -> tuple[int, int, int]:
        """The maps to a source from the rows and columns of a table, and how rows lie in it."""
        strides = [source.strides.get(name, 0) for name in columns]
        kind = GATHERED
        if strides == list(_strides(columns, [sizes[name] for name in columns]).values())[::-1]:
            kind = CONTIGUOUS
        elif not any(strides):
            kind = CONSTANT
        return self._map(sizes, rows, source.strides), self._map(sizes, columns, source.strides), kind

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

    def build(self, potentials: int, messages: int) -> tuple[Layout, Sizes, tuple[Cut, ...]]:
        layout = Layout(
            np.array(self._cliques, dtype=CLIQUE),
            np.array(self._sources, dtype=SOURCE),
            np.array(self._steps, dtype=STEP),
            np.concatenate(self._maps),
        )
        sizes = Sizes(potentials, messages, self._end - self._start, self._tables, self._largest)
        return layout, sizes, tuple(self._cuts)
