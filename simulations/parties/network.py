"""K x S parties and dealers in one process, with the same code and encoded messages as over a network."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain

from ...common.crypto.identity import Identity
from ...common.crypto.randomness import FreshKeys, RandomStream
from ...common.data.people import PeopleRows
from ...common.data.table import Table
from ...common.errors import DataError, MosaicError
from ...common.privacy.cost import ALL_ROWS, PrivacyUnit
from ...common.promises.binding import BindingsInMemory
from ...common.protocols.masked.dealers import CURATOR_DEALS, REPLICATED
from ...common.wire.refusals import decode_refusal, encode_refusal
from ...curator.parties.client import Connection, PartyClient
from ...curator.parties.dealer import CuratorDealer
from ...party.accounts.ledger import Ledger
from ...party.counting.identifiers import Identifiers
from ...party.dealing.dealer import Dealer
from ...party.dealing.policy import DealerPolicy
from ...party.institution.institution import Institution, Rules
from ...party.institution.related import RelatedRows
from ...party.party import Party
from ...party.policies.policy import Policy, Records
from ...party.serving.servicer import PartyServicer

_NOBODY = b""
"""The caller of parties that pinned no curator."""

_KEY = "key"
"""Name of the only identifier, by which plans match rows unless they say otherwise."""

_LARGEST_OF_PARTY = 1 << 28
"""Largest number of cells of a marginal of one party's attributes: 2 GiB of counts."""


Fresh = Callable[[RandomStream], FreshKeys]
"""The keys of a party's noise, from a stream of its own."""


def keep_key(stream: RandomStream) -> FreshKeys:
    """The keys of a stream."""
    return stream.key


class InProcessConnection:
    """Carries encoded messages to a servicer in this process and its errors back as encoded refusals.

    Args:
        servicer: servicer of the party.

    Attributes:
        servicer: servicer of the party.
        bytes_in: bytes of all requests so far.
        bytes_out: bytes of all replies so far.
    """

    def __init__(self, servicer: PartyServicer) -> None:
        self.servicer = servicer
        self.bytes_in = 0
        self.bytes_out = 0

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """Replies to encoded requests; see `Connection`."""
        try:
            for reply in self.servicer.serve(method, self._count_bytes(requests), _NOBODY):
                self.bytes_out += len(reply)
                yield reply
        except MosaicError as error:
            raise decode_refusal(encode_refusal(error)) from error

    def _count_bytes(self, requests: Iterable[bytes]) -> Iterator[bytes]:
        for request in requests:
            self.bytes_in += len(request)
            yield request


def dealer_names(count: int) -> list[str]:
    """Names of so many dealers.

    Raises:
        DataError: a plan cannot have so many.
    """
    if count < 0 or 1 < count < REPLICATED:
        raise DataError(f"dealers: expected 0, 1, or at least {REPLICATED}, got {count}; choose one of these")
    return [f"dealer-{number}" for number in range(1, count + 1)]


def party_names(parties: Sequence[int]) -> list[list[str]]:
    """Names of the parties of each slice, of which each has so many."""
    return [
        [f"party-{number}-{place}" for place in range(1, count + 1)]
        for number, count in enumerate(parties, start=1)
    ]


