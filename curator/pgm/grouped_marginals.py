"""Marginals of groups of codes, without the marginals of single codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Grouping, Groups
from ...common.errors import ModelError
from .inference.queries import MarginalQueries
from .model import MarkovRandomField
from .structure.junction_tree import JunctionTree

Array = NDArray[np.float64]


def grouped_marginals(
    model: MarkovRandomField, wanted: Sequence[tuple[Clique, Groups]]
) -> list[Array | None]:
    """The marginals of groups of codes, with None for each that needs too large a table.

    A group is an attribute of its own that the grouped one determines: a further clique of these two, beside
    a clique with the grouped one, makes the junction tree contain it. So a marginal of eight groups of each
    of three attributes of a hundred codes needs no table of 10^6 cells.

    Args:
        model: the distribution.
        wanted: cliques in domain order, with the grouping of each attribute; see `Groups`.

    Returns:
        For each shape (number of cells of `grouped_shape`,).
    """
    named: dict[tuple[str, Grouping], str] = {}
    for clique, groups in wanted:
        for name, labels in zip(clique, groups, strict=False):
            if labels:
                named.setdefault((name, labels), f"{name} in groups {len(named)}")
    domain = model.domain
    sizes = dict(zip(domain.names, domain.sizes, strict=True))
    wider = Domain.coded(sizes | {new: max(labels) + 1 for (_, labels), new in named.items()})
    homes = [model.tree.home([name]) or 0 for name, _ in named]
    cliques = (*model.tree.cliques, *((name, new) for (name, _), new in named.items()))
    tree = JunctionTree(wider, cliques, (*model.tree.parents, *homes))
    beliefs = [_split(model.marginal((name,)), labels) for name, labels in named]
    queries = MarginalQueries(tree, [*model.beliefs, *beliefs])
    found: list[Array | None] = []
    for clique, groups in wanted:
        labelled = zip(clique, groups or ((),) * len(clique), strict=True)
        names = tuple(named[name, labels] if labels else name for name, labels in labelled)
        ordered = wider.canonical(names)
        try:
            cells = queries.marginal(ordered).reshape(wider.shape(ordered))
        except ModelError:
            found.append(None)
        else:
            found.append(cells.transpose([ordered.index(name) for name in names]).ravel())
    return found


def _split(counts: Array, labels: Grouping) -> Array:
    """The counts of codes, each in the column of its group."""
    cells = np.zeros((len(counts), max(labels) + 1))
    cells[np.arange(len(counts)), list(labels)] = counts
    return cells
