"""What a curator and a party say to each other, as frozen values; `wire` puts them on the wire."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from .crypto.randomness import KEY_BYTES
from .data.boxes import Box
from .data.domain import Clique, Domain
from .privacy.cost import Adjacency
from .protocols.masked.plan import Chain, MaskedPlan
from .protocols.registry import MASKED

PROTOCOL_VERSION = 5
"""Raised with every change that makes an older party or curator misread a message."""


@dataclass(frozen=True)
class PartyDescription:
    """What others may know of a party.

    Attributes:
        name: as the federation knows it.
        protocol_version: what it speaks.
        software_version: of this package, at the party.
        domain: the attributes that it holds.
        record_count: rows of its slice; public.
        protocols: names of the protocols that its policy allows.
        identity: its long-term Ed25519 public key, 32 bytes.
    """

    name: str
    protocol_version: int
    software_version: str
    domain: Domain
    record_count: int
    protocols: tuple[str, ...]
    identity: bytes


@dataclass(frozen=True)
class ReleaseTerms:
    """What a party is asked to take part in.

    Attributes:
        release_id: unique among the releases that the party has ever taken part in.
        protocol_version: what the curator speaks.
        protocol: name of the measurement protocol.
        adjacency: which tables are neighbours.
        granted_rho: upper limit of all costs of the release, zCDP.
        masked: what the protocol `masked` needs; None with any other.
    """

    release_id: str
    protocol_version: int
    protocol: str
    adjacency: Adjacency
    granted_rho: float
    masked: MaskedPlan | None = None

    def __post_init__(self) -> None:
        if not self.release_id or not self.protocol:
            raise ValueError("a release has an id and a protocol")
        if not 0 < self.granted_rho < math.inf:
            raise ValueError("a release's budget is a positive finite rho")
        if (self.masked is not None) != (self.protocol == MASKED.name):
            raise ValueError("a release by the protocol 'masked' has a masked plan, any other has none")


@dataclass(frozen=True)
class Acceptance:
    """What a party signs when it takes part.

    Attributes:
        ephemeral: its X25519 public key for this release, 32 bytes.
        signature: Ed25519 by its identity, over the terms and the ephemeral key.
    """

    ephemeral: bytes
    signature: bytes


@dataclass(frozen=True)
class Introduction:
    """What makes the parties of a masked release known to each other.

    Attributes:
        release_id: an accepted release.
        acceptances: of every party, in the roster's order.
        mask_seed: 32 bytes that the dealer and the addressed party share.
    """

    release_id: str
    acceptances: tuple[Acceptance, ...]
    mask_seed: bytes

    def __post_init__(self) -> None:
        if len(self.mask_seed) != KEY_BYTES:
            raise ValueError(f"a mask seed has {KEY_BYTES} bytes")


@dataclass(frozen=True)
class OpeningRequest:
    """Asks a party to seal for another one what it opens to it.

    Attributes:
        release_id: an accepted release.
        chain: the parts multiplied so far; a chain of one part is the party's own indicators.
        recipient: place in the roster.
        query_id: of a score query, whose step is asked for in place of a chain.
        step: 0 for the party's shares of the cells, k for what an evaluator opens in round k - 1.
    """

    release_id: str
    chain: Chain
    recipient: int
    query_id: str = ""
    step: int = 0


class DeliveryKind(enum.Enum):
    """What is delivered; the value is the number on the wire."""

    OPENING = 1
    DEALT_ROWS = 2
    DEALT_PRODUCT = 3
    SCORE_STEP = 4
    SCORE_REFERENCES = 5
    DEALT_SCORES = 6


@dataclass(frozen=True)
class Delivery:
    """Says what a stream of words is.

    Attributes:
        release_id: an accepted release.
        kind: what another party opened, what the dealer deals, or public references.
        chain: of the opened matrix, or of the product.
        sender: place in the roster of who opened it; 0 for the dealer's.
        query_id: of a score query, where it belongs to one.
        step: see `OpeningRequest`.
    """

    release_id: str
    kind: DeliveryKind
    chain: Chain = ()
    sender: int = 0
    query_id: str = ""
    step: int = 0


@dataclass(frozen=True)
class MultiplyRequest:
    """Asks a party for its shares of products.

    Attributes:
        release_id: an accepted release.
        chains: of two or more parts each, of the party's slice.
    """

    release_id: str
    chains: tuple[Chain, ...]


class AnswerForm(enum.Enum):
    """How a party answers; the value is the number on the wire."""

    HISTOGRAM = 1
    RECORD_WISE = 2
    SHARE = 3


@dataclass(frozen=True)
class MarginalQuery:
    """One question to one party.

    Attributes:
        release_id: an accepted release.
        query_id: unique within the release; the same id with the same question gets the same answer.
        form: one histogram, one indicator vector for each record, or a masked share of one histogram.
        clique: attributes in domain order: of this party, or with SHARE of the whole table.
        sigma: scale of the noise in counts.
        boxes: sums over these boxes are asked for, in place of single cells.
        interaction: the differences of the marginal are asked for, which tell its interaction alone.
    """

    release_id: str
    query_id: str
    form: AnswerForm
    clique: Clique
    sigma: float
    boxes: tuple[Box, ...] = ()
    interaction: bool = False

    def __post_init__(self) -> None:
        if not self.query_id or not self.clique:
            raise ValueError("a query has an id and at least one attribute")
        if self.boxes and self.interaction:
            raise ValueError("a query asks for sums over boxes or for an interaction, not for both")
        if not 0 < self.sigma < math.inf:
            raise ValueError("a query's sigma is a positive finite number")


@dataclass(frozen=True)
class ScoreQuery:
    """Asks for the L1 distances of marginals to public references, with noise.

    Attributes:
        release_id: an accepted release.
        query_id: unique within the release, among marginal queries too.
        cliques: attributes of the whole table, each clique in domain order.
        sigma: scale of the noise of every score, in records.
        references: SHA-256 of the references, one clique after the other, as little-endian int64.
        largest_reference: no reference of a cell exceeds it in absolute value.
        largest_total: the absolute values of no clique's references add up to more.
    """

    release_id: str
    query_id: str
    cliques: tuple[Clique, ...]
    sigma: float
    references: bytes
    largest_reference: int
    largest_total: int

    def __post_init__(self) -> None:
        if not self.query_id or not self.cliques or not all(self.cliques):
            raise ValueError("a score query has an id and cliques of at least one attribute")
        if not 0 < self.sigma < math.inf:
            raise ValueError("a query's sigma is a positive finite number")
        if not 0 <= self.largest_reference <= self.largest_total < 1 << 62:
            raise ValueError("a score query's bounds are whole numbers, the larger one for the total")
