"""Messages between the curator and a party, as frozen values; `wire/codec.py` encodes them."""

from __future__ import annotations

import enum
import hashlib
from dataclasses import dataclass

from .data.domain import Domain
from .errors import MosaicError
from .federation.protocol_versions import Versions
from .history import START, Mark
from .protocols.masked.plan import Chain
from .queries import MarginalQuery


@dataclass(frozen=True)
class PartyDescription:
    """Public facts about a party.

    Attributes:
        name: name in the federation.
        protocol_version: oldest version of the protocol that it speaks.
        software_version: version of this package at the party.
        domain: attributes that it holds; None of a dealer.
        record_count: number of its rows; None if it is not public, because the policy allows alignments.
        protocols: names of the protocols that its policy allows.
        identity: long-term Ed25519 public key, 32 bytes.
        alignments: ids of the alignments of its current rows.
        identifiers: agreed names of the identifiers by which its rows can be aligned, sorted.
        max_cells: upper limit of the cells of a marginal; None if it states none.
        sends_to: names of the parties to which it sends openings itself, sorted.
        takes_from: names of the parties from which it takes them, sorted.
        newest_protocol: newest version that it speaks; None of software that speaks one.
    """

    name: str
    protocol_version: int
    software_version: str
    domain: Domain | None
    record_count: int | None
    protocols: tuple[str, ...]
    identity: bytes
    alignments: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    max_cells: int | None = None
    sends_to: tuple[str, ...] = ()
    takes_from: tuple[str, ...] = ()
    newest_protocol: int | None = None

    @property
    def versions(self) -> Versions:
        """The versions of the protocol that it speaks."""
        return Versions(self.protocol_version, self.newest_protocol or self.protocol_version)


@dataclass(frozen=True)
class Verdict:
    """What a party or dealer would say to terms, without a charge or a reservation.

    Attributes:
        refusals: every reason for which it would refuse them; empty if it would accept them.
        by_hand: whether a person there decides on every release.
    """

    refusals: tuple[MosaicError, ...] = ()
    by_hand: bool = False


@dataclass(frozen=True)
class SignedTerms:
    """Terms of a release, as the curator signed them.

    Attributes:
        terms: canonical bytes (`common/canonical/terms.py`).
        curator_signature: Ed25519 by the curator, over them.
        seen: mark of the party's ledger that the curator has seen last.
    """

    terms: bytes
    curator_signature: bytes = b""
    seen: Mark = START


@dataclass(frozen=True)
class Acceptance:
    """A party's signed acceptance of a release.

    Attributes:
        ephemeral: the party's X25519 public key for this release, 32 bytes.
        signature: Ed25519 signature by its identity, over the terms, the mark and the ephemeral key.
        mark: mark of the party's ledger.
    """

    ephemeral: bytes
    signature: bytes
    mark: Mark


@dataclass(frozen=True)
class Acknowledgement:
    """That a request was done, where there is nothing else to say."""


@dataclass(frozen=True)
class AbandonRequest:
    """Ends a release without a certificate.

    Attributes:
        release_id: id of an accepted release.
    """

    release_id: str


@dataclass(frozen=True)
class Introduction:
    """Introduces the parties of a release to each other.

    Attributes:
        release_id: id of an accepted release.
        acceptances: acceptances of all participants, in the plan's order: parties, then other dealers.
    """

    release_id: str
    acceptances: tuple[Acceptance, ...]

    def keys_digest(self) -> bytes:
        """SHA-256 of all keys, without signatures and marks, which differ when an acceptance is repeated."""
        fields = [accepted.ephemeral for accepted in self.acceptances]
        return hashlib.sha256(b"".join(len(f).to_bytes(4, "big") + f for f in fields)).digest()


class DeliveryKind(enum.Enum):
    """Kind of a delivery; the value is its number on the wire."""

    OPENING = 1
    DEALT_ROWS = 2
    DEALT_PRODUCTS = 3
    SCORE_STEP = 4
    SCORE_REFERENCES = 5
    RECORD_ORDER = 7
    PROOF = 8
    ATTESTATION = 9
    ALIGNMENT_KEY = 10
    POSITIONS = 11
    ALIGNMENT_POINTS = 12
    MASK_SEEDS = 13
    DEALT_CHECK = 14
    CHECK = 15
    COINS = 16
    KEY_POINTS = 17


@dataclass(frozen=True)
class OpeningRequest:
    """Asks a participant for a message that is sealed for another one.

    Attributes:
        release_id: id of an accepted release.
        chain: the parts multiplied so far; a chain of one part means the party's own indicators.
        recipient: place of the other participant in the plan.
        kind: kind of the message.
        query_id: id of the score query, of one of its steps.
        step: of a score query, the number of the step; of points to align rows, the place of their owner;
            of an opening, the number of its range of rows; of coins, the place of who opened the matrix.
    """

    release_id: str
    chain: Chain
    recipient: int
    kind: DeliveryKind = DeliveryKind.OPENING
    query_id: str = ""
    step: int = 0

    def delivery(self, sender: int) -> Delivery:
        """The header of the message.

        Args:
            sender: place of its sender in the plan.
        """
        return Delivery(self.release_id, self.kind, self.chain, sender, self.query_id, self.step)


