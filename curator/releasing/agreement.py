"""The way to a measurer over parties: connect, propose, accept, begin.

Daemons, simulations and tests all take it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Domain
from ...common.errors import PolicyError
from ...common.messages import PROTOCOL_VERSION, Acceptance, ReleaseTerms
from ...common.privacy.cost import Adjacency
from ...common.protocols.registry import Protocol
from ..measurers.catalogue import measuring
from ..measurers.federation import FederationMeasurer
from ..measurers.measurer import Measurer
from ..parties.asking import Asking
from ..parties.client import Connection
from ..parties.federation import Federation, connect

Sealing = Callable[[ReleaseTerms], tuple[ReleaseTerms, bytes]]
"""The terms that are put to the parties, for those proposed, and the curator's signature on them."""


@dataclass(frozen=True)
class Proposal:
    """What parties are asked to agree to.

    Attributes:
        release_id: unique.
        protocol: that they speak.
        adjacency: which tables are neighbours.
        granted: upper limit of all costs, zCDP.
        collusions: of a protocol that tolerates some; None for its default.
        copies: how often parties are charged for what is granted once.
    """

    release_id: str
    protocol: Protocol
    adjacency: Adjacency
    granted: Fraction
    collusions: int | None = None
    copies: int = 1

    @property
    def charged_rho(self) -> float:
        """What parties have to grant, as the float that crosses the wire; rounded up where it has to be."""
        if self.copies == 1:
            return float(self.granted)
        return float(self.granted * self.copies) * (1 + 2.0**-50)

    def terms(self, federation: Federation) -> ReleaseTerms:
        """The terms of the release over these parties."""
        name = self.protocol.name
        plan = measuring(name).plan(federation, self.granted, self.adjacency, self.collusions)
        return ReleaseTerms(self.release_id, PROTOCOL_VERSION, name, self.adjacency, self.charged_rho, plan)


@dataclass(frozen=True, eq=False)
class Agreement:
    """Parties that accepted a release.

    Attributes:
        federation: the parties.
        terms: of the release.
        signature: the curator's, over the terms; empty where nobody signed.
        acceptances: what each party signed.
        granted: upper limit of all costs, zCDP.
    """

    federation: Federation
    terms: ReleaseTerms
    signature: bytes
    acceptances: tuple[Acceptance, ...]
    granted: Fraction

    def measurer(
        self, dealer: RandomStream, asking: Asking | None = None, *, record_wise: bool = False
    ) -> Measurer:
        """What measures under the terms.

        Args:
            dealer: where dealt randomness comes from.
            asking: how what costs budget is asked for.
            record_wise: see `FederationMeasurer`.
        """
        if record_wise:
            return FederationMeasurer(
                self.federation, self.terms, self.granted, record_wise=True, asking=asking
            )
        begin = measuring(self.terms.protocol).begin
        return begin(self.federation, self.terms, self.acceptances, self.granted, dealer, asking)


def agree(
    domain: Domain,
    links: Sequence[Sequence[Connection]],
    proposal: Proposal,
    *,
    left_out: Mapping[str, Sequence[str]] | None = None,
    identities: Mapping[str, bytes] | None = None,
    sealing: Sealing = lambda terms: (terms, b""),
    asking: Asking | None = None,
) -> Agreement:
    """Asks all parties who they are, and to accept the terms; each reserves the budget.

    Args:
        domain: of the whole table.
        links: connections to the parties, slice by slice.
        proposal: of the release.
        left_out: names of attributes, by the name of a party that holds them and does not answer for them.
        identities: by name, as on the parties' cards; None takes the parties' word for it.
        sealing: fixes and signs the terms.
        asking: how to wait for parties.

    Raises:
        DataError: the parties do not make up the table.
        PolicyError: a party is not the one of its card, or does not allow the release; names the party.
        PartyUnavailable: a party stayed away.
    """
    asking = asking or Asking()
    federation = asking.persist(lambda: connect(domain, links, left_out), nothing_to_forget)
    for member in federation.members if identities is not None else ():
        said = member.description
        if identities is not None and identities.get(said.name) != said.identity:
            raise PolicyError(
                f"party {said.name!r} has not the identity of an enrolled card; get its card and enroll it"
            )
    terms, signature = sealing(proposal.terms(federation))
    acceptances = asking.persist(lambda: federation.accept(terms, signature), nothing_to_forget)
    return Agreement(federation, terms, signature, acceptances, proposal.granted)


def nothing_to_forget() -> None:
    """Nothing is delivered to parties before they measure."""
