"""Manual approval of releases: requests of curators, and the operator's decisions."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..common.canonical.terms import decode_terms, encode_terms
from ..common.errors import ApprovalPending, DataError, PolicyError
from ..common.messages import ReleaseTerms

PENDING, APPROVED, DENIED = "pending", "approved", "denied"
_MAX_PENDING = 100
_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS request (
    release_id TEXT PRIMARY KEY, terms BLOB NOT NULL, decision TEXT NOT NULL
) STRICT
"""


@dataclass(frozen=True)
class Request:
    """A release that a curator asked for.

    Attributes:
        terms: requested terms.
        decision: `PENDING`, `APPROVED` or `DENIED`.
    """

    terms: ReleaseTerms
    decision: str


class Approvals:
    """Stores requests and decisions; the daemon and the operator's commands may open it at the same time.

    Args:
        path: the SQLite file.

    Raises:
        DataError: it has another format.
    """

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._lock = threading.Lock()
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if version != _VERSION and tables:
            self._database.close()
            raise DataError(
                f"expected requests of format {_VERSION}, found format {version}; remove {path}; curators "
                "send their requests again"
            )
        self._database.execute(_SCHEMA)
        self._database.execute(f"PRAGMA user_version = {_VERSION}")

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def check(self, terms: ReleaseTerms) -> None:
        """Returns only if the operator approved exactly these terms; stores a new request as pending.

        Raises:
            PolicyError: the operator did not decide yet, or denied it.
        """
        encoded = encode_terms(terms)
        with self._transaction():
            row = self._row(terms.release_id)
            if row is None:
                (pending,) = self._database.execute(
                    "SELECT count(*) FROM request WHERE decision = ?", (PENDING,)
                ).fetchone()
                if pending >= _MAX_PENDING:
                    raise PolicyError("too many releases wait for this party's operator; ask for a decision")
                self._database.execute(
                    "INSERT INTO request VALUES (?, ?, ?)", (terms.release_id, encoded, PENDING)
                )
        if row is not None and (row[0] != encoded or row[1] == DENIED):
            raise PolicyError("this party's operator denied the release, or decided on other terms")
        if row is None or row[1] == PENDING:
            raise ApprovalPending(
                "the release waits for this party's operator, who approves it by `dpmosaic party approve`; "
                "resume it then"
            )

    def decide(self, release_id: str, decision: str) -> Request:
        """Stores the operator's decision.

        Args:
            release_id: release id of a request, or a unique prefix of it.
            decision: `APPROVED` or `DENIED`.

        Raises:
            DataError: no request or several requests match.
        """
        matches = [r for r in self.requests() if r.terms.release_id.startswith(release_id)]
        if len(matches) != 1 or not release_id:
            raise DataError(
                f"expected the id of one requested release, found {len(matches)}; "
                "`dpmosaic party releases` lists them"
            )
        with self._transaction():
            self._database.execute(
                "UPDATE request SET decision = ? WHERE release_id = ?",
                (decision, matches[0].terms.release_id),
            )
        return Request(matches[0].terms, decision)

    def requests(self) -> list[Request]:
        """All requests, in order of arrival."""
        with self._lock:
            rows = self._database.execute("SELECT terms, decision FROM request ORDER BY rowid").fetchall()
        return [Request(decode_terms(terms), decision) for terms, decision in rows]

    def _row(self, release_id: str) -> tuple[bytes, str] | None:
        row: tuple[bytes, str] | None = self._database.execute(
            "SELECT terms, decision FROM request WHERE release_id = ?", (release_id,)
        ).fetchone()
        return row

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            yield
