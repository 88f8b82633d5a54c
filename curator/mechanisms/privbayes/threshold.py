"""Which tables are small enough for their noise: the threshold tau, and the cliques below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ....common.data.domain import Clique
from ..parts.steps import PublicFacts
from .levels import Levels, Node, names
from .scores import countable

_LOOKED_AT = 5000
"""Cliques that are looked at to list those of a network's tables; pairs always are."""


@dataclass(frozen=True)
class Threshold:
    """The average count of a table's cells is at least a multiple of their noise.

    Source: PrivBayes, section 2.1.2: tau.

    Attributes:
        levels: hierarchies of the attributes.
        facts: of the table and the protocol.
        noises_per_cell: the multiple.
        part: of the budget that a table gets, zCDP.
        records: of the whole table.
    """

    levels: Levels
    facts: PublicFacts
    noises_per_cell: float
    part: Fraction
    records: float

    def allows(self, nodes: Sequence[Node]) -> bool:
        """Whether a table over these nodes, in domain order, is small enough."""
        clique = names(nodes)
        if not countable(self.facts.domain, clique):
            return False
        noise = self.noises_per_cell * self.facts.expected_sigma(clique, self.part)
        return self.levels.cells(nodes) * noise <= self.records

    def cliques(self, wanted: Iterable[Clique]) -> tuple[Clique, ...]:
        """The cliques of two attributes and more that are small enough at their coarsest.

        One more attribute makes a table larger and no less noisy, so that cliques grow from smaller ones.
        Where they are too many, those of few attributes are listed, and the wanted ones.

        Args:
            wanted: cliques to look at in any case.
        """
        domain = self.facts.domain
        coarsest = {name: Node(name, self.levels.coarsest(name)) for name in domain.names}

        def small(cliques: Iterable[Clique]) -> list[Clique]:
            return [c for c in cliques if len(c) > 1 and self.allows([coarsest[name] for name in c])]

        grown: list[Clique] = [(name,) for name in domain.names]
        found: list[Clique] = []
        looked_at = 0
        while grown:
            larger = [(*c, name) for c in grown for name in domain.names[domain.position(c[-1]) + 1 :]]
            looked_at += len(larger)
            if looked_at > _LOOKED_AT and found:
                break
            grown = small(larger)
            found += grown
        return tuple(dict.fromkeys((*found, *small(wanted))))
