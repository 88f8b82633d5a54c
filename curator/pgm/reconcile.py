"""Making tables of a junction tree's cliques, fitted apart from each other, agree on separators."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique
from .junction_tree import JunctionTree
from .reduction import Reduction

Array = NDArray[np.float64]

_NOTHING = 1e-100
"""A share of the total below this counts as none: dividing by it would not stay finite."""


def reconcile(tree: JunctionTree, tables: Sequence[Array], averaged: Collection[int]) -> tuple[Array, ...]:
    """Tables near the given ones that are marginals of one distribution.

    Two passes of multiplicative rescaling over the tree. On the way to the root each parent moves to the mean
    of its own and its child's marginal of their separator, at the edges that `averaged` names. On the way
    back each child takes its parent's marginal of the separator, so that the tables agree at every edge. What
    a child says given the separator stays; its other marginals move a little, which is what it costs to have
    been fitted apart.

    Source: Deming and Stephan (1940), the rescaling, a step of iterative proportional fitting; its order is
        that in which rows are drawn clique by clique. ABSyn, Algorithm 4, line 7, asks to combine cliques and
        leaves open how. The mean is ours: fits to nearly the same evidence have nearly the same error.

    Args:
        tree: the cliques.
        tables: for each clique non-negative counts of the clique's shape, the same sum for all, not zero.
        averaged: the places of the cliques whose parents listen to them.

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
    """Multiply the table by what makes `wanted` its marginal of the separator.

    Values of the separator that the table gives nothing take the table's sum over all other values.
    """
    reduction = _reduction(tree, place, separator)
    have = reduction.sum(table)
    wanted = wanted.reshape(reduction.kept)
    empty = have <= _NOTHING * have.sum()
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
