"""From connections to a measurer over parties: connect, propose, accept, begin.

Used by releases over daemons, simulations and tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from ...common.data.domain import Domain
from ...common.errors import (
    ApprovalPending,
    DataError,
    DeliveriesLost,
    MosaicError,
    PartyUnavailable,
    PolicyError,
)
from ...common.federation.protocol_versions import DROPOUTS
from ...common.messages import Acceptance
from ...common.privacy.budget import Budget
from ...common.privacy.cost import ROWS_PER_PERSON, Adjacency
from ...common.protocols.chosen import Chosen
from ...common.protocols.dropouts.plan import MAY_DROP_OUT
from ...common.protocols.masked.dealers import CURATOR_DEALS
from ...common.protocols.masked.plan import MaskedPlan
from ...common.protocols.registry import MASKED
from ...common.release_spec import ReleaseSpec
from ...common.terms import Purpose, ReleaseTerms, counts_people
from ..measurers.catalogue import measuring
from ..measurers.federation import FederationMeasurer
from ..measurers.measurer import Measurer
from ..measurers.planning import dropout_plan
from ..parties.alignments import Aligned
from ..parties.asking import Asking
from ..parties.client import Connection
from ..parties.direct_streams import DirectStreams
from ..parties.federation import Federation, PartOfTables, connect
from ..parties.marks import Marks

Sealing = Callable[[ReleaseTerms], tuple[ReleaseTerms, bytes]]
"""Maps proposed terms to those that the parties are asked to accept, and the curator's signature on them."""


@dataclass(frozen=True)
class Proposal:
    """A release as it is proposed to the parties.

    Attributes:
        release_id: unique identifier of the release.
        spec: what it promises, by which protocol.
        granted: upper limit of all costs, zCDP.
        purpose: what the answers are for.
        copies: factor by which parties are charged more than is granted.
        counted: whether the number of rows was released with noise before, and the party states that.
    """

    release_id: str
    spec: ReleaseSpec
    granted: Fraction
    purpose: Purpose
    copies: int = 1
    counted: bool = False

    @property
    def charged_rho(self) -> float:
        """What parties have to grant, as the float that is sent; rounded up if necessary."""
        if self.copies == 1:
            return float(self.granted)
        return float(self.granted * self.copies) * (1 + 2.0**-50)

    def terms(self, federation: Federation) -> ReleaseTerms:
        """The terms of the release over these parties.

        Raises:
            DataError: the parties are aligned and the protocol is not `masked`; or they are not, and the
                adjacency hides the number of records.
        """
        name, adjacency = self.spec.protocol, self.spec.adjacency
        if federation.aligned is not None and name != MASKED.name:
            raise DataError(
                f"protocol: expected {MASKED.name!r} over aligned parties, got {name!r}; change it, "
                "or remove [alignment]"
            )
        if federation.aligned is None and adjacency is Adjacency.ADD_REMOVE and not self.counted:
            raise DataError(
                f"adjacency: {adjacency.value!r} hides the number of records, which is public unless the "
                "parties are aligned; add [alignment], or choose 'zero-out'"
            )
        unit = self.spec.unit
        _check_singles(federation.domain, federation.max_cells)
        if unit.parts > 1 and not counts_people(name, federation.partition):
            raise DataError(
                f"protocol: over parties of one slice expected {MASKED.name!r} for people with all "
                f"rows, got {name!r}; change it, or state a number in {ROWS_PER_PERSON}"
            )
        asked, lost = (federation, self.granted, unit, self.spec.collusions), self.spec.may_drop_out
        if lost and self.purpose.labels is not None:
            raise DataError(
                f"{MAY_DROP_OUT}: labels of open categories need all parties; leave it out, or list all "
                "categories in the domain"
            )
        if lost:
            federation.check_speak(DROPOUTS, MAY_DROP_OUT)
        plan = dropout_plan(*asked, lost) if lost else measuring(name).plan(*asked)
        if isinstance(plan, MaskedPlan):
            plan = replace(plan, check=self.spec.check).with_sample(self.spec.sample)
        spec = self.spec if self.copies == 1 else replace(self.spec, budget=Budget(zcdp_rho=self.charged_rho))
        return ReleaseTerms(
            self.release_id,
            federation.protocol_version,
            spec.over(plan),
            self.charged_rho,
            plan,
            replace(self.purpose, max_cells=federation.max_cells),
        )


class Proposing(Protocol):
    """What gives the terms of a release once its parties are known."""

    @property
    def granted(self) -> Fraction:
        """Upper limit of all costs, zCDP."""
        ...

    def terms(self, federation: Federation) -> ReleaseTerms:
        """The terms of the release over these parties."""
        ...


