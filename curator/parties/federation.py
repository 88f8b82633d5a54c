"""The parties of a release, slice by slice, checked against each other before any data is accessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...common.data.domain import Clique, Domain
from ...common.data.gaps import check_together
from ...common.errors import DataError, MosaicError, ProtocolError
from ...common.federation.protocol_versions import NEWEST, SPOKEN
from ...common.history import START
from ...common.messages import Acceptance, PartyDescription, Verdict
from ...common.protocols.aligned import Population
from ...common.protocols.chosen import Chosen
from ...common.protocols.masked.dealers import CURATOR_DEALS, DealerEntry
from ...common.protocols.partition import Partition, RosterEntry
from ...common.protocols.related import RelatedPart
from ...common.terms import ReleaseTerms
from .alignments import Aligned
from .client import Connection, PartyClient
from .direct_streams import DirectStreams, check_direct
from .marks import Marks
from .replies import raise_worst, reply_or_error, together


@dataclass(frozen=True, eq=False)
class Member:
    """One party of a release.

    Attributes:
        client: client of the party.
        description: description that the party gave of itself.
        attributes: attributes that it answers for in this release, without those that the plan leaves out.
    """

    client: PartyClient
    description: PartyDescription
    attributes: Clique

    @property
    def domain(self) -> Domain:
        """The attributes that it holds."""
        assert self.description.domain is not None, "a member is a party"
        return self.description.domain


@dataclass(frozen=True, eq=False)
class DealerMember:
    """One dealer of a release.

    Attributes:
        client: client of the dealer.
        entry: name and identity.
        party: whether it is a party of the release too.
        description: description that the dealer gave of itself.
    """

    client: PartyClient
    entry: DealerEntry
    party: bool
    description: PartyDescription


@dataclass(frozen=True, eq=False)
class Federation:
    """All parties of a release.

    Attributes:
        domain: domain of the whole table, with the chosen codes; with the value `absent` if it counts people
            of any party.
        slices: for each slice, the parties that hold its records.
        aligned: alignment of their rows; None if the parties of a slice hold the same records.
        dealers: who may deal the randomness of slices of several parties, in order.
        chosen: the codes that an earlier release chose; None if the parties' domain files say all codes.
        related: of whose records it is a part of a release of related tables; None of a single table.
    """

    domain: Domain
    slices: tuple[tuple[Member, ...], ...]
    aligned: Aligned | None = None
    dealers: tuple[DealerMember, ...] = ()
    chosen: Chosen | None = None
    related: RelatedPart | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        """All parties, slice by slice, in the roster's order."""
        return tuple(member for piece in self.slices for member in piece)

    @property
    def by_files(self) -> tuple[Member, ...]:
        """The parties that are reached by files."""
        return tuple(member for member in self.members if member.client.by_files)

    @property
    def record_counts(self) -> tuple[int, ...]:
        """Rows of each slice, or positions if they are aligned; public."""
        if self.aligned is not None:
            return self.aligned.sizes
        return tuple(members[0].description.record_count or 0 for members in self.slices)

    @property
    def record_count(self) -> int:
        """Records of the whole table, a noisy number if they are aligned; public."""
        if self.aligned is None:
            return sum(self.record_counts)
        return sum(map(self.aligned.alignment.record_count, range(len(self.slices))))

    @property
    def max_cells(self) -> int | None:
        """The largest number of cells that all parties and dealers allow a marginal; None for any."""
        stated = (said.max_cells for said in self._descriptions)
        return min((limit for limit in stated if limit is not None), default=None)

    @property
    def protocol_version(self) -> int:
        """The newest version of the protocol that the curator and all participants speak."""
        return min((said.versions.newest for said in self._descriptions), default=NEWEST)

    def check_versions(self) -> None:
        """Refuses participants that have no version of the protocol in common.

        Raises:
            ProtocolError: that; names who is older, and who is newer.
        """
        version = self.protocol_version
        newer = ", ".join(said.name for said in self._descriptions if version < said.versions.oldest)
        if newer:
            older = ", ".join(said.name for said in self._descriptions if version == said.versions.newest)
            raise ProtocolError(
                f"{older} speaks protocol version {version} at most, and {newer} does not speak it any more; "
                f"upgrade dpmosaic at {older}"
            )

    def check_speak(self, version: int, option: str) -> None:
        """Refuses an option that somebody does not know yet.

        Args:
            version: version of the protocol that brought the option.
            option: its name in plans.

        Raises:
            DataError: it is newer than a participant; names it.
        """
        older = ", ".join(said.name for said in self._descriptions if version not in said.versions)
        if older:
            raise DataError(
                f"{option}: needs protocol version {version}, and {older} speaks an older one; upgrade "
                "dpmosaic there, or leave it out"
            )

    @property
    def _descriptions(self) -> tuple[PartyDescription, ...]:
        members = [member.description for member in self.members]
        return (*members, *(dealer.description for dealer in self.dealers))

    @property
    def partition(self) -> Partition:
        """Which party holds what, with the attributes' sizes only."""
        roster = tuple(
            RosterEntry(
                member.description.name,
                number,
                member.attributes,
                records,
                member.description.identity,
            )
            for number, (members, records) in enumerate(zip(self.slices, self.record_counts, strict=True))
            for member in members
        )
        coded = Domain.coded({name: self.domain[name].size for name in self.domain})
        alignment = None if self.aligned is None else self.aligned.alignment
        return Partition(coded, roster, alignment=alignment, chosen=self.chosen, related=self.related)

    def accept(
        self, terms: ReleaseTerms, signature: bytes = b"", marks: Marks | None = None
    ) -> tuple[Acceptance, ...]:
        """Asks every party and dealer to reserve the release's budget, also after one of them did not.

        Args:
            terms: terms of the release.
            signature: the curator's signature of the terms.
            marks: marks of the parties' ledgers that were seen before; kept up to date.

        Returns:
            The signed acceptance of each participant, in the plan's order.

        Raises:
            PolicyError: a party's policy does not allow the release; names every party that refuses.
            ProtocolError: a party's ledger was restored from an old copy; names the party.
            PartyUnavailable: none refuses, and a party does not answer.
            AnswerPending: none refuses, and the answer of a party by files is not here.
            ApprovalPending: none refuses, all answer, and some wait for their operators; names all of these.
        """
        marks = Marks() if marks is None else marks
        accepted = self._acceptances(terms, signature, marks)
        if (terms.masked_plan or terms.aligning) is not None and len(self.members) > 1:
            # Parties compare the marks of the others with those that they had seen when they accepted the
            # release first, so each states its mark again after all have accepted.
            # Those by files accepted last.
            accepted = self._acceptances(terms, signature, marks, accepted)
        return accepted

    def dealers_of(self, terms: ReleaseTerms) -> tuple[DealerMember, ...]:
        """The dealers of a release that are no party, in the plan's order."""
        places = {member.entry.name: member for member in self.dealers}
        roster = terms.plan.roster
        return tuple(places[entry.name] for entry in terms.plan.participants[len(roster) :])

    def clients_of(self, terms: ReleaseTerms) -> dict[str, PartyClient]:
        """The clients of all participants of a release but a curator that deals, by name."""
        parties = {member.description.name: member.client for member in self.members}
        dealers = {dealer.entry.name: dealer.client for dealer in self.dealers_of(terms)}
        dealers.pop(CURATOR_DEALS, None)
        return parties | dealers

    def review(
        self, terms: ReleaseTerms, signature: bytes = b"", marks: Marks | None = None
    ) -> dict[str, Verdict | MosaicError]:
        """What every participant but those by files would say to terms; see `accept`.

        Reserves and charges nothing. Those by files are not asked twice: they accept or refuse at once.

        Returns:
            By name, its verdict, or the error by which it refused to look at them.
        """
        marks = Marks() if marks is None else marks
        return {
            name: reply_or_error(partial(client.review, terms, signature, marks.of(identity)))
            for name, identity, client in self._participants(terms)
            if not client.by_files
        }

    def check_allowed(self, terms: ReleaseTerms, signature: bytes, marks: Marks | None = None) -> None:
        """Returns only if all but those by files would accept terms, or leave the decision to a person.

        Raises:
            PolicyError: one would not; names all of these and all of their reasons.
            PartyUnavailable: none refuses, and a party does not answer.
        """
        failed: dict[str, MosaicError] = {}
        for name, said in self.review(terms, signature, marks).items():
            if isinstance(said, MosaicError):
                failed[name] = said
            elif said.refusals:
                failed[name] = together([type(r)(f"{name!r}: {r}") for r in said.refusals])
        raise_worst(failed)

    def _participants(self, terms: ReleaseTerms) -> list[tuple[str, bytes, PartyClient]]:
        """Name, identity and client of all participants, in the plan's order."""
        named = [(m.description.name, m.description.identity, m.client) for m in self.members]
        return named + [(d.entry.name, d.entry.identity, d.client) for d in self.dealers_of(terms)]

    def _acceptances(
        self,
        terms: ReleaseTerms,
        signature: bytes,
        marks: Marks,
        before: tuple[Acceptance, ...] = (),
    ) -> tuple[Acceptance, ...]:
        """The acceptances of all participants, in the plan's order; those by files come last, and once."""
        everybody = self._participants(terms)
        asked: dict[str, Acceptance | MosaicError] = {
            name: said for (name, _, client), said in zip(everybody, before, strict=False) if client.by_files
        }
        for slow in (False, True):
            new = [one for one in everybody if one[2].by_files is slow and one[0] not in asked]
            for _, identity, client in new:
                client.foresee_accept(terms, signature, marks.of(identity))
            asked |= {
                name: reply_or_error(partial(_accept, name, identity, client, terms, signature, marks))
                for name, identity, client in new
            }
            raise_worst({name: said for name, said in asked.items() if isinstance(said, MosaicError)})
        accepted = (asked[name] for name, _, _ in everybody)
        return tuple(said for said in accepted if isinstance(said, Acceptance))


