"""A curator's durable record of one release: its key, its terms and every charged answer."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import KEY_BYTES
from ...common.errors import DataError, ProtocolError
from ...common.federation.private_files import check_database
from ...common.formats import Format
from ...common.processes.locks import exclusive

_DONE = "done"
_BOUND = "bound "
_FINISHED, _ABANDONED = b"finished", b"abandoned"

_ERASE = "PRAGMA secure_delete = ON"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS header (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS answer (
    query_id TEXT PRIMARY KEY, query BLOB NOT NULL, answered BLOB NOT NULL
) STRICT;
"""
_FORMAT = Format(kind="journal", number=1, schema=_SCHEMA)


class Answers(Protocol):
    """A store of answers."""

    def recall(self, query_id: str, query: bytes) -> NDArray[np.float64] | None:
        """The answer to a query, if it was given before."""
        ...

    def keep(self, query_id: str, query: bytes, answered: NDArray[np.float64]) -> None:
        """Keeps an answer; it is durable on return."""
        ...


class NoJournal:
    """Keeps nothing: for simulations, which are not resumed."""

    def recall(self, query_id: str, query: bytes) -> NDArray[np.float64] | None:
        """Nothing."""
        return None

    def keep(self, query_id: str, query: bytes, answered: NDArray[np.float64]) -> None:
        """Nothing."""


class Notes(Protocol):
    """A store of notes."""

    def note(self, name: str) -> bytes | None:
        """The note under a name; None if there is none."""
        ...

    def note_once(self, name: str, value: bytes) -> bytes:
        """Adds a note unless the name is taken; returns the note under the name, durable on return."""
        ...


class NoNotes:
    """Keeps nothing: for simulations, which are not resumed."""

    def note(self, name: str) -> bytes | None:
        """Nothing."""
        return None

    def note_once(self, name: str, value: bytes) -> bytes:
        """The value."""
        return value