@dataclass(frozen=True, eq=False)
class Agreement:
    """Parties that accepted a release.

    Attributes:
        federation: the parties.
        terms: terms of the release.
        signature: the curator's signature of the terms; empty if unsigned.
        acceptances: signed acceptance of each participant, in the plan's order; empty if all answers are
            recalled.
        granted: upper limit of all costs, zCDP.
    """

    federation: Federation
    terms: ReleaseTerms
    signature: bytes
    acceptances: tuple[Acceptance, ...]
    granted: Fraction

    def measurer(self, asking: Asking | None = None, *, record_wise: bool = False) -> Measurer:
        """The measurer of the release.

        Args:
            asking: recalls answers and retries.
            record_wise: see `FederationMeasurer`.
        """
        if record_wise:
            return FederationMeasurer(
                self.federation, self.terms, self.granted, record_wise=True, asking=asking
            )
        begin = measuring(self.terms.spec.protocol).begin
        return begin(self.federation, self.terms, self.acceptances, self.granted, asking)


def agree(
    domain: Domain,
    links: Sequence[Sequence[Connection]],
    proposal: Proposing,
    *,
    dealers: Sequence[str | Connection] = (),
    left_out: Mapping[str, Sequence[str]] | None = None,
    identities: Mapping[str, bytes] | None = None,
    sealing: Sealing = lambda terms: (terms, b""),
    asking: Asking | None = None,
    marks: Marks | None = None,
    aligned: Aligned | None = None,
    counted: bool = True,
    chosen: Chosen | None = None,
    direct: DirectStreams = DirectStreams.NEVER,
    refused: Callable[[Federation, MosaicError], None] = lambda federation, refusal: None,
    recalled: bool = False,
    part: PartOfTables | None = None,
) -> Agreement:
    """Asks all parties to identify themselves and to accept the terms; each reserves the budget.

    Nobody reserves anything before all have said that they allow the release.

    Args:
        domain: domain of the whole table.
        links: connections to the parties, slice by slice.
        proposal: the proposed release.
        dealers: who may deal: names of parties, and connections to dealers that are none.
        left_out: for each party by name, attributes that it holds but does not answer for.
        identities: by name, as on the parties' cards; None accepts the identities that parties state.
        sealing: finalises and signs the terms.
        asking: how to wait for parties.
        marks: marks of the parties' ledgers that were seen before; kept up to date.
        aligned: alignment of the parties' rows; None if the parties of a slice hold the same records.
        counted: see `connect`.
        chosen: see `connect`.
        direct: see `connect`.
        refused: called if a party refuses the terms for good, before the refusal is raised.
        recalled: all answers are known, and parties may have closed the release: they are asked nothing new.
        part: see `connect`.

    Raises:
        DataError: the parties' tables do not partition the table.
        PolicyError: a party's identity is not that of its card, or it does not allow the release; names it.
        PartyUnavailable: a party stayed unavailable.
    """
    asking = asking or Asking()
    federation = asking.persist(
        lambda: connect(
            domain,
            links,
            left_out,
            aligned,
            dealers=dealers,
            counted=counted,
            chosen=chosen,
            direct=direct,
            part=part,
        ),
        nothing_delivered,
    )
    if identities is not None:
        _check_identities(federation, identities)
    terms, signature = sealing(proposal.terms(federation))
    acceptances: tuple[Acceptance, ...] = ()
    if not recalled:
        try:
            asking.persist(lambda: federation.check_allowed(terms, signature, marks), nothing_delivered)
            acceptances = asking.persist(
                lambda: federation.accept(terms, signature, marks), nothing_delivered
            )
        except (ApprovalPending, PartyUnavailable):
            raise
        except MosaicError as refusal:
            refused(federation, refusal)
            raise
    return Agreement(federation, terms, signature, acceptances, proposal.granted)


def _check_identities(federation: Federation, identities: Mapping[str, bytes]) -> None:
    stated = [(member.description.name, member.description.identity) for member in federation.members]
    stated += [(dealer.entry.name, dealer.entry.identity) for dealer in federation.dealers]
    for name, identity in stated:
        if name != CURATOR_DEALS and identities.get(name) != identity:
            raise PolicyError(
                f"{name!r}: expected the identity of its enrolled card, got another; enroll its card"
            )


def _check_singles(domain: Domain, most: int | None) -> None:
    """Refuses attributes whose own marginal is larger than a party or dealer allows."""
    large = [name for name in domain if most is not None and domain[name].size > most]
    if large:
        raise DataError(
            f"the parties and dealers allow marginals of at most {most} cells, and {', '.join(large)} has "
            "more values; declare fewer, or ask their owners to raise max_cells"
        )


def nothing_delivered(lost: DeliveriesLost) -> None:
    """No reset before a retry: nothing is delivered to parties before they measure."""
