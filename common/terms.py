"""Terms of a release, which the curator proposes and every party accepts or refuses, as a frozen value."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction

from .data.domain import Clique
from .federation.protocol_versions import DROPOUTS, LENGTHS
from .labels import LabelSearch
from .privacy.budget import Budget
from .privacy.cost import Adjacency, PrivacyUnit
from .privacy.spending import Cost
from .protocols.alignment.plan import ALIGNMENT, AlignmentPlan
from .protocols.dropouts.plan import DropoutPlan
from .protocols.masked.plan import MaskedPlan
from .protocols.partition import Partition, RosterEntry
from .protocols.registry import INDICATOR, MASKED, TRUSTED
from .release_spec import ReleaseSpec

_RELEASE_ID = re.compile(r"[0-9a-f]{32}")

_PLANNED_OF_A_PART = frozenset({"domain", "roster", "related", "ring"})
"""Of a plan, what each part of a release of related tables has of its own."""


@dataclass(frozen=True)
class Purpose:
    """What the answers of a release are for, and what they may be.

    Attributes:
        domain_digest: SHA-256 of the whole table's domain, as hexadecimal digits (`Domain.digest`).
        mechanism: name, variant and parameters of the mechanism, as JSON text.
        workload: the marginals to preserve, in words (`Workload.in_words`).
        workload_digest: SHA-256 of these marginals and their weights, as hexadecimal digits.
        labels: open categories whose labels the release looks for; None for none.
        max_cells: the release measures no marginal with more cells; None if it does not say.
        max_attributes: it measures no marginal of more attributes; None if it does not say.
        unreviewed: attributes whose bounds or categories were read from private rows, and that nobody has
            reviewed; such a release is not private as stated.
    """

    domain_digest: str
    mechanism: str
    workload: str
    workload_digest: str
    labels: LabelSearch | None = None
    max_cells: int | None = None
    max_attributes: int | None = None
    unreviewed: Clique = ()

    def __post_init__(self) -> None:
        if self.max_cells is not None and self.max_cells < 0:
            raise ValueError("a marginal cannot have fewer than no cells")
        if self.max_attributes is not None and self.max_attributes < 1:
            raise ValueError("a marginal cannot have fewer than one attribute")

    def measures(self, clique: Clique, cells: int) -> bool:
        """Whether the release may measure a marginal of so many cells."""
        small = self.max_cells is None or cells <= self.max_cells
        return small and (self.max_attributes is None or len(clique) <= self.max_attributes)


@dataclass(frozen=True)
class ReleaseTerms:
    """Terms of a release, which every party accepts or refuses.

    Attributes:
        release_id: 32 lower-case hexadecimal digits, unique among all releases that the party ever took
            part in.
        protocol_version: version of the protocol that all participants use.
        spec: what the release promises, by which protocol, with what its parties agree on.
        granted_rho: upper limit of the total cost of the release, zCDP.
        plan: which party holds what; with the protocol `masked` a `MaskedPlan`, in the parts of the unit, to
            align rows an `AlignmentPlan`.
        purpose: what the answers are for.
    """

    release_id: str
    protocol_version: int
    spec: ReleaseSpec
    granted_rho: float
    plan: Partition | MaskedPlan | AlignmentPlan | DropoutPlan
    purpose: Purpose

    def __post_init__(self) -> None:
        if not _RELEASE_ID.fullmatch(self.release_id):
            raise ValueError("the id of a release must be 32 lower-case hexadecimal digits")
        if not 0 < self.granted_rho < math.inf:
            raise ValueError("the budget of a release must be a positive finite rho")
        if (self.masked_plan is not None) != (self.spec.protocol == MASKED.name):
            raise ValueError("a release needs a masked plan with the protocol 'masked', and none with others")
        if (self.aligning is not None) != (self.spec.protocol == ALIGNMENT):
            raise ValueError("a release needs match keys to align rows, and none with another protocol")
        # Their canonical form states by the kind of the plan whether parties may drop out.
        dropping = self.plan if isinstance(self.plan, DropoutPlan) else None
        most = 0 if dropping is None else dropping.may_drop_out
        object.__setattr__(self, "spec", replace(self.spec, may_drop_out=most))
        if self.spec != self.spec.over(self.plan):
            raise ValueError("a release has the collusions, the check and the sample of its plan")
        if dropping is not None and self.purpose.labels is not None:
            raise ValueError("a release whose parties may drop out looks for no labels")
        if dropping is not None and self.protocol_version < DROPOUTS:
            raise ValueError(f"parties may drop out since protocol version {DROPOUTS}")
        self.plan.check_identities()
        unreviewed = self.purpose.unreviewed
        if unreviewed != tuple(name for name in self.plan.domain if name in unreviewed):
            raise ValueError("a release names its unreviewed attributes once, in the order of its plan")
        if self.aligning is not None and self.purpose.labels is not None:
            raise ValueError("a release that aligns rows looks for no labels")
        if self.unit.parts > 1 and self.purpose.labels is not None:
            raise ValueError("a release of people with all rows looks for no labels")
        if self.unit.parts > 1 and not counts_people(self.spec.protocol, self.plan):
            raise ValueError("the protocol does not count people with all rows")
        part = self.plan.related
        if part is not None and (self.unit.parts == 1 or part.left_rho < self.granted_rho):
            raise ValueError("a part of a release of related tables counts people, within what is left of it")
        if self.masked_plan is not None and self.masked_plan.parts != self.unit.parts:
            object.__setattr__(self, "plan", replace(self.masked_plan, parts=self.unit.parts))
        # A replaced person may change an interaction by twice a length, which a replaced record does not.
        by_length = (
            part is not None
            and self.protocol_version >= LENGTHS
            and self.unit.adjacency is not Adjacency.REPLACE_ONE
            and part.may_weigh_by_length
            and all(_holders(entries, part.below_people) <= 1 for entries in self.plan.slices)
        )
        if part is not None and part.by_length != by_length:
            stated = copy.copy(part)
            object.__setattr__(stated, "by_length", by_length)
            object.__setattr__(self, "plan", replace(self.plan, related=stated))

    @property
    def granted_cost(self) -> Cost:
        """Upper limit of the cost of the release, with the delta of the labels that it looks for."""
        search = self.purpose.labels
        delta = Fraction(0) if search is None else Fraction(search.delta)
        return Cost(self.unit, Fraction(self.granted_rho), delta)

    @property
    def decided_cost(self) -> Cost:
        """What is decided on with the release: its cost, and of a part of related tables that of all left."""
        part = self.plan.related
        return self.granted_cost if part is None else part.left(self.unit)

    @property
    def before(self) -> Cost:
        """What the release that chose the codes cost; the promise covers it too."""
        chosen = self.plan.chosen
        if chosen is None:
            return Cost(self.unit)
        return Cost(self.unit, Fraction(chosen.zcdp_rho), Fraction(chosen.labels_delta))

    @property
    def noise_budget(self) -> Budget:
        """The promise that noise has to keep: without the delta of labels, here and of chosen ones.

        Raises:
            BudgetError: labels take the whole delta, or there is none.
        """
        search, chosen, budget = self.purpose.labels, self.plan.chosen, self.spec.budget
        here = budget if search is None else budget.without_delta(search.delta)
        return here if chosen is None else here.without_delta(chosen.labels_delta)

    @property
    def whole(self) -> tuple[object, ...]:
        """What is the same in all parts of a release of related tables; empty of a single table.

        It is all that terms state but what each part has of its own: its id, its columns and how it measures
        them, its share of the cost, its rows, and the day on which the parties were asked.
        """
        part = self.plan.related
        if part is None:
            return ()
        about = replace(self.spec.about, asked="")
        spec = replace(self.spec, budget=Budget(zcdp_rho=part.zcdp_rho), rows=None, about=about)
        tables = tuple((one.table, one.parent, one.order) for one in part.relations)
        parties = tuple((entry.name, entry.slice, entry.identity) for entry in self.plan.roster)
        agreed = tuple(
            getattr(self.plan, one.name) for one in fields(self.plan) if one.name not in _PLANNED_OF_A_PART
        )
        return (part.whole, self.protocol_version, spec, tables, parties, type(self.plan), *agreed)

    @property
    def unit(self) -> PrivacyUnit:
        """What differs between neighbouring tables; every cost is for it."""
        return self.spec.unit

    @property
    def masked_plan(self) -> MaskedPlan | None:
        """The plan of the protocol `masked`; None with any other protocol."""
        return self.plan if isinstance(self.plan, MaskedPlan) else None

    @property
    def aligning(self) -> AlignmentPlan | None:
        """The plan of a release that aligns rows; None of any other."""
        return self.plan if isinstance(self.plan, AlignmentPlan) else None


def counts_people(protocol: str, plan: Partition) -> bool:
    """Whether a protocol counts people with all rows over these parties.

    Noisy vectors of each person are not in parts, so `indicator` does so only if each slice has one party.
    """
    whole = len(plan.roster) == plan.slice_count
    return protocol in (MASKED.name, TRUSTED.name, ALIGNMENT) or (protocol == INDICATOR.name and whole)


def _holders(entries: Iterable[RosterEntry], names: frozenset[str]) -> int:
    """How many parties of a slice hold one of these attributes."""
    return sum(not names.isdisjoint(entry.attributes) for entry in entries)
