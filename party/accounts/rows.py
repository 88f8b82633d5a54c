"""Rows of a party's ledger as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from ...common.promises.statement import Entry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OPEN, CERTIFIED, ABANDONED = "open", "certified", "abandoned"
"""States of a release."""


def moment(at: int | None) -> str:
    """A time of the ledger, ISO 8601 in UTC; empty if it is not known."""
    return "" if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class LedgerRelease:
    """An open release.

    Attributes:
        terms: encoded terms.
        data_digest: digest of the rows for which it was accepted.
        secret: 32 bytes for this release only.
        introduction: encoded introduction; None before it is received.
    """

    terms: bytes
    data_digest: str
    secret: bytes
    introduction: bytes | None


@dataclass(frozen=True, eq=False)
class Placement:
    """Where an alignment puts the rows of this party.

    Attributes:
        size: number of positions of the party's slice.
        people: for each slice, noisy number of people of each pattern (`Alignment.people`).
        positions: position of each row of the party's table, shape (rows,), int32; -1 for a row that is not
            used. No two rows have the same position.
    """

    size: int
    people: tuple[tuple[int, ...], ...]
    positions: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class KeptAlignment:
    """A finished alignment of a party's current rows.

    Attributes:
        placement: where it puts them.
        terms: encoded terms of the release that made it.
        zcdp_rho: what it cost, zCDP.
    """

    placement: Placement
    terms: bytes
    zcdp_rho: Fraction


@dataclass(frozen=True)
class CertifiedRelease:
    """A release that this party certified.

    Attributes:
        terms: encoded terms.
        certificate: SHA-256 of the certificate that it signed.
    """

    terms: bytes
    certificate: bytes


@dataclass(frozen=True)
class LedgerSummary:
    """Grant and cost of a release at this party.

    Attributes:
        release_id: id of the release.
        granted: upper limit of its cost, zCDP.
        spent: cost of its queries so far, zCDP.
        queries: number of charged queries.
        state: `OPEN`, `CERTIFIED` or `ABANDONED`.
        charged_at: time of the last charge, seconds since 1970 in UTC; None if no charge has one.
    """

    release_id: str
    granted: Fraction
    spent: Fraction
    queries: int
    state: str
    charged_at: int | None = None

    @property
    def reserved(self) -> Fraction:
        """What it takes from the lifetime budget, zCDP: the grant, or the cost once it is closed."""
        return self.granted if self.state == OPEN else self.spent


@dataclass(frozen=True)
class LedgerEvents:
    """When a release began and ended.

    Attributes:
        release_id: id of the release.
        accepted: number of the event by which it was accepted.
        closed: number of the event by which it was certified or abandoned; None while it is open.
        certificate: SHA-256 of the certificate that the party signed; None without one.
        accepted_at: time of the first, seconds since 1970 in UTC; None if it is not known.
        closed_at: time of the last.
    """

    release_id: str
    accepted: int
    closed: int | None
    certificate: bytes | None
    accepted_at: int | None = None
    closed_at: int | None = None


@dataclass(frozen=True)
class LedgerRestoration:
    """When the ledger was made again from a backup, and what its operator counted as spent since.

    Attributes:
        counted: cost, zCDP; None while the ledger is held.
        reason: how the operator knows; empty while the ledger is held.
        at: time of the restoration, seconds since 1970 in UTC.
    """

    counted: Fraction | None
    reason: str
    at: int


@dataclass(frozen=True)
class LedgerCharge:
    """What one query cost, and when.

    Attributes:
        release_id: id of the release.
        query_id: unique within the release.
        zcdp_rho: cost.
        at: time of the charge, seconds since 1970 in UTC; None if it is not known.
    """

    release_id: str
    query_id: str
    zcdp_rho: Fraction
    at: int | None


@dataclass(frozen=True)
class LedgerEntry(Entry):
    """One charged query, with what the ledger alone keeps.

    Attributes:
        noise_key: key of the noise; empty if the party is charged for it but does not answer.
        link: link of the entry in the chain of the release.
    """

    noise_key: bytes
    link: bytes