@dataclass(frozen=True)
class PushRequest:
    """Asks a party to send an opening to another one itself.

    Attributes:
        opening: the message.
        recipient: name of the other party.
        sender: place of the asked one in the plan.
    """

    opening: OpeningRequest
    recipient: str
    sender: int


@dataclass(frozen=True)
class DealRequest:
    """Asks a dealer for a message that is sealed for a party.

    Attributes:
        release_id: id of an accepted release.
        kind: kind of the message: MASK_SEEDS, DEALT_PRODUCTS, DEALT_ROWS, DEALT_CHECK or ATTESTATION.
        recipient: place of the party in the plan.
        chains: chains that are dealt for, of the party's slice.
        owner: of an attestation, place of the party that opened a matrix; of dealt rows and their check,
            place of the party whose mask is the left factor.
    """

    release_id: str
    kind: DeliveryKind
    recipient: int
    chains: tuple[Chain, ...] = ()
    owner: int = 0


@dataclass(frozen=True)
class Delivery:
    """Header of a stream of words.

    Attributes:
        release_id: id of an accepted release.
        kind: opening, tag or key of another party, message of a dealer, public references, or positions.
        chain: chain of the opened matrix, or of the product.
        sender: place in the plan of the participant that sent it; 0 for the curator.
        query_id: id of the score query that it belongs to, if any.
        step: see `OpeningRequest`.
        chains: chains of several products, instead of `chain`.
        owner: see `DealRequest`.
    """

    release_id: str
    kind: DeliveryKind
    chain: Chain = ()
    sender: int = 0
    query_id: str = ""
    step: int = 0
    chains: tuple[Chain, ...] = ()
    owner: int = 0


@dataclass(frozen=True)
class MultiplyRequest:
    """Asks a party to compute its shares of products.

    Attributes:
        release_id: id of an accepted release.
        chains: chains of the party's slice, each of two or more parts.
    """

    release_id: str
    chains: tuple[Chain, ...]


@dataclass(frozen=True)
class AlignRequest:
    """Asks a party for the tokens of rows, to align them.

    Attributes:
        release_id: id of an accepted release.
        owner: place in the roster of the party whose rows they are of.
    """

    release_id: str
    owner: int


@dataclass(frozen=True)
class Charged:
    """That a party charged a query.

    Attributes:
        signature: Ed25519, over the query's entry in the party's ledger and all before it.
    """

    signature: bytes


@dataclass(frozen=True)
class AnswerRequest:
    """Asks a party to answer a query.

    Attributes:
        query: the query.
        charges: signatures of all parties of the slice over their charges, in the roster's order; empty if
            the party is alone.
        before: places in the roster of the parties that have dropped out.
    """

    query: MarginalQuery
    charges: tuple[bytes, ...] = ()
    before: tuple[int, ...] = ()

    @property
    def release_id(self) -> str:
        """Id of the query's release."""
        return self.query.release_id


@dataclass(frozen=True)
class Remaining:
    """Who is in the answer to a query, for the parties to sign.

    Attributes:
        release_id: id of an accepted release.
        query: SHA-256 of the query, as hexadecimal digits.
        before: places in the roster of the parties that had dropped out before it was asked.
        absent: places of all parties that are not in the answer, those too.
        lost: places of the parties that are in the answer and have dropped out since.
    """

    release_id: str
    query: str
    before: tuple[int, ...]
    absent: tuple[int, ...]
    lost: tuple[int, ...] = ()


@dataclass(frozen=True)
class Agreed:
    """That a party agrees to who is in an answer.

    Attributes:
        signature: Ed25519, over it and the terms.
    """

    signature: bytes


@dataclass(frozen=True)
class Unmasking:
    """Asks a party for the masks that hide the sum of the answers of those that remain.

    Attributes:
        remaining: who is in the answer.
        signatures: what each party of the roster replied to `Remaining`; empty of those that did not.
    """

    remaining: Remaining
    signatures: tuple[bytes, ...]

    @property
    def release_id(self) -> str:
        """Id of the release of the answer."""
        return self.remaining.release_id


@dataclass(frozen=True)
class Unmasked:
    """A party's part of the masks that hide a sum.

    Attributes:
        own: seed of its own mask.
        pairs: seed of its mask with each party that is absent and was not before, in their order.
        shares: for each lost party, its share of the key of that one's own masks, then of those with each
            party that is absent and was not before.
    """

    own: bytes
    pairs: tuple[bytes, ...]
    shares: tuple[bytes, ...] = ()
