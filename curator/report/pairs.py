"""What a certificate states about each pair of attributes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ...common.data.domain import Clique
from ..certificates.certificate import Certificate

Pair = tuple[str, str]
"""Two attributes, in the order of the certificate."""


@dataclass(frozen=True)
class CertifiedPairs:
    """The pairs of a certificate.

    Attributes:
        certificate: certificate of the release.
    """

    certificate: Certificate

    @cached_property
    def all(self) -> tuple[Pair, ...]:
        """All pairs of attributes."""
        return tuple(itertools.combinations(self.certificate.plan.attributes, 2))

    @cached_property
    def modelled(self) -> frozenset[Pair]:
        """The pairs inside a clique of the model."""
        return self._inside(self.certificate.model.cliques)

    @cached_property
    def measured(self) -> frozenset[Pair]:
        """The pairs that were measured in single codes, as a marginal or inside a larger one."""
        return self._inside(m.clique for m in self.certificate.measurements if not m.groups)

    def together(self, pair: Pair) -> bool:
        """Whether one party of every slice holds both attributes."""
        slices = self.certificate.plan.parties
        return all(any(set(pair) <= set(held) for held in parties) for parties in slices)

    @cached_property
    def bounds(self) -> Mapping[Pair, float]:
        """Bounds on the total variation distance of pairs; a larger marginal's bound holds for its pairs.

        Of several larger marginals, the one with the fewest cells gives the bound: this choice does not
        depend on the noise, so that the bound keeps its confidence.
        """
        stated = {bound.clique: bound.total_variation for bound in self.certificate.error_bounds}
        smallest: dict[frozenset[str], Clique] = {}
        for clique in sorted(stated, key=lambda clique: (self._cells(clique), clique)):
            for pair in itertools.combinations(clique, 2):
                smallest.setdefault(frozenset(pair), clique)
        return {pair: stated[smallest[key]] for pair in self.all if (key := frozenset(pair)) in smallest}

    def _cells(self, clique: Clique) -> int:
        return math.prod(self.certificate.plan.attributes[name] for name in clique)

    def _inside(self, cliques: Iterable[Clique]) -> frozenset[Pair]:
        inside = {frozenset(pair) for clique in cliques for pair in itertools.combinations(clique, 2)}
        return frozenset(pair for pair in self.all if frozenset(pair) in inside)
