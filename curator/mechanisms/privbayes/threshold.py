"""The threshold tau: which tables are small enough for their noise, and their cliques."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ....common.data.domain import Clique
from ....common.data.view import View
from ..parts.steps import PublicFacts
from .levels import Levels, Node, names
from .scores import countable

_MOST_CHECKED = 5000
"""Most cliques that are checked to list those of a network's tables; pairs are always checked."""


@dataclass(frozen=True)
class Threshold:
    """A table is small enough if the average count of its cells is at least a multiple of their noise.

    Source: PrivBayes, section 2.1.2 (tau).

    Attributes:
        levels: hierarchies of the attributes.
        facts: public facts of the table and the protocol.
        noises_per_cell: the multiple.
        part: budget of one table, zCDP.
        records: number of records of the whole table.
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
        noise = self.noises_per_cell * self.facts.expected_sigma(View(clique), self.part)
        return self.levels.cells(nodes) * noise <= self.records

    def cliques(self, wanted: Iterable[Clique]) -> tuple[Clique, ...]:
        """The cliques of two attributes and more that are small enough at their coarsest level.

        A further attribute makes a table larger and not less noisy, so cliques grow from smaller ones. If
        there are too many, only those of few attributes are listed, and the wanted ones.

        Args:
            wanted: cliques to check in any case.
        """
        domain = self.facts.domain
        coarsest = {name: Node(name, self.levels.coarsest(name)) for name in domain.names}

        def small(cliques: Iterable[Clique]) -> list[Clique]:
            return [c for c in cliques if len(c) > 1 and self.allows([coarsest[name] for name in c])]

        grown: list[Clique] = [(name,) for name in domain.names]
        found: list[Clique] = []
        checked = 0
        while grown:
            larger = [(*c, name) for c in grown for name in domain.names[domain.position(c[-1]) + 1 :]]
            checked += len(larger)
            if checked > _MOST_CHECKED and found:
                break
            grown = small(larger)
            found += grown
        return tuple(dict.fromkeys((*found, *small(wanted))))
