"""Making noisy tables agree on everything that two of them say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .levels import Levels, Nodes, meet, within

Array = NDArray[np.float64]

_PASSES = 5
"""Consistency makes new negative counts, and cutting them off new inconsistencies: both get smaller."""


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts of the cells of some nodes.

    Attributes:
        nodes: in domain order.
        values: shape (cells,), row-major.
        variance: of the noise of one cell.
    """

    nodes: Nodes
    values: Array
    variance: float


def consistent(levels: Levels, tables: Sequence[NoisyTable], total: float | None) -> list[NoisyTable]:
    """Tables near the given ones that agree on every set of nodes that two of them determine.

    A table over fine nodes is one over all their coarser versions too, so that hierarchies need no step of
    their own: what is moved in a coarse cell is spread evenly over the fine cells in it, and the sums of
    fine cells are the coarse cells whatever happens.

    Source: PrivBayes, Algorithm 5 with Equations 3.1 to 3.3. Two departures. The sets are closed under
        intersection, as in PriView (Qardaji et al. 2014): with those of pairs of tables alone, as Algorithm 5
        has it, a later step can undo an earlier one. Equation 3.3 writes w_i where 1 - w_i belongs.

    Args:
        levels: of the nodes.
        tables: any, of one or more nodes each.
        total: what every table sums to from now on; the weighted mean of what they say where None.

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
    """The table of the same total, none of whose counts is negative, that is nearest in squares.

    Source: Duchi et al., Efficient projections onto the L1-ball (2008).
    """
    total = max(0.0, float(table.values.sum()))
    descending = np.sort(table.values)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, descending.size + 1)
    kept = np.flatnonzero(descending >= excess)
    return replace(table, values=np.maximum(table.values - excess[kept[-1]], 0.0))


def cut(table: NoisyTable, total: float) -> NoisyTable:
    """The table without its negative counts, and then scaled to the total; even where no count is positive.

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
    """Tables without negative counts that agree but for a little that the last step moves.

    Equation 3.2 makes new negative counts, of which the paper says nothing. Here both are fixed in turn.
    """
    found = list(tables)
    for _ in range(_PASSES):
        found = [nonnegative(table) for table in consistent(levels, found, total)]
    return found


def intersections(levels: Levels, sets: Sequence[Nodes]) -> list[Nodes]:
    """What two or more of the sets determine, closed under `meet`, every one after those within it."""
    closed: set[Nodes] = set()
    for place, nodes in enumerate(sets):
        closed |= {meet(nodes, other) for other in (*closed, *sets[:place])}
    closed.add(())
    return sorted(closed, key=lambda nodes: (_rank(levels, nodes), nodes))


def _rank(levels: Levels, nodes: Nodes) -> int:
    """Grows with every node that is added and with every level that is finer."""
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
    # One weight for all cells of a table: with one for each, the mean would not keep what was agreed before.
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
        # What is known exactly has no variance, but still a finite weight.
        moved.append(NoisyTable(table.nodes, values, max(float(kept + others), 1e-9 * table.variance)))
    return moved
