"""Consistency: noisy tables agree on all common marginals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .levels import Levels, Nodes, meet, within

Array = NDArray[np.float64]

_PASSES = 5
"""Alternations between consistency and nonnegative counts; each violates the other less and less."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts of the cells of some nodes.

    Attributes:
        nodes: nodes in domain order.
        values: counts, shape (cells,), row-major.
        variance: variance of the noise of one cell.
    """

    nodes: Nodes
    values: Array
    variance: float


def consistent(levels: Levels, tables: Sequence[NoisyTable], total: float | None) -> list[NoisyTable]:
    """Tables close to the given ones that agree on every set of nodes that two of them determine.

    A table over fine nodes also determines tables over their coarser versions, so hierarchies need no
    separate step: a change of a coarse cell is spread evenly over its fine cells.

    Source: PrivBayes, Algorithm 5 with Equations 3.1 to 3.3, with two differences. The sets are closed under
        intersection, as in PriView (Qardaji et al. 2014): with only the intersections of pairs of tables, as
        in Algorithm 5, a later step can undo an earlier one. In Equation 3.3, w_i is corrected to 1 - w_i.

    Args:
        levels: hierarchies of the attributes.
        tables: tables over at least one node each.
        total: sum of every returned table; by default the weighted mean of their sums.

    Returns:
        New tables, which may have negative counts.
    """
    found = list(tables)
    for common in intersections(levels, [table.nodes for table in tables]):
        members = [place for place, table in enumerate(found) if within(common, table.nodes)]
        moved = _agree(levels, [found[place] for place in members], common, None if common else total)
        for place, table in zip(members, moved, strict=True):
            found[place] = table
    return found


def nonnegative(table: NoisyTable) -> NoisyTable:
    """The nonnegative table with the same total that is closest in L2 distance.

    Source: Duchi et al., Efficient projections onto the L1-ball (2008).
    """
    total = max(0.0, float(table.values.sum()))
    descending = np.sort(table.values)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, descending.size + 1)
    kept = np.flatnonzero(descending >= excess)
    return replace(table, values=np.maximum(table.values - excess[kept[-1]], 0.0))


def cut(table: NoisyTable, total: float) -> NoisyTable:
    """The table with negative counts set to 0, scaled to the total; uniform if no count is positive.

    Source: PrivBayes, Algorithm 4.
    """
    positive = np.maximum(table.values, 0.0)
    if not positive.any():
        positive = np.ones_like(positive)
    factor = total / positive.sum()
    return replace(table, values=positive * factor)


def consistent_and_nonnegative(
    levels: Levels, tables: Sequence[NoisyTable], total: float
) -> list[NoisyTable]:
    """Nonnegative tables that agree approximately.

    Equation 3.2 makes new negative counts, which the paper does not treat. Here both are fixed in turn.
    """
    found = list(tables)
    for _ in range(_PASSES):
        found = [nonnegative(table) for table in consistent(levels, found, total)]
    return found


def intersections(levels: Levels, sets: Sequence[Nodes]) -> list[Nodes]:
    """The meets of two or more sets, closed under `meet`; each comes after those within it."""
    closed: set[Nodes] = set()
    for place, nodes in enumerate(sets):
        closed |= {meet(nodes, other) for other in (*closed, *sets[:place])}
    closed.add(())
    return sorted(closed, key=lambda nodes: (_rank(levels, nodes), nodes))


def _rank(levels: Levels, nodes: Nodes) -> int:
    """A number that increases with every added node and every finer level."""
    return sum(1 + levels.coarsest(node.name) - node.level for node in nodes)


def _agree(
    levels: Levels, tables: Sequence[NoisyTable], common: Nodes, total: float | None
) -> list[NoisyTable]:
    """Moves tables to their weighted mean over a set of nodes (Equations 3.1 to 3.3)."""
    cells = levels.cells(common)
    labels = [levels.labels(table.nodes, common) for table in tables]
    sums = [
        np.bincount(label, weights=table.values, minlength=cells)
        for label, table in zip(labels, tables, strict=True)
    ]
    # One weight for all cells of a table; weights for each cell would break earlier agreements.
    ratios = [table.values.size / cells for table in tables]
    variances = np.array([q * table.variance for q, table in zip(ratios, tables, strict=True)])
    weights = (1 / variances) / (1 / variances).sum()
    wanted = sum(w * s for w, s in zip(weights, sums, strict=True))
    if total is not None:
        wanted, weights = np.full(1, total), np.zeros(len(tables))
    moved = []
    for label, table, own, q, w in zip(labels, tables, sums, ratios, weights, strict=True):
        inside = np.bincount(label, minlength=cells)
        values = table.values + ((wanted - own) / inside)[label]
        others = float((weights**2 * variances).sum() - w**2 * q * table.variance) / q**2
        loss = (1 - w) / q
        kept = ((1 - loss) ** 2 + loss**2 * (q - 1)) * table.variance
        # A lower bound, so that exactly known tables get a finite weight.
        moved.append(NoisyTable(table.nodes, values, max(float(kept + others), 1e-9 * table.variance)))
    return moved
