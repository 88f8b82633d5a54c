"""Exact counts of many pairs or triples of a large table, on all cores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ....common.data.counting import (
    CELLS_AT_ONCE,
    COUNTED_AT_ONCE,
    KEPT_COUNTS,
    Codes,
    Counts,
    Group,
    joint_codes,
    pairs_of_joints,
    two_different,
)
from ....common.data.domain import Clique
from ....common.data.table import Table
from ..compiled import compiled

_COUNTING_THREADS = 2

Places = NDArray[np.int64]


def pairs_on_cores(
    columns: Mapping[str, Codes], sizes: Mapping[str, int], pairs: Collection[Clique]
) -> dict[Clique, Counts]:
    """Exact counts of pairs; the same as `pairs_counted`, several times faster.

    Args:
        columns: for each attribute its codes, shape (N,).
        sizes: for each attribute its number of codes.
        pairs: two attributes each.
    """
    rows = len(next(iter(columns.values()))) if columns else 0
    return pairs_of_joints(partial(_joint_counts, columns, sizes), rows, sizes, pairs)


def triples_on_cores(
    columns: Mapping[str, Codes], sizes: Mapping[str, int], triples: Sequence[tuple[str, str, str]]
) -> Iterator[Counts]:
    """Exact counts of triples, in their order; arguments as of `pairs_on_cores`."""
    return _joint_counts(columns, sizes, [((one, two), (three,)) for one, two, three in triples])


def keep_pairs(table: Table, cliques: Iterable[Clique]) -> None:
    """Counts the pairs among some cliques, and leaves them in the table for those who ask for them later.

    Args:
        table: the rows.
        cliques: the attributes of each; others than pairs, and pairs without room, are left out.
    """
    pairs = [clique for clique in cliques if two_different(clique)]
    held = itertools.accumulate(map(table.domain.cells, pairs))
    room = itertools.takewhile(lambda both: both[1] <= KEPT_COUNTS, zip(pairs, held, strict=True))
    table.marginals([pair for pair, _ in room], pairs=pairs_on_cores)


def _joint_counts(
    columns: Mapping[str, Codes],
    sizes: Mapping[str, int],
    passes: Sequence[tuple[Group, ...]],
) -> Iterator[Counts]:
    """Joint tables of one group or two each, shape (cells,)."""
    groups = list(dict.fromkeys(group for both in passes for group in both))
    places = {group: place for place, group in enumerate(groups)}
    # Beside a single group stands a column of zeros.
    widths = np.array([*(math.prod(sizes[name] for name in group) for group in groups), 1], dtype=np.int64)
    first = np.array([places[both[0]] for both in passes], dtype=np.int64)
    second = np.array([places[both[1]] if len(both) == 2 else -1 for both in passes], dtype=np.int64)
    ends = np.cumsum(widths[first] * widths[second])
    start = 0
    with ThreadPoolExecutor(_COUNTING_THREADS) as threads:
        while start < len(passes):
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + CELLS_AT_ONCE, side="right")))
            starts = np.append(0, ends[start:stop] - before)
            counts = np.zeros(starts[-1], dtype=np.int64)
            for block in _blocks(columns, sizes, groups):
                running = [
                    threads.submit(
                        _add, block, first[part], second[part], widths, starts[part - start], counts
                    )
                    for part in np.array_split(np.arange(start, stop), _COUNTING_THREADS)
                    if len(part)
                ]
                for one in running:
                    one.result()
            yield from (counts[low:high] for low, high in itertools.pairwise(starts.tolist()))
            start = stop


def _blocks(
    columns: Mapping[str, Codes], sizes: Mapping[str, int], groups: Sequence[Group]
) -> Iterator[Codes]:
    """Blocks of rows: the cells of each group and a column of zeros, shape (groups + 1, rows)."""
    rows = len(next(iter(columns.values())))
    small = all(math.prod(sizes[name] for name in group) <= 2**16 for group in groups)
    dtype = np.uint16 if small else np.uint32
    for start in range(0, rows, COUNTED_AT_ONCE):
        stop = min(start + COUNTED_AT_ONCE, rows)
        block = np.zeros((len(groups) + 1, stop - start), dtype=dtype)
        for place, group in enumerate(groups):
            block[place] = joint_codes(columns, sizes, group, start, stop)
        yield block


@compiled
def _add(block: Codes, first: Places, second: Places, widths: Places, starts: Places, counts: Counts) -> None:
    """Adds the rows of a block to some joint tables.

    Args:
        block: as of `_blocks`.
        first: shape (tables,): the first group of each.
        second: shape (tables,): the second group.
        widths: number of cells of each group.
        starts: shape (tables,): where each table starts in the counts.
        counts: of all tables.
    """
    # A table of short numbers stays in the cache.
    cells = np.empty((widths[first] * widths[second]).max(), dtype=np.uint32)
    for table in range(len(first)):
        one, two, width = block[first[table]], block[second[table]], np.uint64(widths[second[table]])
        size, start = widths[first[table]] * widths[second[table]], starts[table]
        cells[:size] = np.uint32(0)
        for row in range(len(one)):
            cells[np.uint64(one[row]) * width + np.uint64(two[row])] += np.uint32(1)
        for cell in range(size):
            counts[start + cell] += cells[cell]
