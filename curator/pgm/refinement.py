"""Synthetic rows brought closer to a model's pairs: values are changed row by row where that helps.

Rows that follow a model clique by clique (`sampling`) round every clique by itself, and what attributes of
different cliques have in common is left to chance. At large budgets that chance costs as much accuracy as
the noise does. It can be taken out, because the model's pairs are known.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...common.table import Table
from .compiled import compiled

Pair = tuple[int, int]

_SWEEPS = 3
MAX_PAIR_CELLS = 1 << 20
"""Pairs of more cells are left to chance: rows hardly ever share one of theirs."""

_ALL_CELLS = 1 << 25
"""No more cells of pairs are held at a time, 8 bytes each."""

_WORK = 1 << 33
"""A sweep looks at most at so many cells, in a few seconds; of a larger table each takes other rows."""


def refined(table: Table, pairs: Mapping[Pair, NDArray[np.float64]], rng: np.random.Generator) -> Table:
    """Change values where that brings the pairs' marginals closer to those given.

    In each of three sweeps over the rows in a random order, each value becomes the one for which the sum over
    pairs and cells of (count - wanted)^2 is least; the sum never grows. Rows keep their places.

    Args:
        table: rows that follow the marginals roughly.
        pairs: for places of two attributes in the domain, the first before the second, the wanted counts,
            shape (n_a n_b,), which add up to the number of rows.
        rng: order of the rows.
    """
    starts, over = _surplus(table, pairs)
    if not len(over):
        return table
    sizes = np.array(table.domain.sizes, dtype=np.int64)
    row_work = int((starts >= 0).sum(axis=1) @ sizes)
    at_once = min(table.record_count, max(1, _WORK // row_work))
    order = rng.permutation(table.record_count)
    columns = [column.copy() for column in table.columns]
    for sweep in range(_SWEEPS):
        rows = order.take(np.arange(sweep * at_once, (sweep + 1) * at_once), mode="wrap")
        codes = np.column_stack([column[rows].astype(np.int32) for column in columns])
        if not _sweep(codes, sizes, starts, over):
            break
        for place, column in enumerate(columns):
            column[rows] = codes[:, place]
    return Table(table.domain, tuple(columns))


def _surplus(
    table: Table, pairs: Mapping[Pair, NDArray[np.float64]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Counts less wanted counts, pair after pair, each pair twice, with the rows of either attribute.

    Returns:
        where the cells of a pair start, shape (d, d), -1 for none; and the cells.
    """
    sizes, columns = table.domain.sizes, table.columns
    starts = np.full((len(sizes), len(sizes)), -1, dtype=np.int64)
    cells: list[NDArray[np.float64]] = []
    end = 0
    for (a, b), wanted in pairs.items():
        if wanted.size > MAX_PAIR_CELLS or end + 2 * wanted.size > _ALL_CELLS:
            continue
        counts = np.bincount(columns[a].astype(np.int64) * sizes[b] + columns[b], minlength=wanted.size)
        over = (counts - wanted).reshape(sizes[a], sizes[b])
        starts[a, b], starts[b, a] = end, end + wanted.size
        cells += [over.ravel(), over.T.ravel()]
        end += 2 * wanted.size
    return starts, np.concatenate(cells) if cells else np.zeros(0)


@compiled
def _sweep(
    codes: NDArray[np.int32],
    sizes: NDArray[np.int64],
    starts: NDArray[np.int64],
    over: NDArray[np.float64],
) -> int:
    """One pass over all rows of the codes; changes them and the surplus, and returns how many values."""
    changed = 0
    sums = np.empty(sizes.max())
    for row in range(len(codes)):
        for a in range(len(sizes)):
            now = codes[row, a]
            # For each value the sum of the surpluses that a row with it is counted in.
            met = sums[: sizes[a]]
            met[:] = 0.0
            others = 0
            for b in range(len(sizes)):
                if starts[b, a] >= 0:
                    others += 1
                    at = starts[b, a] + codes[row, b] * sizes[a]
                    for value in range(sizes[a]):
                        met[value] += over[at + value]
            # Half of what another value adds to the sum of squares: its own less this one's, plus one each.
            best, least = now, met[now] - others - 1e-6
            for value in range(sizes[a]):
                if met[value] < least:
                    best, least = value, met[value]
            if best == now:
                continue
            changed += 1
            codes[row, a] = best
            for b in range(len(sizes)):
                if starts[a, b] >= 0:
                    other = codes[row, b]
                    over[starts[a, b] + now * sizes[b] + other] -= 1
                    over[starts[a, b] + best * sizes[b] + other] += 1
                    over[starts[b, a] + other * sizes[a] + now] -= 1
                    over[starts[b, a] + other * sizes[a] + best] += 1
    return changed
