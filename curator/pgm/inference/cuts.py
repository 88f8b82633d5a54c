"""How to cut the axes of a clique, by the estimated time of one evaluation (see `layout`)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

_ONE_RUN_CELLS = 128
"""Cliques of at most this many cells are one run."""

# Measured times in nanoseconds: of a multiplication in a matrix product, a cell of a table, a cell gathered
# from a source and scattered to it, and the start of a row.
_PRODUCT_NS, _CELL_NS, _MEMBER_NS, _ROW_NS = 0.35, 2.0, 3.0, 20.0


class Cut(NamedTuple):
    """The axes of a clique in four parts."""

    batch: tuple[int, ...]
    outer: tuple[int, ...]
    middle: tuple[int, ...]
    run: tuple[int, ...]


def cut(shape: Sequence[int], sources: Sequence[frozenset[int]], separator: frozenset[int]) -> Cut:
    """Find a fast cut; each source has no axis in at least one of outer part, middle part and run.

    The run holds no axis of the separator. Local search: one axis at a time is moved to another part. It
    starts from every choice of one axis or none for the run and for the middle part, with the others in the
    outer part or in the batch. Axes of one value go to the batch.

    Args:
        shape: of the clique.
        sources: axes of its factors.
        separator: axes shared with the parent; not all.
    """
    return timed_cut(shape, sources, separator)[1]


def timed_cut(
    shape: Sequence[int], sources: Sequence[frozenset[int]], separator: frozenset[int]
) -> tuple[float, Cut]:
    """The same cut and its estimated time in nanoseconds, 0 for small cliques."""
    everything = range(len(shape))
    if math.prod(shape) <= _ONE_RUN_CELLS:
        rest = tuple(axis for axis in everything if axis not in separator)
        return 0.0, Cut((), tuple(sorted(separator)), (), rest)
    axes = [axis for axis in everything if shape[axis] > 1]
    sizes = [shape[axis] for axis in axes]
    touched = [
        frozenset(n for n, axis in enumerate(axes) if axis in found) for found in (*sources, separator)
    ]
    clique = _Clique(sizes, touched[:-1], touched[-1])
    begun = sorted((clique.time(parts), parts) for parts in _beginnings(len(sizes)))
    time, best = min(_descend(*start, clique) for start in begun[:3])
    part_of = dict(zip(axes, best, strict=True))
    parts = (tuple(axis for axis in everything if part_of.get(axis, 0) == part) for part in range(4))
    return time, Cut(*parts)


def table_of(touched: Set[int]) -> int:
    """The table for a source with axes in these parts: 0 outer x middle, 1 outer x run, 2 middle x run."""
    if 3 not in touched:
        return 0
    return 2 if 2 in touched else 1


def _beginnings(count: int) -> Iterator[tuple[int, ...]]:
    for run, middle, others in itertools.product(range(count), range(-1, count), (0, 1)):
        if run != middle and (middle >= 0 or others == 1):
            yield tuple(3 if axis == run else 2 if axis == middle else others for axis in range(count))


def _descend(time: float, parts: tuple[int, ...], clique: _Clique) -> tuple[float, tuple[int, ...]]:
    while True:
        moved = (
            (*parts[:axis], part, *parts[axis + 1 :])
            for axis, part in itertools.product(range(len(parts)), range(4))
        )
        best = min((clique.time(other), other) for other in moved)
        if best[0] >= time:
            return time, parts
        time, parts = best


class _Clique(NamedTuple):
    """The clique to be cut."""

    shape: Sequence[int]
    sources: Sequence[frozenset[int]]
    separator: frozenset[int]

    def time(self, parts: tuple[int, ...]) -> float:
        """Nanoseconds, given the part of each axis; infinite if the cut is not allowed."""
        cells = [1, 1, 1, 1]
        for part, size in zip(parts, self.shape, strict=True):
            cells[part] *= size
        if any(parts[axis] == 3 for axis in self.separator):
            return math.inf
        members = [1, 0, 0]
        for source in self.sources:
            touched = {parts[axis] for axis in source}
            if {1, 2, 3} <= touched:
                return math.inf
            members[table_of(touched)] += 1
        batch, outer, middle, run = cells
        # The kernels process eight cells at a time, and four rows.
        time = batch * outer * (middle + 4) * (run + 8) * _PRODUCT_NS
        rows, columns = (
            (batch * outer, batch * outer, batch * middle),
            (middle, run, run if middle > 1 else 0),
        )
        for count, row, column in zip(members, rows, columns, strict=True):
            time += row * (count + 1) * (_ROW_NS if column else 0.0) + row * column * (
                _CELL_NS + count * _MEMBER_NS
            )
        return time
