"""Junction trees: the structure of a distribution with given marginals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ....common.data.domain import Clique, Domain
from ....common.processes.blocks import made_in_order
from .elimination import bits, cells_with_each, first_within, join_cliques, triangulate
from .zeros import zeros_of

_CANDIDATES_AT_ONCE = 4
"""So many candidates are tried one after the other, as one of the first usually fits; then so many at a time,
in two threads. What they try beyond the first that fits is in vain."""


@dataclass(frozen=True)
class JunctionTree:
    """Maximal cliques of a triangulation, joined so that the cliques of every attribute are connected.

    Components of the graph are joined by empty separators. The first clique is the root, and every clique
    comes after its parent: messages are distributed in this order and collected in reverse.

    Attributes:
        domain: the attributes, each in at least one clique.
        cliques: none is contained in another.
        parents: for each clique the index of its parent; -1 only for the root.
    """

    domain: Domain
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.cliques or len(self.parents) != len(self.cliques):
            raise ValueError("a junction tree has one parent for each clique, and at least one clique")
        seen = self.masks[0]
        for place, (clique, mask) in enumerate(zip(self.cliques, self.masks, strict=True)):
            parent = self.parents[place]
            if self.domain.canonical(clique) != clique:
                raise ValueError(f"the clique {clique} is not in domain order")
            if (place == 0) != (parent == -1) or not -1 <= parent < max(place, 1):
                raise ValueError("cliques of a junction tree come after their parents, the root first")
            if place and mask & seen & ~self.masks[parent]:
                raise ValueError(f"the clique {clique} shares attributes with others that its parent lacks")
            seen |= mask
        if seen != (1 << len(self.domain)) - 1:
            raise ValueError("some attributes of the domain lie in no clique of the junction tree")

    @classmethod
    def build(cls, domain: Domain, cliques: Iterable[Clique]) -> JunctionTree:
        """Build a small tree that contains each of the given cliques in one of its own; deterministic.

        It contains the cliques of the domain's rules too (`zeros`). An attribute in none of them becomes a
        clique of its own. The root is the clique with most cells.

        Raises:
            DataError: a clique names an unknown attribute, or one twice.
        """
        masks, _ = triangulate(_adjacency(domain, cliques), domain.sizes)
        named = [tuple(domain.names[place] for place in bits(mask)) for mask in masks]
        root = max(range(len(masks)), key=lambda place: (domain.cells(named[place]), -place))
        order, parents = _spanning_tree(masks, root)
        return cls(domain, tuple(named[place] for place in order), parents)

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """For each clique the mask of the positions of its attributes."""
        return tuple(_mask(self.domain, clique) for clique in self.cliques)

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        """For each clique the attributes that it shares with its parent; empty for the root."""
        return tuple(
            () if parent < 0 else tuple(name for name in clique if name in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """For each clique the size of each attribute."""
        return tuple(self.domain.shape(clique) for clique in self.cliques)

    @cached_property
    def cells(self) -> int:
        """Cells of all cliques together."""
        return sum(map(math.prod, self.shapes))

    def home(self, clique: Iterable[str]) -> int | None:
        """The index of the tree's smallest clique that contains these attributes, or None.

        Raises:
            DataError: an attribute is unknown.
        """
        mask = _mask(self.domain, clique)
        around = [place for place, other in enumerate(self.masks) if mask & other == mask]
        return min(around, key=lambda place: math.prod(self.shapes[place]), default=None)


def tree_cells(domain: Domain, cliques: Iterable[Clique]) -> int:
    """Cells of the junction tree that `JunctionTree.build` makes for these cliques, without building it.

    Raises:
        DataError: a clique names an unknown attribute.
    """
    return triangulate(_adjacency(domain, cliques), domain.sizes)[1]


def size_mb(domain: Domain, cliques: Iterable[Clique]) -> float:
    """Memory of the beliefs of that tree in MiB: 8 bytes a cell."""
    return tree_cells(domain, cliques) * 8 / 2**20


class TreeGrowth:
    """The size of a junction tree with one more clique, for many candidates.

    Args:
        domain: attributes of the tree.
        cliques: current cliques.

    Raises:
        DataError: a clique names an unknown attribute.
    """

    def __init__(self, domain: Domain, cliques: Iterable[Clique]) -> None:
        self._domain = domain
        self._adjacency = _adjacency(domain, cliques)

    def cells_with(self, candidates: Sequence[Clique]) -> list[int]:
        """For each candidate `tree_cells` if only this one is added.

        Raises:
            DataError: a candidate names an unknown attribute.
        """
        masks = [_mask(self._domain, candidate) for candidate in candidates]
        return cells_with_each(self._adjacency, self._domain.sizes, masks)

    def first_within(self, candidates: Sequence[Clique], limit_mb: float) -> int | None:
        """The index of the first candidate with which `size_mb` is at most the limit, or None.

        Raises:
            DataError: a candidate names an unknown attribute.
        """

        def first_in_batch(start: int) -> int | None:
            masks = [
                _mask(self._domain, candidate)
                for candidate in candidates[start : start + _CANDIDATES_AT_ONCE]
            ]
            place = first_within(self._adjacency, self._domain.sizes, masks, limit_mb * 2**17)
            return None if place is None else start + place

        place = first_in_batch(0)
        if place is not None or len(candidates) <= _CANDIDATES_AT_ONCE:
            return place
        batches = made_in_order(
            first_in_batch, range(_CANDIDATES_AT_ONCE, len(candidates), _CANDIDATES_AT_ONCE)
        )
        return next((place for place in batches if place is not None), None)


def _mask(domain: Domain, clique: Iterable[str]) -> int:
    mask = 0
    for name in clique:
        mask |= 1 << domain.position(name)
    return mask


def _adjacency(domain: Domain, cliques: Iterable[Clique]) -> list[int]:
    structure = zeros_of(domain).structure
    return join_cliques([0] * len(domain), [_mask(domain, clique) for clique in (*structure, *cliques)])


def _spanning_tree(masks: Sequence[int], root: int) -> tuple[list[int], tuple[int, ...]]:
    """Join each clique to the one inside the tree that it shares most attributes with (Prim's algorithm).

    Source: Jensen and Jensen, Optimal junction trees (1994): such a spanning tree is a junction tree.

    Returns:
        the indices of the cliques in the order in which they join, and each one's parent in that order.
    """
    order, parents = [root], [-1]
    nearest = {
        place: (0, (mask & masks[root]).bit_count()) for place, mask in enumerate(masks) if place != root
    }
    while nearest:
        place = max(nearest, key=lambda other: (nearest[other][1], -other))
        parents.append(nearest.pop(place)[0])
        for other, (_, shared) in nearest.items():
            overlap = (masks[other] & masks[place]).bit_count()
            if overlap > shared:
                nearest[other] = (len(order), overlap)
        order.append(place)
    return order, tuple(parents)
