"""File format of a party's ledger, and its rows as values."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..common.errors import DataError
from ..common.keyring import check_database

VERSION = 6
_SCHEMA = """
CREATE TABLE history (number INTEGER PRIMARY KEY, head BLOB NOT NULL) STRICT;
CREATE TABLE release (
    release_id TEXT PRIMARY KEY,
    accepted_at INTEGER NOT NULL REFERENCES history,
    terms BLOB NOT NULL,
    granted TEXT NOT NULL,
    spent TEXT NOT NULL,
    data_digest TEXT NOT NULL,
    curator BLOB NOT NULL,
    curator_signature BLOB NOT NULL,
    certificate BLOB,
    closed_at INTEGER REFERENCES history,
    secret BLOB,
    introduction BLOB,
    introduced_keys BLOB
) STRICT;
CREATE TABLE answer (
    release_id TEXT NOT NULL REFERENCES release,
    query_id TEXT NOT NULL,
    query BLOB NOT NULL,
    rho TEXT NOT NULL,
    sampler INTEGER NOT NULL,
    noise_key BLOB,
    link BLOB NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (release_id, query_id)
) STRICT;
CREATE INDEX in_order ON answer (release_id);
CREATE TABLE bound (
    release_id TEXT NOT NULL,
    query_id TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (release_id, query_id, name),
    FOREIGN KEY (release_id, query_id) REFERENCES answer
) STRICT;
CREATE TABLE placement (
    release_id TEXT PRIMARY KEY REFERENCES release,
    size INTEGER NOT NULL,
    people TEXT NOT NULL,
    positions BLOB NOT NULL
) STRICT;
CREATE TABLE peer (
    identity BLOB NOT NULL,
    events INTEGER NOT NULL,
    head BLOB NOT NULL,
    seen_at INTEGER NOT NULL REFERENCES history,
    PRIMARY KEY (identity, events)
) STRICT;
"""
OPEN, CERTIFIED, ABANDONED = "open", "certified", "abandoned"
"""States of a release."""


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
class LedgerSummary:
    """Grant and cost of a release at this party.

    Attributes:
        release_id: id of the release.
        granted: upper limit of its cost, zCDP.
        spent: cost of its queries so far, zCDP.
        queries: number of charged queries.
        state: `OPEN`, `CERTIFIED` or `ABANDONED`.
    """

    release_id: str
    granted: Fraction
    spent: Fraction
    queries: int
    state: str

    @property
    def reserved(self) -> Fraction:
        """What it takes from the lifetime budget, zCDP: the grant, or the cost once it is closed."""
        return self.granted if self.state == OPEN else self.spent


@dataclass(frozen=True)
class LedgerEvents:
    """When a release began and ended, by the numbers of the ledger's events: the ledger keeps no times.

    Attributes:
        release_id: id of the release.
        accepted: number of the event by which it was accepted.
        closed: number of the event by which it was certified or abandoned; None while it is open.
        certificate: SHA-256 of the certificate that the party signed; None without one.
    """

    release_id: str
    accepted: int
    closed: int | None
    certificate: bytes | None


@dataclass(frozen=True)
class LedgerEntry:
    """One charged query.

    Attributes:
        query_id: unique within the release.
        zcdp_rho: cost, as the party computed it.
        noise_key: key of the noise; empty if the party is charged for it but does not answer.
        link: link of the entry in the chain of the release.
        signature: the party's signature over the link.
    """

    query_id: str
    zcdp_rho: Fraction
    noise_key: bytes
    link: bytes
    signature: bytes


def create_database(path: Path) -> None:
    """Creates the file of a new ledger, which only its owner can read; complete or not at all.

    Raises:
        DataError: there is a file already.
    """
    if path.exists():
        raise DataError(f"{path} exists already; keep it, or choose another folder")
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    database = _connected(str(draft))
    _initialise(database)
    database.close()
    draft.replace(path)


def open_database(path: Path | None) -> sqlite3.Connection:
    """The database of a ledger.

    Args:
        path: the SQLite file, or None for a new ledger in memory.

    Raises:
        DataError: there is no such file, other users can read or write it, or it has another format.
    """
    if path is None:
        database = _connected(":memory:")
        _initialise(database)
        return database
    if not path.exists():
        raise DataError(
            f"expected a ledger at {path}, found none; only the command init creates one. If it was "
            "lost, the operator's guide says how to go on without granting its budgets again"
        )
    check_database(path)
    database = _connected(f"{path.absolute().as_uri()}?mode=rw")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        database.close()
        raise DataError(
            f"expected a ledger of format {VERSION}, found format {version}; keep the file, and start a "
            "new party with the remaining lifetime_rho"
        )
    # What a killed process erased may still be in the write-ahead log.
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return database


def _connected(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, uri=True, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")
    database.execute("PRAGMA secure_delete = ON")
    return database


def _initialise(database: sqlite3.Connection) -> None:
    database.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
