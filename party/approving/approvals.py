"""Approval of releases: requests of curators, and signed decisions on them."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ...common.canonical.terms import decode_terms, encode_terms
from ...common.crypto.identity import Identity
from ...common.errors import ApprovalPending, DataError, PolicyError
from ...common.formats import Format
from ...common.terms import ReleaseTerms
from .approvers import ANYBODY, Approvers
from .decisions import APPROVED, DENIED, PENDING, Decision

_MAX_PENDING = 100
_ROUNDING = 2.0**-40
_SCHEMA = """
CREATE TABLE IF NOT EXISTS request (
    release_id TEXT PRIMARY KEY,
    terms BLOB NOT NULL,
    curator BLOB NOT NULL,
    signature BLOB NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS decision (
    release_id TEXT NOT NULL REFERENCES request,
    number INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    by TEXT NOT NULL,
    at TEXT NOT NULL,
    reason TEXT NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (release_id, number)
) STRICT;
"""
FORMAT = Format(kind="file of requests", number=1, schema=_SCHEMA)


@dataclass(frozen=True)
class Request:
    """A release that a curator asked for.

    Attributes:
        terms: requested terms.
        curator: identity of the curator that signed them, 32 bytes.
        signature: its signature over the encoded terms.
        at: time of the request, ISO 8601 in UTC.
        decisions: decisions on the release, the latest last.
        approvers: who has to approve it.
    """

    terms: ReleaseTerms
    curator: bytes
    signature: bytes
    at: str
    decisions: tuple[Decision, ...] = ()
    approvers: Approvers = ANYBODY

    @property
    def state(self) -> str:
        """What the decisions amount to: `PENDING`, `APPROVED` or `DENIED`."""
        return self.approvers.state(self.decisions)

    def is_approved_by(self, public: bytes) -> bool:
        """Whether it is approved, each approval signed by the party with this public key."""
        approving = self.approvers.approving(self.decisions).values()
        return self.state == APPROVED and all(self.is_signed(number, public) for number in approving)

    def is_signed(self, number: int, public: bytes) -> bool:
        """Whether the party with this public key signed the decision of this number."""
        return self.decisions[number].is_signed(public, encode_terms(self.terms), number)


def approved_at(requests: Iterable[Request]) -> dict[str, str]:
    """When each release was approved last, by its id; those that were not approved are left out."""
    return {
        request.terms.release_id: decision.at
        for request in requests
        for decision in request.decisions
        if decision.verdict == APPROVED
    }


class Approvals:
    """Stores requests and decisions; the daemon and the operator's commands may open it at the same time.

    Args:
        path: the SQLite file.
        identity: identity of the party; signs decisions.
        automatic: approve every new request, in the name of the policy.
        approvers: who has to approve a request otherwise.
        clock: returns the current time.

    Raises:
        DataError: the file has another format.
    """

    def __init__(
        self,
        path: Path,
        identity: Identity,
        *,
        automatic: bool = False,
        approvers: Approvers = ANYBODY,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._identity, self._approvers = identity, approvers
        self.automatic = automatic
        """Whether every new request is approved in the name of the policy."""
        self._clock = clock
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._lock = threading.Lock()
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute("PRAGMA foreign_keys = ON")
        (tables,) = self._database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables:
            try:
                FORMAT.check(self._database)
            except DataError:
                self._database.close()
                raise
        self._database.executescript(_SCHEMA)
        self._database.execute(f"PRAGMA user_version = {FORMAT.number}")

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def check(self, terms: ReleaseTerms, curator: bytes, signature: bytes) -> None:
        """Returns only if exactly these terms of this curator are approved; stores a new request.

        Args:
            terms: requested terms.
            curator: identity of the curator that signed them.
            signature: its signature.

        Raises:
            PolicyError: they are not approved yet, or denied, or the approval is not signed by this party.
        """
        with self._transaction():
            request = self._find(terms.release_id)
            if request is None:
                request = self._add(Request(terms, curator, signature, self._now()))
        if (request.terms, request.curator) != (terms, curator) or request.state == DENIED:
            raise PolicyError(
                "this party's operator denied the release, or decided on other terms or another curator's"
            )
        if request.state == PENDING:
            raise ApprovalPending(
                "the release waits for this party's operator, who approves it by `dpmosaic party approve`; "
                "resume it then"
            )
        if not request.is_approved_by(self._identity.public):
            raise PolicyError("the approval is not signed by this party; its operator has to decide again")

    def check_running(self, release_id: str) -> None:
        """Returns unless the release was denied; cheap, for every message of a running release.

        Raises:
            PolicyError: it was denied.
        """
        with self._lock:
            row = self._database.execute(
                "SELECT verdict FROM decision WHERE release_id = ? ORDER BY number DESC LIMIT 1",
                (release_id,),
            ).fetchone()
        if row == (DENIED,):
            raise PolicyError("this party's operator denied the release and so stopped it; start a new one")

    def decide(self, release_id: str, verdict: str, by: str, reason: str, *, accepted: bool) -> Request:
        """Signs and stores a decision. Deciding what is decided has no effect.

        Args:
            release_id: id of a requested release, or a unique prefix of it.
            verdict: `APPROVED` or `DENIED`.
            by: name of the person who decides.
            reason: reason; may be empty.
            accepted: the party accepted the release before; then it stays denied once it was denied.

        Returns:
            The request with its decisions.

        Raises:
            DataError: no request or several requests match, the release stays denied, or this person may not
                approve it.
        """
        with self._transaction():
            request = self._matching(release_id)
            if request.state == verdict:
                return request
            if verdict == APPROVED:
                self._approvers.check(by, request.decisions)
            if accepted and verdict == APPROVED and request.state == DENIED:
                raise DataError(
                    "the release was running when it was denied, and cannot go on; let its curator start a "
                    "new one"
                )
            return self._decide(request, verdict, by, reason)

    def request(self, release_id: str) -> Request:
        """The request with this release id, or a unique prefix of it.

        Raises:
            DataError: no request or several requests match.
        """
        with self._lock:
            return self._matching(release_id)

    def requests(self) -> list[Request]:
        """All requests, in order of arrival."""
        with self._lock:
            rows = self._database.execute("SELECT release_id FROM request ORDER BY rowid").fetchall()
            return [self._matching(release_id) for (release_id,) in rows]

    def waiting(self) -> frozenset[str]:
        """Ids of the requested releases that are not decided on; their terms are not decoded."""
        with self._lock:
            rows = self._database.execute("SELECT release_id FROM request").fetchall()
            states = {
                release_id: self._approvers.state(self._decisions(release_id)) for (release_id,) in rows
            }
        return frozenset(release_id for release_id, state in states.items() if state == PENDING)

    def _matching(self, prefix: str) -> Request:
        rows = self._database.execute(
            "SELECT release_id FROM request WHERE substr(release_id, 1, ?) = ?", (len(prefix), prefix)
        ).fetchall()
        found = self._find(rows[0][0]) if len(rows) == 1 and prefix else None
        if found is None:
            raise DataError(
                f"expected the id of one requested release, found {len(rows)}; `dpmosaic party releases` "
                "lists them"
            )
        return found

    def _find(self, release_id: str) -> Request | None:
        row = self._database.execute(
            "SELECT terms, curator, signature, at FROM request WHERE release_id = ?", (release_id,)
        ).fetchone()
        if row is None:
            return None
        terms, curator, signature, at = row
        decisions = self._decisions(release_id)
        return Request(decode_terms(terms), curator, signature, at, decisions, self._approvers)

    def _decisions(self, release_id: str) -> tuple[Decision, ...]:
        rows = self._database.execute(
            "SELECT verdict, by, at, reason, signature FROM decision WHERE release_id = ? ORDER BY number",
            (release_id,),
        )
        return tuple(Decision(*fields) for fields in rows)

    def _add(self, request: Request) -> Request:
        (pending,) = self._database.execute(
            "SELECT count(*) FROM request WHERE release_id NOT IN (SELECT release_id FROM decision)"
        ).fetchone()
        if pending >= _MAX_PENDING:
            raise PolicyError("too many releases wait for this party's operator; ask for a decision")
        self._database.execute(
            "INSERT INTO request VALUES (?, ?, ?, ?, ?)",
            (
                request.terms.release_id,
                encode_terms(request.terms),
                request.curator,
                request.signature,
                request.at,
            ),
        )
        if self.automatic:
            return self._decide(request, APPROVED, "policy.toml", "approval = false")
        if (first := self._begun(request)) is not None:
            reason = f"with the first part, {first.terms.release_id}"
            for by in self._approvers.approving(first.decisions):
                request = self._decide(request, APPROVED, by, reason)
        return request

    def _begun(self, request: Request) -> Request | None:
        """The approved first part of the release of related tables that a request goes on with, if any.

        Who approved it was told of all parts and what they cost together. The others are of the same parties,
        tables, promise and curator, and of no more than was left.
        """
        part = request.terms.plan.related
        if part is None:
            return None
        rows = self._database.execute("SELECT release_id FROM request ORDER BY rowid").fetchall()
        found = [one for (release_id,) in rows if (one := self._find(release_id)) is not None]
        parts = [(one, of) for one in found if (of := one.terms.plan.related) is not None]
        own = request.terms.release_id
        parts = [(one, of) for one, of in parts if of.whole == part.whole and one.terms.release_id != own]
        if not parts:
            return None
        (first, stated), asked = parts[0], sum(one.terms.granted_rho for one, _ in parts)
        goes_on = all(
            one.curator == request.curator and one.is_approved_by(self._identity.public) for one, _ in parts
        )
        same = first.terms.whole == request.terms.whole
        left = part.left_rho + asked <= stated.left_rho * (1 + _ROUNDING)
        return first if goes_on and same and left else None

    def _decide(self, request: Request, verdict: str, by: str, reason: str) -> Request:
        number = len(request.decisions)
        decision = Decision(verdict, by, self._now(), reason)
        decision = decision.sign(self._identity, encode_terms(request.terms), number)
        self._database.execute(
            "INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?)",
            (request.terms.release_id, number, *astuple(decision)),
        )
        return replace(request, decisions=(*request.decisions, decision))

    def _now(self) -> str:
        return self._clock().isoformat(timespec="seconds")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            yield
