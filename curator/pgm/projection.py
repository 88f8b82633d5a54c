"""Sums of a tree's cliques down to smaller ones, and their transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.domain import Clique
from .junction_tree import JunctionTree
from .reduction import Reduction

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Route:
    """Where the marginal of one clique comes from.

    Attributes:
        place: the clique's place among those projected to.
        host: the place of the smaller of them that contains it, or of the tree's clique.
        in_tree: whether the host is a clique of the tree.
        reduction: from the host to the clique.
    """

    place: int
    host: int
    in_tree: bool
    reduction: Reduction


@dataclass(frozen=True)
class Projection:
    """The linear map from the beliefs of a tree to marginals inside its cliques, each in one vector.

    A clique inside another of the same list is summed from that one, not from the tree.

    Attributes:
        shapes: the shapes of the marginals, which lie one after another in one vector.
        routes: hosts before their guests.
    """

    shapes: tuple[tuple[int, ...], ...]
    routes: tuple[Route, ...]

    @classmethod
    def of(cls, tree: JunctionTree, cliques: Sequence[Clique]) -> Projection:
        """Find hosts for cliques that are distinct and in domain order.

        Raises:
            ValueError: a clique lies in none of the tree's.
        """
        shapes = tuple(tree.domain.shape(clique) for clique in cliques)
        order = sorted(range(len(cliques)), key=lambda place: -len(cliques[place]))
        routes: list[Route] = []
        for place in order:
            clique = cliques[place]
            around = [route.place for route in routes if set(clique) <= set(cliques[route.place])]
            if around:
                host = min(around, key=lambda other: math.prod(shapes[other]))
                host_clique = cliques[host]
            else:
                home = tree.home(clique)
                if home is None:
                    raise ValueError(f"the clique {clique} lies in no clique of the tree")
                host, host_clique = home, tree.cliques[home]
            routes.append(
                Route(
                    place,
                    host,
                    not around,
                    Reduction.of(
                        tree.domain.shape(host_clique),
                        [axis for axis, name in enumerate(host_clique) if name not in clique],
                    ),
                )
            )
        return cls(shapes, tuple(routes))

    def project(self, beliefs: Sequence[Array], out: Sequence[Array]) -> None:
        """Write to `out`, in the order of the cliques, the marginals of `beliefs`, in tree order."""
        for route in self.routes:
            host = beliefs[route.host] if route.in_tree else out[route.host]
            out[route.place][...] = route.reduction.sum(host).reshape(self.shapes[route.place])

    def spread(self, values: Sequence[Array], out: Sequence[Array]) -> None:
        """Write to `out`, for each cell of the tree, the sum of `values` of the cells it projects to.

        The transpose of `project`; `values` is overwritten.
        """
        for array in out:
            array.fill(0.0)
        for route in reversed(self.routes):
            host = out[route.host] if route.in_tree else values[route.host]
            host += route.reduction.widen(values[route.place].reshape(route.reduction.kept))


def split(vector: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Views of a vector as arrays of these shapes, one after another."""
    views, start = [], 0
    for shape in shapes:
        stop = start + math.prod(shape)
        views.append(vector[start:stop].reshape(shape))
        start = stop
    return views
