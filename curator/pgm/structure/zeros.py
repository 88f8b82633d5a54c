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
from ....common.data.rules.rule import Rule
from .elimination import join_cliques, triangulate

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

LARGEST_OF_RULES = 2**17
"""Largest number of cells of a junction tree of the rules' cliques alone (1 MiB)."""

EXCLUDED = -1e5
"""Log-potential of an excluded cell: exact to 1e-11 beside others, and far below those that a fit reaches."""

_ADDS_UP = 1e-9
"""Sums of two tables differ by less through rounding."""

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

    def hold(self, domain: Domain, rule: Rule) -> bool:
        """Whether no row of a model breaks a rule: its cells are excluded, or there are none."""
        clique = domain.canonical(rule.columns)
        if any(clique == held for held, _ in self.masks):
            return True
        return math.prod(domain.shape(clique)) <= LARGEST_OF_RULES and rule.allowed(domain) is None

    def potentials(self) -> Array:
        """The log-potentials of the masks, one after another."""
        parts = [np.where(mask, 0.0, EXCLUDED).ravel() for _, mask in self.masks]
        return np.concatenate(parts) if parts else np.zeros(0)

    def clear_excluded(
        self, cliques: Sequence[Clique], parents: Sequence[int], tables: Sequence[Array]
    ) -> tuple[Array, ...]:
        """Tables of counts of a tree's cliques with exact zeros where cells are excluded.

        Where all that rules allow is too unlikely for the kernels to tell it from what they exclude, the
        counts of excluded cells go to the others with the same value of the separator.

        Args:
            cliques: of the tree, each after its parent.
            parents: for each clique the place of its parent; -1 for the root.
            tables: for each clique its counts, of its shape; those of two cliques agree.
        """
        if not self.masks:
            return tuple(tables)
        held = [
            self._cells_within_rules(clique, table.shape)
            for clique, table in zip(cliques, tables, strict=True)
        ]
        shares = [table > EXCLUDED_SHARE * table.sum() for table in tables]
        cleared = [
            np.where(mask & seen, table, 0.0) for mask, seen, table in zip(held, shares, tables, strict=True)
        ]
        whole = (
            math.isclose(a.sum(), b.sum(), rel_tol=_ADDS_UP) for a, b in zip(cleared, tables, strict=True)
        )
        if all(whole):
            return tuple(cleared)
        for place in range(len(cliques) - 1, 0, -1):
            parent = parents[place]
            held[parent] &= _on(cliques[parent], cliques[place], held[place].astype(float)) > 0
        for place, (clique, mask) in enumerate(zip(cliques, held, strict=True)):
            above = cleared[parents[place]] if place else np.array(tables[0].sum())
            over = cliques[parents[place]] if place else ()
            cleared[place] = _scale_to_parent(clique, np.where(mask, cleared[place], 0.0), mask, over, above)
        return tuple(cleared)

    def _cells_within_rules(self, clique: Clique, shape: tuple[int, ...]) -> Mask:
        """The cells of a clique that no rule within it excludes."""
        held = np.ones(shape, dtype=np.bool_)
        for part, mask in self.masks:
            if set(part) <= set(clique):
                sizes = dict(zip(part, mask.shape, strict=True))
                held &= mask.reshape([sizes.get(name, 1) for name in clique])
        return held


def _scale_to_parent(clique: Clique, table: Array, held: Mask, over: Clique, above: Array) -> Array:
    """A table whose sums over the separator are those of its parent's table."""
    wanted, found = _on(clique, over, above), _on(clique, clique, table, over)
    # Where nothing is left, every cell that is allowed has as much.
    even = held / np.maximum(_on(clique, clique, held.astype(float), over), 1.0)
    return np.where(found > 0, table * wanted / np.where(found > 0, found, 1.0), even * wanted)


def _on(clique: Clique, other: Clique, table: Array, shared: Clique | None = None) -> Array:
    """The sums of a table of another clique over what both share, in the axes of this one."""
    common = set(clique) & set(other if shared is None else shared)
    summed = table.sum(axis=tuple(axis for axis, name in enumerate(other) if name not in common))
    sizes = dict(zip([name for name in other if name in common], summed.shape, strict=True))
    return np.asarray(summed).reshape([sizes.get(name, 1) for name in clique])


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
        allowed, before = part.allowed(domain), structure.get(clique)
        if allowed is None and not _is_learned(part):
            continue
        wider = join_cliques(graph, [sum(1 << domain.position(name) for name in clique)])
        if triangulate(wider, domain.sizes)[1] > LARGEST_OF_RULES + sum(domain.sizes):
            continue
        graph = wider
        mask = None if allowed is None else allowed[1]
        structure[clique] = mask if before is None else before if mask is None else before & mask
    masks = tuple((clique, mask) for clique, mask in structure.items() if mask is not None)
    mapless = filter(_is_learned, domain.rules)
    learned = dict.fromkeys(domain.canonical(rule.columns) for rule in mapless)
    return Zeros(tuple(structure), masks, tuple(clique for clique in learned if clique in structure))


def _is_learned(rule: Rule) -> bool:
    """Whether it is a dependency without a map, which is learned from its clique."""
    return isinstance(rule, Determines) and rule.pairs is None
