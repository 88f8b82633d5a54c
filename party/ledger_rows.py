"""File format of a party's ledger, and its rows as values."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ..common.errors import DataError

VERSION = 4
_SCHEMA = """
CREATE TABLE IF NOT EXISTS release (
    release_id TEXT PRIMARY KEY,
    terms BLOB NOT NULL,
    granted TEXT NOT NULL,
    spent TEXT NOT NULL,
    data_digest TEXT NOT NULL,
    secret BLOB NOT NULL,
    introduction BLOB,
    curator_signature BLOB NOT NULL,
    certificate BLOB
) STRICT;
CREATE TABLE IF NOT EXISTS answer (
    release_id TEXT NOT NULL REFERENCES release,
    query_id TEXT NOT NULL,
    query BLOB NOT NULL,
    rho TEXT NOT NULL,
    noise_key BLOB NOT NULL,
    link BLOB NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (release_id, query_id)
) STRICT;
CREATE INDEX IF NOT EXISTS in_order ON answer (release_id);
CREATE TABLE IF NOT EXISTS bound (
    release_id TEXT NOT NULL,
    query_id TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (release_id, query_id, name),
    FOREIGN KEY (release_id, query_id) REFERENCES answer
) STRICT;
"""


@dataclass(frozen=True)
class LedgerRelease:
    """An accepted release.

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


@dataclass(frozen=True)
class LedgerSummary:
    """Grant and cost of a release at this party.

    Attributes:
        release_id: id of the release.
        granted: upper limit of its cost, zCDP.
        spent: cost of its queries so far, zCDP.
        queries: number of charged queries.
        certified: its certificate is signed, so it answers no new query.
    """

    release_id: str
    granted: Fraction
    spent: Fraction
    queries: int
    certified: bool


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


def open_database(path: Path | None) -> sqlite3.Connection:
    """The database of a ledger, created if there is none.

    Args:
        path: the SQLite file, or None for one in memory.

    Raises:
        DataError: it has another format.
    """
    database = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if version != VERSION and tables:
        database.close()
        raise DataError(
            f"expected a ledger of format {VERSION}, found format {version}; keep the file, and start a "
            "new one with the remaining lifetime_rho"
        )
    database.executescript(_SCHEMA)
    database.execute(f"PRAGMA user_version = {VERSION}")
    return database