@dataclass(frozen=True)
class PartOfTables:
    """A part of a release of related tables, and which party holds which tables.

    Attributes:
        stated: what the terms state of it.
        holds: party -> names of its tables.
    """

    stated: RelatedPart
    holds: Mapping[str, tuple[str, ...]]

    def answers_of(self, member: Member) -> Member:
        """A party with the columns of records that it knows."""
        return replace(member, attributes=self.stated.held_by(self.holds[member.description.name]))


def connect(
    domain: Domain,
    slices: Sequence[Sequence[Connection]],
    left_out: Mapping[str, Sequence[str]] | None = None,
    aligned: Aligned | None = None,
    *,
    dealers: Sequence[str | Connection] = (),
    counted: bool = True,
    chosen: Chosen | None = None,
    direct: DirectStreams = DirectStreams.NEVER,
    part: PartOfTables | None = None,
) -> Federation:
    """Asks every party for its description and checks that the parties' tables partition one table.

    Args:
        domain: domain of the whole table, from the plan, as the parties have it.
        slices: connections, slice by slice.
        left_out: for each party by name, attributes that it holds but does not answer for.
        aligned: alignment of their rows; None if the parties of a slice hold the same records.
        dealers: who may deal: names of parties, and connections to dealers that are none.
        counted: whether the parties of a slice have to hold as many records each, unless they are aligned.
        chosen: the codes that an earlier release chose for the domain's open attributes, if any.
        direct: when openings go straight from party to party.
        part: of a release of related tables; None of a single table. Whether the parties hold what the plan
            says of all tables was checked when they were connected without one.

    Raises:
        PolicyError: direct streams are required, and two parties of a slice do not allow them.
        DataError: a slice does not cover the domain with disjoint attributes, or its parties differ in
            their record counts; names the slice and the parties.
        ProtocolError: two participants, or one and the curator, have no version of the protocol in common.
    """
    if not slices or not all(slices):
        raise DataError("expected at least one slice and one party in each; add parties to the plan")
    left_out = left_out or {}
    anywhere = aligned is not None and aligned.alignment.population is Population.ANYWHERE
    members = tuple(tuple(_member(link, left_out, direct) for link in links) for links in slices)
    if part is not None:
        members = tuple(tuple(map(part.answers_of, piece)) for piece in members)
    coded = domain if chosen is None else chosen.coding.domain(domain)
    federation = Federation(
        coded.with_absent() if anywhere else coded,
        members,
        aligned,
        tuple(_dealer(dealer, members) for dealer in dealers),
        chosen,
        None if part is None else part.stated,
    )
    federation.check_versions()
    for number, piece in enumerate(members, start=1):
        if part is None:
            _check_slice(domain, number, piece)
        if counted and aligned is None:
            _check_counts(number, piece)
        if direct is DirectStreams.REQUIRED:
            check_direct(number, [member.description for member in piece])
    return federation


