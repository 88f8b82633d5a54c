"""Consistency on separators for tables of a junction tree's cliques that were fitted separately."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ..inference.reduction import Reduction
from ..structure.junction_tree import JunctionTree

Array = NDArray[np.float64]

_TAKEN_AS_ZERO = 1e-100
"""Smaller shares of the total are taken as zero: quotients by them could overflow."""


def reconcile(tree: JunctionTree, tables: Sequence[Array], averaged: Collection[int]) -> tuple[Array, ...]:
    """Tables near the given ones that are marginals of one distribution.

    Two passes of multiplicative rescaling over the tree. In the pass to the root, each parent gets the mean
    of its own and its child's marginal of their separator, at the edges in `averaged`. In the pass back, each
    child gets its parent's marginal of the separator, so that the tables agree at every edge. The child's
    distribution given the separator is kept; its other marginals change a little, which is the price of
    separate fits.

    Source: Deming and Stephan (1940), the rescaling, a step of iterative proportional fitting; its order is
        that in which rows are drawn clique by clique. ABSyn, Algorithm 4, line 7, combines cliques and does
        not say how. The mean is ours: fits to nearly the same measurements have nearly the same error.

    Args:
        tree: the cliques.
        tables: for each clique non-negative counts of the clique's shape, the same sum for all, not zero.
        averaged: indices of the cliques with whose marginal the parent's is averaged.

    Returns:
        new tables, in tree order.
    """
    found = [table.copy() for table in tables]
    for place in range(len(found) - 1, 0, -1):
        separator, parent = tree.separators[place], tree.parents[place]
        if place in averaged and separator:
            above, below = (_onto(tree, end, separator, found[end]) for end in (parent, place))
            _rescale(tree, parent, separator, found[parent], (above + below) / 2)
    for place in range(1, len(found)):
        separator, parent = tree.separators[place], tree.parents[place]
        _rescale(tree, place, separator, found[place], _onto(tree, parent, separator, found[parent]))
    return tuple(found)


def _onto(tree: JunctionTree, place: int, separator: Clique, table: Array) -> Array:
    """The table's marginal of a separator, one axis for each of its attributes."""
    return _reduction(tree, place, separator).sum(table).reshape(tree.domain.shape(separator))


def _rescale(tree: JunctionTree, place: int, separator: Clique, table: Array, wanted: Array) -> None:
    """Scale the table so that `wanted` is its marginal of the separator.

    Values of the separator without mass in the table get the table's sum over all other values.
    """
    reduction = _reduction(tree, place, separator)
    have = reduction.sum(table)
    wanted = wanted.reshape(reduction.kept)
    empty = have <= _TAKEN_AS_ZERO * have.sum()
    if np.any(wanted[empty] > 0):
        kept = tuple(axis for axis, name in enumerate(tree.cliques[place]) if name in separator)
        others = table.sum(axis=kept, keepdims=True)
        np.add(table, others / others.sum() * empty, out=table)
        have = have + empty
    table *= reduction.widen(np.divide(wanted, have, out=np.zeros_like(have), where=~empty | (have > 0.5)))


def _reduction(tree: JunctionTree, place: int, separator: Clique) -> Reduction:
    return Reduction.of(
        tree.shapes[place],
        [axis for axis, name in enumerate(tree.cliques[place]) if name not in separator],
    )
