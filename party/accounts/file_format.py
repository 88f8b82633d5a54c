"""File format of a party's ledger."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from ...common.errors import DataError
from ...common.federation.private_files import check_database
from ...common.formats import Format

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
CREATE TABLE binding (
    release_id TEXT NOT NULL REFERENCES release,
    kind TEXT NOT NULL,
    of TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (release_id, kind, of)
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
CREATE TABLE restoration (
    number INTEGER PRIMARY KEY REFERENCES history,
    counted TEXT,
    reason TEXT,
    stated INTEGER NOT NULL
) STRICT;
CREATE TABLE moment (
    number INTEGER PRIMARY KEY REFERENCES history,
    at INTEGER NOT NULL,
    release_id TEXT NOT NULL,
    query_id TEXT
) STRICT;
CREATE TABLE charged (
    release_id TEXT NOT NULL,
    query_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    clique TEXT NOT NULL,
    groups TEXT NOT NULL,
    delta TEXT NOT NULL,
    PRIMARY KEY (release_id, query_id)
) STRICT;
"""
FORMAT = Format(kind="ledger", number=1, schema=_SCHEMA)


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
    database = _connect(str(draft))
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
        database = _connect(":memory:")
        _initialise(database)
        return database
    check_ledger(path)
    database = _connect(f"{path.absolute().as_uri()}?mode=rw")
    # What a killed process erased may still be in the write-ahead log.
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return database


def check_ledger(path: Path) -> None:
    """Refuses what is not a ledger of this format; the file is not changed.

    Raises:
        DataError: see `open_database`.
    """
    if not path.exists():
        raise DataError(
            f"expected a ledger at {path}, found none; only the command init creates one. If it was "
            "lost, the operator's guide says how to go on without granting its budgets again"
        )
    check_database(path)
    FORMAT.check_file(path)


def _connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, uri=True, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA foreign_keys = ON")
    database.execute("PRAGMA secure_delete = ON")
    return database


def _initialise(database: sqlite3.Connection) -> None:
    database.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {FORMAT.number}; COMMIT;")