def _dealer(dealer: str | Connection, slices: Sequence[Sequence[Member]]) -> DealerMember:
    if isinstance(dealer, str):
        found = [member for members in slices for member in members if member.description.name == dealer]
        if not found:
            raise DataError(f"dealer {dealer!r} is neither a party of the plan nor a dealer; fix the plan")
        entry = DealerEntry(dealer, found[0].description.identity)
        return DealerMember(found[0].client, entry, party=True, description=found[0].description)
    client = PartyClient(dealer)
    description = _describe(client)
    if description.domain is not None:
        raise DataError(
            f"{description.name!r} is a party of no slice, and parties deal only for releases in which they "
            "take part; name other dealers in the plan"
        )
    entry = DealerEntry(description.name, description.identity)
    return DealerMember(client, entry, party=False, description=description)


def _describe(client: PartyClient) -> PartyDescription:
    description = client.describe()
    if not description.versions.shares_with(SPOKEN):
        raise ProtocolError(
            f"{description.name!r} speaks protocol version {description.versions}, the curator {SPOKEN}; "
            "upgrade dpmosaic where it is older"
        )
    return description


def _member(connection: Connection, left_out: Mapping[str, Sequence[str]], direct: DirectStreams) -> Member:
    client = PartyClient(connection, direct)
    description = _describe(client)
    if description.domain is None:
        raise DataError(f"{description.name!r} is a dealer and holds no rows; take it out of the slices")
    out = left_out.get(description.name, ())
    unknown = [attribute for attribute in out if attribute not in description.domain.names]
    kept = tuple(attribute for attribute in description.domain if attribute not in out)
    if unknown or not kept:
        raise DataError(
            f"party {description.name!r} cannot leave out {', '.join(unknown or out)}: "
            f"{'it does not hold them' if unknown else 'no attribute would be left'}; fix leaves_out in the "
            "plan"
        )
    return Member(client, description, kept)


