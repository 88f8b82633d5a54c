"""The section [alignment] of a plan: how the rows of the parties are aligned."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ....common.errors import DataError
from ....common.privacy.budget import Budget
from ....common.protocols.aligned import DEFAULT_RHO, Population
from ....common.protocols.alignment.match_keys import MatchKey
from ....common.protocols.alignment.plan import ALIGNMENT, FIRST, HMAC, AlignmentPlan
from ....common.release_spec import ReleaseSpec
from ....common.terms import Purpose, ReleaseTerms
from ...parties.federation import Federation


@dataclass(frozen=True)
class AlignmentOrder:
    """How rows are aligned, and whose records the release is about.

    Attributes:
        population: whose records.
        rho: what an alignment may cost, zCDP.
        match: see `AlignmentPlan`.
        keying: see `AlignmentPlan`.
        duplicates: see `AlignmentPlan`.
        across_slices: see `AlignmentPlan`.
    """

    population: Population
    rho: float
    match: tuple[MatchKey, ...]
    keying: str
    duplicates: str
    across_slices: str

    @classmethod
    def parse(cls, section: Mapping[str, Any]) -> AlignmentOrder:
        """An order from its TOML values, whose types are checked.

        Raises:
            DataError: a value is out of range.
        """
        match = section.get("match", [["key:exact"]])
        rho = float(section.get("rho", DEFAULT_RHO))
        if not 0 < rho < math.inf:
            raise DataError("plan: expected a positive finite rho in [alignment], got another value; fix it")
        population = Population.named(section.get("population", Population.EVERYWHERE.value))
        if section.get("across_slices") and population is not Population.EVERYWHERE:
            raise DataError(
                'plan: expected the population "everywhere" with across_slices, got another; remove one'
            )
        return cls(
            population,
            rho,
            tuple(map(tuple, match)),
            section.get("keying", HMAC),
            section.get("duplicates", FIRST),
            section.get("across_slices", ""),
        )

    def plan(self, federation: Federation) -> AlignmentPlan:
        """What parties sign before they align their rows.

        Raises:
            DataError: match keys or another value are invalid, or too many parties are compared.
        """
        partition = federation.partition
        return AlignmentPlan(
            partition.domain,
            tuple(replace(entry, record_count=0) for entry in partition.roster),
            match=self.match,
            keying=self.keying,
            duplicates=self.duplicates,
            across_slices=self.across_slices,
        )


def check_population(population: Population) -> None:
    """Refuses a population of which people with all rows cannot be counted.

    Raises:
        DataError: it is not that of people everywhere.
    """
    if population is not Population.EVERYWHERE:
        raise DataError(
            f'population: expected "everywhere" for people with all rows, got {population.value!r}; change it'
        )


@dataclass(frozen=True)
class AlignmentProposal:
    """An alignment as it is proposed to the parties.

    Attributes:
        release_id: unique identifier of the release that makes it.
        order: how rows are aligned.
        spec: the releases that will count on it: whom they protect, and the reason. Of people with all rows,
            one row names the person of all of them.
    """

    release_id: str
    order: AlignmentOrder
    spec: ReleaseSpec

    @property
    def granted(self) -> Fraction:
        """Upper limit of all costs, zCDP."""
        return Fraction(self.order.rho)

    def terms(self, federation: Federation) -> ReleaseTerms:
        """The terms of the release over these parties."""
        nothing = hashlib.sha256(b"").hexdigest()
        purpose = Purpose(
            federation.domain.digest(),
            json.dumps({"name": ALIGNMENT}),
            "no marginal",
            nothing,
        )
        budget, plan = Budget(zcdp_rho=self.order.rho), self.order.plan(federation)
        spec = replace(self.spec, budget=budget, protocol=ALIGNMENT, rows=None).over(plan)
        return ReleaseTerms(self.release_id, federation.protocol_version, spec, self.order.rho, plan, purpose)