class Journal:
    """The file from which a release resumes after its curator died; as confidential as the parties' openings.

    Its key determines everything that the curator draws: dealt randomness, rounding, rows. Key and answers
    together determine the release, so that a resumed release is the same. With the dealt randomness, recorded
    openings are the parties' rows, so the key is erased when the release is finished.

    Args:
        path: path of the SQLite file, made by `create`.
        abandoned: open the journal of an abandoned release too, to tell the parties.

    Raises:
        DataError: the file does not exist, is damaged or cannot be written, other users can read it, it has a
            later format, or its release is finished or abandoned.
    """

    def __init__(self, path: Path, *, abandoned: bool = False) -> None:
        if not path.exists():
            raise DataError(f"expected the journal of a release at {path}, found none; fix the path")
        check_database(path)
        self._path = path
        with _told_if_unwritable(path):
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute(_ERASE)
            # A process that was killed as it created the file may have left it empty.
            if self._database.execute("SELECT 1 FROM sqlite_schema").fetchone():
                _FORMAT.check(self._database)
            self._database.executescript(_SCHEMA)
            key, release_id, plan = (self.note(name) for name in ("key", "release_id", "plan"))
            ended = self.note(_DONE)
        except sqlite3.OperationalError as cause:
            self.close()
            raise _unwritable(path, cause) from cause
        except sqlite3.DatabaseError as cause:
            raise DataError(
                f"expected the journal of a release, got {path}, which is none or is damaged; start a new "
                "release"
            ) from cause
        self.abandoned = ended == _ABANDONED
        """Whether the release is abandoned; its key is erased then."""
        if ended is not None:
            # In case the curator died between the two steps of `finish` or `abandon`.
            self._truncate()
            key = b""
        if ended is not None and not (abandoned and self.abandoned):
            self.close()
            raise DataError(
                f"the release in {path.parent} is {ended.decode()}; there is nothing to resume or to abandon"
            )
        if key is None or release_id is None or plan is None:
            raise DataError(
                f"expected a complete journal, got {path}, which was not finished; remove it and start a new "
                "release"
            )
        self.key: bytes = key
        """32 bytes, from which all randomness of the curator is derived; empty if it is erased."""
        self.release_id = release_id.decode()
        """Identifier of the release."""
        self.plan = plan.decode()
        """Text of the release's plan."""

    @classmethod
    def create(cls, path: Path, plan: str, key: bytes | None = None) -> Journal:
        """Creates the journal of a new release.

        Args:
            path: path of the new file.
            plan: text of the plan.
            key: key of a reproducible simulation; fresh by default.

        Raises:
            DataError: it cannot be written.
            OSError: the file cannot be created.
        """
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        header = {
            "key": key or secrets.token_bytes(KEY_BYTES),
            "release_id": secrets.token_hex(16).encode(),
            "plan": plan.encode(),
        }
        try:
            with contextlib.closing(sqlite3.connect(path)) as database, _told_if_unwritable(path):
                database.execute(_ERASE)
                database.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_FORMAT.number}; COMMIT;")
                with database:
                    database.executemany("INSERT INTO header VALUES (?, ?)", header.items())
            return cls(path)
        except DataError:
            for suffix in ("", "-journal", "-shm", "-wal"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            raise

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def finish(self) -> None:
        """Notes that the release is finished, and erases its key from the file and its log."""
        self._end(_FINISHED)

    def abandon(self) -> None:
        """Notes that the release is abandoned, and erases its key from the file and its log; repeatable."""
        self._end(_ABANDONED)
        self.abandoned = True

    def has_answers(self) -> bool:
        """Whether any query of the release was answered."""
        return self._database.execute("SELECT 1 FROM answer LIMIT 1").fetchone() is not None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the release against a second curator.

        Raises:
            DataError: another process runs it.
        """
        with exclusive(self._path, f"the release in {self._path.parent} is already running; wait for it"):
            yield

    def _end(self, how: bytes) -> None:
        with self._change():
            self.note_once(_DONE, how)
            self._database.execute(f"DELETE FROM header WHERE name = 'key' OR name LIKE '{_BOUND}%'")
        with _told_if_unwritable(self._path):
            self._truncate()

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """Writes all that the block changes, or nothing.

        Raises:
            DataError: it cannot be written.
        """
        with _told_if_unwritable(self._path):
            try:
                self._database.execute("BEGIN IMMEDIATE")
                yield
                self._database.execute("COMMIT")
            finally:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")

    def _truncate(self) -> None:
        """Empties the write-ahead log, in which earlier pages remain.

        Raises:
            DataError: another program reads the journal.
        """
        (busy, _, _) = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise DataError(
                "expected no other program that reads the journal, got one, so its key is not erased yet; "
                "end it and resume the release"
            )

    def note(self, name: str) -> bytes | None:
        """The note under a name; None if there is none."""
        row = self._database.execute("SELECT value FROM header WHERE name = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def note_once(self, name: str, value: bytes) -> bytes:
        """Adds a note unless the name is taken; returns the note under the name.

        Raises:
            DataError: it cannot be written.
        """
        with _told_if_unwritable(self._path):
            self._database.execute("INSERT OR IGNORE INTO header VALUES (?, ?)", (name, value))
        noted = self.note(name)
        assert noted is not None
        return noted

    def note_latest(self, name: str, value: bytes) -> None:
        """Adds a note, in place of an earlier one.

        Raises:
            DataError: it cannot be written.
        """
        with _told_if_unwritable(self._path):
            self._database.execute("INSERT OR REPLACE INTO header VALUES (?, ?)", (name, value))

    def bind(self, kind: str, of: str, digest: str) -> str:
        """Keeps what a secret of the curator's own dealer hides; see `BindingStore`."""
        return self.note_once(_bound(kind, of), digest.encode()).decode()

    def bound(self, kind: str, of: str) -> str | None:
        """See `BindingStore`."""
        noted = self.note(_bound(kind, of))
        return None if noted is None else noted.decode()

    def recall(self, query_id: str, query: bytes) -> NDArray[np.float64] | None:
        """The answer to a query, if it was given before.

        Raises:
            ProtocolError: the id belongs to another query.
        """
        row = self._database.execute(
            "SELECT query, answered FROM answer WHERE query_id = ?", (query_id,)
        ).fetchone()
        if row is None:
            return None
        if row[0] != hashlib.sha256(query).digest():
            raise ProtocolError(
                "the release asks other queries than before it stopped; resume it with the version and on "
                "the "
                "machine that began it"
            )
        return np.frombuffer(row[1], dtype="<f8").astype(np.float64)

    def keep(
        self,
        query_id: str,
        query: bytes,
        answered: NDArray[np.float64],
        notes: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """Keeps an answer; it is durable on return.

        Args:
            query_id: unique within the release.
            query: encoding of everything that the answer depends on.
            answered: the answer.
            notes: notes that take the place of earlier ones, kept with it or not at all.

        Raises:
            DataError: it cannot be written.
        """
        digest = hashlib.sha256(query).digest()
        values = np.ascontiguousarray(answered, dtype="<f8").tobytes()
        with self._change():
            self._database.execute("INSERT INTO answer VALUES (?, ?, ?)", (query_id, digest, values))
            self._database.executemany("INSERT OR REPLACE INTO header VALUES (?, ?)", notes.items())


@contextlib.contextmanager
def _told_if_unwritable(path: Path) -> Iterator[None]:
    """Says of a journal that it cannot be written, and why.

    Raises:
        DataError: it cannot.
    """
    try:
        yield
    except sqlite3.OperationalError as cause:
        raise _unwritable(path, cause) from cause


def _unwritable(path: Path, cause: sqlite3.OperationalError) -> DataError:
    return DataError(f"cannot write {path}: {cause}; make room, and resume the release")


def _bound(kind: str, of: str) -> str:
    """The name of a note that keeps a binding."""
    return f"{_BOUND}{kind} {of}"