def start_parties(
    pieces: Sequence[Sequence[Table | PeopleRows | RelatedRows]],
    policy: Policy,
    keys: RandomStream,
    identifiers: Sequence[Sequence[Sequence[str]]] | None = None,
    dealers: int = 0,
    stated: int | None = None,
    fresh: Fresh = keep_key,
) -> list[list[InProcessConnection]]:
    """Starts a party with an in-memory ledger for each piece of a table; they know each other's identities.

    Args:
        pieces: for each slice, the table of each party, or its related tables.
        policy: policy of every party, but for whose records it holds, which follows from the pieces.
        keys: source of the parties' keys.
        identifiers: for each slice, the identifier of each row of each party, by which rows are aligned; None
            if the parties of a slice hold the same records in the same order.
        dealers: number of dealers that `start_dealers` starts with the same keys.
        stated: number of rows that each party states (`Institution`).
        fresh: the keys of a party's noise, from a stream of its own.

    Returns:
        Connections, slice by slice.
    """
    names = party_names([len(row) for row in pieces])
    identities = {name: _identity(name, keys) for name in (*chain(*names), *dealer_names(dealers))}
    peers = {name: identity.public for name, identity in identities.items()}

    def start_party(i: int, j: int) -> InProcessConnection:
        name = names[i][j]
        # Without identifiers, the pieces of a slice are cut from one table, whose rows keep their order.
        records = Records(frozenset(names[i]) - {name}, order_guaranteed=identifiers is None)
        rules = Rules(replace(policy, records=records), peers)
        naming = Identifiers({} if identifiers is None else {_KEY: identifiers[i][j]})
        held = pieces[i][j]
        related = held if isinstance(held, RelatedRows) else None
        rows = held.people if isinstance(held, RelatedRows) else held
        institution = Institution(
            name, identities[name], rows, rules, identifiers=naming, stated=stated, related=related
        )
        return InProcessConnection(PartyServicer(Party(institution, Ledger(), fresh(keys.child(name)))))

    return [[start_party(i, j) for j, _ in enumerate(row)] for i, row in enumerate(names)]


def start_dealers(
    count: int, keys: RandomStream, parties: Sequence[Sequence[Connection]]
) -> list[Connection]:
    """Starts dealers with in-memory ledgers, which know these parties and each other.

    Args:
        count: number of dealers; if zero, the curator deals.
        keys: source of their keys; that of the parties.
        parties: connections to the parties, started for as many dealers.
    """
    if count == 0:
        return [CuratorDealer(_identity(CURATOR_DEALS, keys), keys.child("dealer"), BindingsInMemory())]
    names = dealer_names(count)
    known = {name: _identity(name, keys).public for name in names}
    for link in chain(*parties):
        described = PartyClient(link).describe()
        known[described.name] = described.identity
    rules = Rules(DealerPolicy(sys.maxsize, _LARGEST_OF_PARTY, sys.maxsize, sys.maxsize), known)
    dealers = [Dealer(name, _identity(name, keys), rules, Ledger(), keys.child(name).key) for name in names]
    return [InProcessConnection(PartyServicer(dealer)) for dealer in dealers]


def policy_for(
    protocol: str,
    unit: PrivacyUnit,
    granted_rho: float,
    alignment_rho: Fraction = Fraction(0),
    dealers: int = 0,
    labels_delta: float = 0.0,
) -> Policy:
    """A policy that allows one release and nothing else, with the whole machine for it.

    Args:
        protocol: protocol of the release.
        unit: unit of the release.
        granted_rho: grant of the release, zCDP.
        alignment_rho: grant of an alignment before it, zCDP; zero allows none.
        dealers: number of dealers; if zero, the curator deals.
        labels_delta: delta with which labels of open categories are stated; zero states none.
    """
    granted = Fraction(granted_rho)
    return Policy(
        protocols=frozenset({protocol}),
        adjacencies=frozenset({unit.adjacency}),
        max_release_rho=granted,
        lifetime_rho=granted + alignment_rho,
        max_cells=_LARGEST_OF_PARTY,
        min_tolerated=0,
        max_alignment_rho=alignment_rho,
        max_labels_delta=labels_delta,
        max_rows_per_person=1 if unit.parts == 1 else ALL_ROWS,
        dealers=frozenset(dealer_names(dealers) or [CURATOR_DEALS]),
        max_memory_mb=sys.maxsize,
        max_disk_mb=sys.maxsize,
        max_cpu_seconds=sys.maxsize,
        max_queries=sys.maxsize,
    )


def _identity(name: str, keys: RandomStream) -> Identity:
    return Identity.from_seed(keys.child_key("identity", name))
