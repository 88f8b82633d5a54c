"""Exact marginals of all cliques of a junction tree from log-potentials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.domain import Clique
from ...common.errors import ModelError
from .junction_tree import JunctionTree
from .reduction import Reduction

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Edge:
    """How a clique and its parent reduce to their separator.

    Attributes:
        parent: the place of the parent; -1 for the root, whose separator is one cell.
        from_child: from the clique to the separator.
        from_parent: from the parent to the separator.
    """

    parent: int
    from_child: Reduction
    from_parent: Reduction


@dataclass(frozen=True)
class Schedule:
    """What message passing needs to know of a tree, worked out once and used in every call.

    Attributes:
        shapes: the shape of each clique.
        edges: the edge of each clique to its parent; parents come first.
    """

    shapes: tuple[tuple[int, ...], ...]
    edges: tuple[Edge, ...]

    @classmethod
    def of(cls, tree: JunctionTree) -> Schedule:
        """Work out the schedule of a tree."""
        edges = []
        for place, parent in enumerate(tree.parents):
            separator = tree.separators[place]
            edges.append(Edge(parent, _onto(tree, place, separator), _onto(tree, max(parent, 0), separator)))
        return cls(tree.shapes, tuple(edges))


def _onto(tree: JunctionTree, place: int, separator: Clique) -> Reduction:
    axes = [axis for axis, name in enumerate(tree.cliques[place]) if name not in separator]
    return Reduction.of(tree.shapes[place], axes)


def calibrate(
    schedule: Schedule, potentials: Sequence[Array], total: float, out: Sequence[Array] | None = None
) -> tuple[Sequence[Array], float]:
    """Marginals of every clique under the distribution proportional to exp(sum of potentials); exact.

    Messages to the root are kept as logarithms, each value of a separator with its own maximum, so that
    nothing underflows there; messages from the root are quotients of sums that are at least 1. Each cell
    costs one exponential.

    Source: Lauritzen and Spiegelhalter (1988), the messages; Jensen, Lauritzen and Olesen (1990), the
        quotients.

    Args:
        schedule: of the tree.
        potentials: finite log-potentials, one array of the clique's shape for each clique in tree order.
        total: what the marginals of each clique sum to.
        out: arrays of the same shapes to hold the result; new ones by default.

    Returns:
        the marginals in tree order, and the log of the sum of the exponentials over all cells of the domain.

    Raises:
        ModelError: a potential is not finite.
    """
    beliefs = [np.empty(shape) for shape in schedule.shapes] if out is None else out
    with np.errstate(invalid="ignore", over="ignore"):
        sums, log_partition = _collect(schedule, potentials, beliefs)
    if not math.isfinite(log_partition):
        raise ModelError(
            "expected finite potentials, but the log-partition is not finite; lower the step size"
        )
    beliefs[0][...] *= total / sums[0]
    for place in range(1, len(beliefs)):
        edge = schedule.edges[place]
        ratio = edge.from_parent.sum(beliefs[edge.parent]).reshape(edge.from_child.kept)
        ratio /= sums[place]
        np.multiply(beliefs[place], edge.from_child.widen(ratio), out=beliefs[place])
    return beliefs, log_partition


def _collect(
    schedule: Schedule, potentials: Sequence[Array], scaled: Sequence[Array]
) -> tuple[list[Array], float]:
    """Pass messages to the root.

    Returns:
        for each clique the sums of `scaled` over all but the separator, and the log-partition; `scaled` holds
        the exponentials of potentials and messages, divided by the largest for each value of the separator.
    """
    messages: list[list[Array]] = [[] for _ in scaled]
    sums: list[Array] = [np.empty(0)] * len(scaled)
    log_partition = math.nan
    for place in range(len(scaled) - 1, -1, -1):
        edge, cell = schedule.edges[place], scaled[place]
        source = potentials[place]
        for message in messages[place]:
            source = np.add(source, message, out=cell)
        peak = edge.from_child.max(source)
        np.subtract(source, edge.from_child.widen(peak), out=cell)
        np.exp(cell, out=cell)
        sums[place] = edge.from_child.sum(cell)
        upward = np.log(sums[place])
        upward += peak
        if edge.parent < 0:
            log_partition = float(upward.reshape(()))
        else:
            message = edge.from_parent.widen(upward.reshape(edge.from_parent.kept))
            messages[edge.parent].append(message)
    return sums, log_partition
