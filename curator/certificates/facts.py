"""What a report needs of a certificate, checked once."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...common.data.domain import Clique
from ...common.errors import DataError
from .certificate import FORMAT

Pair = tuple[str, str]
"""Two attributes in the order of the certificate."""


@dataclass(frozen=True)
class Seen:
    """What holds against whom.

    Attributes:
        who: sees the answers.
        assumes: what has to hold for that.
        epsilon: at the promise's delta; None where it was not computed.
        zcdp_rho: the same in zCDP.
    """

    who: str
    assumes: str
    epsilon: float | None
    zcdp_rho: float


@dataclass(frozen=True)
class Facts:
    """A certificate.

    Attributes:
        labels: why it is no private release; empty where it is one.
        created: when, in ISO form.
        version: of dpmosaic.
        domain_digest: of the table.
        sizes: attribute -> number of its values, in domain order.
        record_counts: of each slice.
        parties: attributes of each party, slice by slice.
        protocol: how marginals were measured.
        adjacency: which tables are neighbours.
        mechanism: its name.
        epsilon: promised; None where the promise is in zCDP alone.
        delta: promised; None where there is none.
        granted_rho: of the release.
        spent_rho: of it.
        observers: what holds against whom, where that differs.
        steps: what each step spent, zCDP.
        sigmas: measured clique -> standard deviation of one count, the smallest where it was measured twice.
        cliques: of the model.
        bounds: clique -> bound on its total variation distance to the real table.
        confidence: of each bound.
        signers: names of the parties that signed; empty for a simulation.
    """

    labels: tuple[str, ...]
    created: str
    version: str
    domain_digest: str
    sizes: Mapping[str, int]
    record_counts: tuple[int, ...]
    parties: tuple[tuple[frozenset[str], ...], ...]
    protocol: str
    adjacency: str
    mechanism: str
    epsilon: float | None
    delta: float | None
    granted_rho: float
    spent_rho: float
    observers: tuple[Seen, ...]
    steps: Mapping[str, float]
    sigmas: Mapping[Clique, float]
    cliques: tuple[Clique, ...]
    bounds: Mapping[Clique, float]
    confidence: float
    signers: tuple[str, ...]

    @classmethod
    def of(cls, certificate: object) -> Facts:
        """Reads a certificate.

        Args:
            certificate: what its file holds.

        Raises:
            DataError: it is none, or damaged.
        """
        if not isinstance(certificate, Mapping) or certificate.get("format") != FORMAT:
            raise DataError(f"expected a certificate of the format {FORMAT!r}, got another; fix the path")
        try:
            return cls._of(certificate)
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            raise DataError(f"the certificate is damaged ({type(cause).__name__}); get it anew") from cause

    @classmethod
    def _of(cls, form: Mapping[str, Any]) -> Facts:
        plan, promise = form["plan"], form["promise"]
        sigmas: dict[Clique, float] = {}
        for measured in form["measurements"]:
            clique = tuple(map(str, measured["clique"]))
            sigmas[clique] = min(float(measured["sigma"]), sigmas.get(clique, float("inf")))
        bounds = form["error_bounds"]
        return cls(
            labels=tuple(map(str, form["labels"])),
            created=str(form["created"]),
            version=str(form["versions"]["dpmosaic"]),
            domain_digest=str(plan["domain_digest"]),
            sizes={str(name): int(size) for name, size in plan["attributes"].items()},
            record_counts=tuple(map(int, plan["record_counts"])),
            parties=tuple(tuple(frozenset(held) for held in parties) for parties in plan["parties"]),
            protocol=str(plan["protocol"]),
            adjacency=str(plan["adjacency"]),
            mechanism=str(plan["mechanism"]["name"]),
            epsilon=_number(promise["epsilon"]),
            delta=_number(promise["delta"]),
            granted_rho=float(promise["zcdp_rho_granted"]),
            spent_rho=float(promise["zcdp_rho_spent"]),
            observers=tuple(
                Seen(str(o["who"]), str(o["assumes"]), _number(o["epsilon"]), float(o["zcdp_rho"]))
                for o in promise.get("observers", [])
            ),
            steps={str(step): float(rho) for step, rho in form["steps"].items()},
            sigmas=sigmas,
            cliques=tuple(tuple(map(str, clique)) for clique in form["model"]["cliques"]),
            bounds={tuple(map(str, b["clique"])): float(b["total_variation"]) for b in bounds},
            confidence=max((float(b["confidence"]) for b in bounds), default=0.0),
            signers=tuple(str(party["name"]) for party in form.get("signed", {}).get("parties", [])),
        )

    @property
    def records(self) -> int:
        """Of all slices; public."""
        return sum(self.record_counts)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs of attributes."""
        return tuple(itertools.combinations(self.sizes, 2))

    @cached_property
    def modelled(self) -> frozenset[Pair]:
        """The pairs whose joint distribution the model holds."""
        return self._inside(self.cliques)

    @cached_property
    def measured(self) -> frozenset[Pair]:
        """The pairs that were measured, by themselves or inside a larger marginal."""
        return self._inside(self.sigmas)

    def together(self, pair: Pair) -> bool:
        """Whether in each slice one party holds both attributes."""
        return all(any(held >= set(pair) for held in parties) for parties in self.parties)

    @cached_property
    def pair_bounds(self) -> Mapping[Pair, float]:
        """Bounds on the total variation distance of pairs; a larger marginal's bound holds for its pairs too.

        Of several larger ones it is that of the fewest cells: a choice that the noise has no part in, so that
        the bound holds with the confidence of one.
        """
        found: dict[Pair, float] = {}
        for pair in self.pairs:
            containing = [clique for clique in self.bounds if set(pair) <= set(clique)]
            if containing:
                found[pair] = self.bounds[min(containing, key=lambda clique: (self._cells(clique), clique))]
        return found

    def _cells(self, clique: Clique) -> int:
        cells = 1
        for name in clique:
            cells *= self.sizes[name]
        return cells

    def _inside(self, cliques: Mapping[Clique, float] | tuple[Clique, ...]) -> frozenset[Pair]:
        sets = [set(clique) for clique in cliques if len(clique) > 1]
        return frozenset(pair for pair in self.pairs if any(set(pair) <= clique for clique in sets))


def _number(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, (int, float)):
        raise TypeError("expected a number")
    return float(value)