def _accept(
    name: str, identity: bytes, client: PartyClient, terms: ReleaseTerms, signature: bytes, marks: Marks
) -> Acceptance:
    seen = marks.of(identity)
    accepted = client.accept(terms, signature, seen)
    # A party by files itself refuses a mark that its ledger lacks; its answer may be older than the mark.
    marks.follow(name, identity, START if client.by_files else seen, accepted.mark)
    return accepted


def _check_slice(domain: Domain, number: int, members: Sequence[Member]) -> None:
    holder: dict[str, str] = {}
    for member in members:
        name = member.description.name
        ordered = [attribute for attribute in domain if attribute in member.attributes]
        for attribute in member.attributes:
            if attribute not in domain.names:
                raise DataError(
                    f"slice {number}: party {name!r} holds {attribute!r}, which the plan's domain lacks; "
                    "add it to the domain or name it in leaves_out"
                )
            if attribute in holder:
                raise DataError(
                    f"slice {number}: {holder[attribute]!r} and {name!r} both hold {attribute!r}; "
                    "name it in leaves_out of one of them in the plan"
                )
            if member.domain[attribute] != domain[attribute]:
                raise DataError(
                    f"slice {number}: party {name!r} codes {attribute!r} differently from the plan; "
                    "give both the same domain file"
                )
            holder[attribute] = name
        if list(member.attributes) != ordered:
            raise DataError(
                f"slice {number}: party {name!r} holds its attributes in another order than the plan; "
                "give both the same domain file"
            )
        check_together(domain, member.attributes, f"party {name!r} of slice {number}")
    missing = [attribute for attribute in domain if attribute not in holder]
    if missing:
        raise DataError(
            f"slice {number}: no party holds {missing}; add a party or take them out of the domain"
        )


def _check_counts(number: int, members: Sequence[Member]) -> None:
    counts = {member.description.record_count for member in members}
    if None in counts:
        hidden = ", ".join(m.description.name for m in members if m.description.record_count is None)
        raise DataError(
            f"slice {number}: {hidden} does not state how many records it holds; add [alignment] to the plan"
        )
    if len(counts) > 1:
        stated = ", ".join(
            f"{member.description.name}: {member.description.record_count}" for member in members
        )
        raise DataError(
            f"slice {number}: its parties hold different numbers of records ({stated}); align their records"
        )
