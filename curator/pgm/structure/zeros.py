"""Structural zeros: combinations that the rules of a domain exclude, as fixed factors of every model.

The cliques of rules are in the junction tree of every model of the domain, and their excluded cells have a
log-potential so low that no measured one makes up for it. So messages carry what rules exclude together, and
queries and rows see it. Rules whose cliques make too large a tree are left to the rows alone (`obedience`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.rules.determines import Determines
from .elimination import join_cliques, triangulate

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

LARGEST_OF_RULES = 2**17
"""Largest number of cells of a junction tree of the rules' cliques alone (1 MiB)."""

EXCLUDED = -1e5
"""Log-potential of an excluded cell: exact to 1e-11 beside others, and far below those that a fit reaches."""

EXCLUDED_SHARE = 1e-60
"""Shares of the total below this are those of excluded cells, whose logarithms the kernels bound."""


@dataclass(frozen=True, eq=False)
class Zeros:
    """What the rules of a domain exclude.

    Attributes:
        structure: cliques that the tree of every model contains, each in domain order.
        masks: for some of these cliques, each once, the cells that rows may have, of the clique's shape.
        learned: those of dependencies without a map, which a release learns from its model.
    """

    structure: tuple[Clique, ...] = ()
    masks: tuple[tuple[Clique, Mask], ...] = ()
    learned: tuple[Clique, ...] = ()

    def potentials(self) -> Array:
        """The log-potentials of the masks, one after another."""
        parts = [np.where(mask, 0.0, EXCLUDED).ravel() for _, mask in self.masks]
        return np.concatenate(parts) if parts else np.zeros(0)

    def clear_excluded(self, cliques: Sequence[Clique], tables: Sequence[Array]) -> tuple[Array, ...]:
        """Tables of counts of these cliques with exact zeros where cells are excluded."""
        if not self.masks:
            return tuple(tables)
        return tuple(self._without(clique, table) for clique, table in zip(cliques, tables, strict=True))

    def _without(self, clique: Clique, table: Array) -> Array:
        kept = table > EXCLUDED_SHARE * table.sum()
        for part, mask in self.masks:
            if set(part) <= set(clique):
                sizes = dict(zip(part, mask.shape, strict=True))
                kept &= mask.reshape([sizes.get(name, 1) for name in clique])
        return np.where(kept, table, 0.0)


def zeros_of(domain: Domain) -> Zeros:
    """The structural zeros of a domain; none without rules."""
    return _zeros_of_rules(domain) if domain.rules else Zeros()


@functools.lru_cache(maxsize=32)
def _zeros_of_rules(domain: Domain) -> Zeros:
    parts = [part for rule in domain.rules for part in rule.parts]
    parts.sort(key=lambda part: domain.cells(part.columns))
    graph = [0] * len(domain)
    structure: dict[Clique, Mask | None] = {}
    for part in parts:
        clique = domain.canonical(part.columns)
        if math.prod(domain.shape(clique)) > LARGEST_OF_RULES:
            continue
        wider = join_cliques(graph, [sum(1 << domain.position(name) for name in clique)])
        if triangulate(wider, domain.sizes)[1] > LARGEST_OF_RULES + sum(domain.sizes):
            continue
        graph = wider
        allowed, before = part.allowed(domain), structure.get(clique)
        mask = None if allowed is None else allowed[1]
        structure[clique] = mask if before is None else before if mask is None else before & mask
    masks = tuple((clique, mask) for clique, mask in structure.items() if mask is not None)
    mapless = [rule for rule in domain.rules if isinstance(rule, Determines) and rule.pairs is None]
    learned = dict.fromkeys(domain.canonical(rule.columns) for rule in mapless)
    return Zeros(tuple(structure), masks, tuple(clique for clique in learned if clique in structure))
