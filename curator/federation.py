"""The parties of a release, slice by slice, checked against each other before any data is touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..common.domain import Clique, Domain
from ..common.errors import DataError, PolicyError, ProtocolError
from ..common.messages import PROTOCOL_VERSION, Acceptance, PartyDescription, ReleaseTerms
from .party_client import Connection, PartyClient


@dataclass(frozen=True, eq=False)
class Member:
    """One party: how to ask it and what it said of itself."""

    client: PartyClient
    description: PartyDescription

    @property
    def attributes(self) -> Clique:
        """The attributes that it holds."""
        return self.description.domain.names


@dataclass(frozen=True, eq=False)
class Federation:
    """All parties of a release.

    Attributes:
        domain: of the whole table.
        slices: for each slice, the parties that hold its records.
    """

    domain: Domain
    slices: tuple[tuple[Member, ...], ...]

    @property
    def members(self) -> tuple[Member, ...]:
        """All parties, slice by slice: the roster's order."""
        return tuple(member for piece in self.slices for member in piece)

    @property
    def record_counts(self) -> tuple[int, ...]:
        """Records of each slice; public."""
        return tuple(members[0].description.record_count for members in self.slices)

    def accept(self, terms: ReleaseTerms, signature: bytes = b"") -> tuple[Acceptance, ...]:
        """Asks every party to reserve the release's budget; the first refusal ends it.

        Args:
            terms: of the release.
            signature: the curator's, over them.

        Returns:
            What each party signed, in the order of `members`.

        Raises:
            PolicyError: a party's policy does not allow the release; names the party.
        """
        for member in self.members:
            if terms.protocol not in member.description.protocols:
                raise PolicyError(
                    f"party {member.description.name!r} does not allow the protocol {terms.protocol!r}; "
                    "choose another or ask its owner"
                )
        return tuple(member.client.accept(terms, signature) for member in self.members)


def connect(domain: Domain, slices: Sequence[Sequence[Connection]]) -> Federation:
    """Asks every party who it is and checks that the pieces make up one table.

    Args:
        domain: of the whole table, as the plan has it.
        slices: connections, slice by slice.

    Raises:
        DataError: slices that do not cover the domain with disjoint attributes, or whose parties differ
            in their record counts; names the slice and the parties.
        ProtocolError: a party of another protocol version.
    """
    if not slices or not all(slices):
        raise DataError("expected at least one slice and one party in each; add parties to the plan")
    federation = Federation(domain, tuple(tuple(_member(link) for link in links) for links in slices))
    for number, members in enumerate(federation.slices, start=1):
        _check_slice(domain, number, members)
    return federation


def _member(connection: Connection) -> Member:
    client = PartyClient(connection)
    description = client.describe()
    if description.protocol_version != PROTOCOL_VERSION:
        raise ProtocolError(
            f"party {description.name!r} speaks protocol version {description.protocol_version}, "
            f"this curator version {PROTOCOL_VERSION}; bring both to one release of the software"
        )
    return Member(client, description)


def _check_slice(domain: Domain, number: int, members: Sequence[Member]) -> None:
    holder: dict[str, str] = {}
    for member in members:
        name = member.description.name
        ordered = [attribute for attribute in domain if attribute in member.attributes]
        for attribute in member.description.domain:
            if attribute not in domain.names:
                raise DataError(
                    f"slice {number}: party {name!r} holds {attribute!r}, which the plan's domain lacks"
                )
            if attribute in holder:
                raise DataError(
                    f"slice {number}: {holder[attribute]!r} and {name!r} both hold {attribute!r}; "
                    "let one of them"
                )
            if member.description.domain[attribute] != domain[attribute]:
                raise DataError(
                    f"slice {number}: party {name!r} codes {attribute!r} otherwise than the plan; "
                    "give both the same domain file"
                )
            holder[attribute] = name
        if list(member.attributes) != ordered:
            raise DataError(
                f"slice {number}: party {name!r} holds its attributes in another order than the plan; "
                "give both the same domain file"
            )
    missing = [attribute for attribute in domain if attribute not in holder]
    if missing:
        raise DataError(
            f"slice {number}: no party holds {missing}; add a party or take them out of the domain"
        )
    counts = {member.description.record_count for member in members}
    if len(counts) > 1:
        stated = ", ".join(
            f"{member.description.name}: {member.description.record_count}" for member in members
        )
        raise DataError(
            f"slice {number}: its parties hold different numbers of records ({stated}); align them"
        )
