"""What a curator and a party say to each other, as frozen values; `wire.codec` puts them on the wire."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from .domain import Clique, Domain
from .privacy.cost import Adjacency

PROTOCOL_VERSION = 1
"""Raised with every change that makes an older party or curator misread a message."""

FRAME_BYTES = 1 << 20
"""Payload of one frame; nothing is ever one big message."""


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
    """

    name: str
    protocol_version: int
    software_version: str
    domain: Domain
    record_count: int
    protocols: tuple[str, ...]


@dataclass(frozen=True)
class ReleaseTerms:
    """What a party is asked to take part in.

    Attributes:
        release_id: unique among the releases that the party has ever taken part in.
        protocol_version: what the curator speaks.
        protocol: name of the measurement protocol.
        adjacency: which tables are neighbours.
        granted_rho: upper limit of all costs of the release, zCDP.
    """

    release_id: str
    protocol_version: int
    protocol: str
    adjacency: Adjacency
    granted_rho: float

    def __post_init__(self) -> None:
        if not self.release_id or not self.protocol:
            raise ValueError("a release has an id and a protocol")
        if not 0 < self.granted_rho < math.inf:
            raise ValueError("a release's budget is a positive finite rho")


class AnswerForm(enum.Enum):
    """How a party answers; the value is the number on the wire."""

    HISTOGRAM = 1
    RECORD_WISE = 2


@dataclass(frozen=True)
class MarginalQuery:
    """One question to one party.

    Attributes:
        release_id: an accepted release.
        query_id: unique within the release; the same id with the same question gets the same answer.
        form: one histogram, or one indicator vector for each record.
        clique: attributes of this party, in domain order.
        sigma: scale of the noise in counts.
    """

    release_id: str
    query_id: str
    form: AnswerForm
    clique: Clique
    sigma: float

    def __post_init__(self) -> None:
        if not self.query_id or not self.clique:
            raise ValueError("a query has an id and at least one attribute")
        if not 0 < self.sigma < math.inf:
            raise ValueError("a query's sigma is a positive finite number")
