"""A party's durable record of its grants and charges: SQLite, one transaction for each entry."""

from __future__ import annotations

import hashlib
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..common.canonical.queries import encode_asked
from ..common.canonical.terms import encode_terms
from ..common.errors import BudgetError, PartyUnavailable, PolicyError, ProtocolError
from ..common.history import Mark
from ..common.messages import Asked, ReleaseTerms
from ..common.privacy import noise
from ..common.statement import Claim, Entry, first_link, next_link
from .ledger_history import History
from .ledger_placements import Placements
from .ledger_rows import (
    ABANDONED,
    CERTIFIED,
    OPEN,
    VERSION,
    KeptAlignment,
    LedgerEntry,
    LedgerEvents,
    LedgerRelease,
    LedgerSummary,
    Placement,
    create_database,
    open_database,
)

_STATE = (
    f"CASE WHEN closed_at IS NULL THEN '{OPEN}' "
    f"WHEN certificate IS NULL THEN '{ABANDONED}' ELSE '{CERTIFIED}' END"
)


def _unsigned(link: bytes) -> bytes:
    return b""


class Ledger:
    """Reserved and spent budgets. A confirmed entry is on disk; no query is charged twice.

    A release ends when it is certified or abandoned. Its secret, its introduction and the keys of its noise
    are erased then, and what it did not spend is no longer reserved; terms, entries and signatures stay.

    Args:
        path: the SQLite file, made by `create`; or None for a new ledger in memory (simulations).

    Raises:
        DataError: there is no such file, other users can read it, or it has another format.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._database = open_database(path)
        self._lock = threading.Lock()
        self._history = History(self._database)
        self._placements = Placements(self._database)
        self._charges: dict[str, int] = {}
        weakref.finalize(self, self._database.close)

    @classmethod
    def create(cls, path: Path) -> Ledger:
        """Creates the file of a new ledger and opens it.

        Raises:
            DataError: there is a file already.
        """
        create_database(path)
        return cls(path)

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def mark(self) -> Mark:
        """The high-water mark: how many events were ever written, and the head of their chain."""
        with self._lock:
            return self._history.mark()

    def check_contains(self, mark: Mark) -> None:
        """Returns only if this ledger stated the mark at some time.

        Raises:
            ProtocolError: it did not, so it was restored from an old copy.
        """
        with self._lock:
            self._history.check_contains(mark)

    def reserved(self) -> Fraction:
        """Total budget that is reserved or spent, zCDP: grants of open releases, costs of closed ones."""
        with self._lock:
            return self._reserved()

    def release(self, release_id: str) -> LedgerRelease:
        """The entry of an open release.

        Raises:
            ProtocolError: it was not accepted, or is closed.
        """
        with self._lock:
            _, found = self._open(release_id, "terms, data_digest, secret, introduction")
        return LedgerRelease(*found)

    def terms(self, release_id: str) -> bytes | None:
        """The encoded terms of a release, open or closed; None if it was not accepted."""
        with self._lock:
            row = self._row("SELECT terms FROM release WHERE release_id = ?", release_id)
        return None if row is None else bytes(row[0])

    def open_releases(self) -> frozenset[str]:
        """Ids of all accepted releases that are not closed."""
        with self._lock:
            rows = self._database.execute("SELECT release_id FROM release WHERE closed_at IS NULL")
            return frozenset(release_id for (release_id,) in rows)

    def curator(self, release_id: str) -> bytes | None:
        """Identity of a release's curator, empty if any may call; None if it was not accepted."""
        with self._lock:
            row = self._row("SELECT curator FROM release WHERE release_id = ?", release_id)
        return None if row is None else bytes(row[0])

    def reserve(
        self,
        terms: ReleaseTerms,
        data_digest: str,
        secret: bytes,
        admit: Callable[[Fraction], None],
        curator_signature: bytes = b"",
        curator: bytes = b"",
    ) -> LedgerRelease:
        """Reserves the budget of a release. Repeating the same terms has no effect.

        Args:
            terms: terms of the release.
            data_digest: digest of the party's rows.
            secret: 32 fresh bytes; stored if the release is new.
            admit: raises to refuse a new release, given the budget reserved by all earlier ones; called in
                the transaction, so that no other release can be accepted in between.
            curator_signature: the curator's signature of the terms; stored with them.
            curator: identity of the curator that signed them; empty if the party accepts any.

        Raises:
            ProtocolError: the id was used for other terms or other data, or the release is closed.
        """
        encoded = encode_terms(terms)
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            row = self._row("SELECT terms, data_digest FROM release WHERE release_id = ?", terms.release_id)
            if row is None:
                admit(self._reserved())
                accepted = self._history.append(
                    "accepted", terms.release_id, hashlib.sha256(encoded).digest()
                )
                self._database.execute(
                    "INSERT INTO release VALUES (?, ?, ?, ?, '0', ?, ?, ?, NULL, NULL, ?, NULL, NULL)",
                    (
                        terms.release_id,
                        accepted.events,
                        encoded,
                        str(Fraction(terms.granted_rho)),
                        data_digest,
                        curator,
                        curator_signature,
                        secret,
                    ),
                )
            elif row != (encoded, data_digest):
                raise ProtocolError("this release id was used for other terms or other data; use a new id")
        return self.release(terms.release_id)

    def introduce(
        self, release_id: str, introduction: bytes, keys: bytes, peers: Mapping[bytes, tuple[str, Mark]]
    ) -> None:
        """Stores an introduction, and the marks in it; repeating it stores newer marks and nothing else.

        Args:
            release_id: id of an open release.
            introduction: the encoded introduction.
            keys: digest of all keys in it; it can be repeated with other marks, not with other keys.
            peers: name and mark of each other party, by its identity.

        Raises:
            ProtocolError: the release is unknown or closed, or has another introduction; or the ledger of
                another party was restored from an old copy.
        """
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            _, (known, accepted_at) = self._open(release_id, "introduced_keys, accepted_at")
            if known not in (None, keys):
                raise ProtocolError("this release was introduced with other parties or masks; use a new id")
            for identity, (name, mark) in peers.items():
                if known is None:
                    self._history.check_follows(identity, name, mark, accepted_at)
                self._history.see(identity, mark)
            if known is None:
                self._database.execute(
                    "UPDATE release SET introduction = ?, introduced_keys = ? WHERE release_id = ?",
                    (introduction, keys, release_id),
                )

    def charge(
        self,
        query: Asked,
        rho: Fraction,
        data_digest: str,
        noise_key: bytes,
        sign: Callable[[bytes], bytes] = _unsigned,
        max_queries: int = sys.maxsize,
    ) -> LedgerEntry:
        """Charges a query before its noise is drawn; a repeated query gets the first entry and costs nothing.

        Args:
            query: query to charge.
            rho: cost, as the party computed it.
            data_digest: digest of the rows that it will be answered from.
            noise_key: 32 fresh bytes, or none if this party does not answer; stored if the query is new.
            sign: signs a link as the party.
            max_queries: largest number of queries of the release.

        Raises:
            ProtocolError: the release is unknown or closed, the id was used for another query or other data,
                or the query was charged when noise was drawn by another version of the sampler.
            BudgetError: the query exceeds the grant of the release.
            PolicyError: it would be one query too many.
        """
        encoded = encode_asked(query)
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            terms, release = self._open(query.release_id, "granted, spent, data_digest")
            granted, spent = Fraction(release[0]), Fraction(release[1])
            _check_data(release[2], data_digest)
            known = self._entry(query)
            if known is not None:
                return known
            if spent + rho > granted:
                raise BudgetError("the query costs more than is left of the release's budget at this party")
            if self._charged_queries(query.release_id) >= max_queries:
                raise PolicyError(
                    "the release has as many queries as max_queries of the policy allows; query larger "
                    "marginals, or the party's owner raises the limit"
                )
            self._database.execute(
                "UPDATE release SET spent = ? WHERE release_id = ?", (str(spent + rho), query.release_id)
            )
            digest = hashlib.sha256(encoded).digest()
            link = next_link(self._last_link(query.release_id, terms), query.query_id, digest, rho)
            self._history.append("charged", query.release_id, link)
            entry = LedgerEntry(query.query_id, rho, noise_key, link, sign(link))
            self._database.execute(
                "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    query.release_id,
                    query.query_id,
                    encoded,
                    str(rho),
                    noise.SAMPLER,
                    noise_key,
                    link,
                    entry.signature,
                ),
            )
            self._charges[query.release_id] += 1
        return entry

    def charged(self, query: Asked, data_digest: str) -> LedgerEntry:
        """The entry of a query that was charged before.

        Args:
            query: the query.
            data_digest: digest of the rows that it will be answered from.

        Raises:
            ProtocolError: the query was not charged, or its id was used for another query or other data.
        """
        release = self.release(query.release_id)
        _check_data(release.data_digest, data_digest)
        with self._lock:
            entry = self._entry(query)
        if entry is None:
            raise ProtocolError("the query is not charged at this party yet; charge it before it is answered")
        return entry

    def bind(self, query: Asked, values: Mapping[str, str]) -> None:
        """Binds a charged query to values under its noise or masks, and to its answer, before they are used.

        Two different values under the same noise or mask would reveal their difference; two answers with
        different noise would be two answers for the price of one. The rows do not determine values to which
        other parties contribute.

        Args:
            query: query charged before.
            values: name -> digest.

        Raises:
            ProtocolError: the release is closed, or the query is bound to another value of a name.
        """
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._open(query.release_id)
            known = self._bound(query)
            for name, digest in values.items():
                if known.get(name, digest) != digest:
                    raise ProtocolError(
                        "this query was answered from other values or with other noise before; use a new id"
                    )
                if name not in known:
                    self._database.execute(
                        "INSERT INTO bound VALUES (?, ?, ?, ?)",
                        (query.release_id, query.query_id, name, digest),
                    )

    def bound(self, query: Asked) -> dict[str, str]:
        """What a query is bound to: name -> digest."""
        with self._lock:
            return self._bound(query)

    def place(self, release_id: str, placement: Placement) -> None:
        """Stores the result of an alignment; repeating it has no effect.

        Raises:
            ProtocolError: the release is unknown or closed, or its rows were placed otherwise before.
        """
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._open(release_id)
            self._placements.put(release_id, placement)

    def alignment(self, alignment_id: str, data_digest: str) -> KeptAlignment:
        """A finished alignment.

        Args:
            alignment_id: id of the release that made it.
            data_digest: digest of the rows that it is used for.

        Raises:
            ProtocolError: there is none, it is not finished, or it is of other rows.
        """
        with self._lock:
            return self._placements.finished(alignment_id, data_digest)

    def placements(self, data_digest: str) -> tuple[str, ...]:
        """Ids of the finished alignments of these rows, the latest last."""
        with self._lock:
            return self._placements.ids(data_digest)

    def certify(self, claim: Claim) -> tuple[list[Entry], bytes, Mark]:
        """Closes a release with its certificate. Repeating the same certificate has no effect.

        Returns:
            All entries of the release, the link of the last one, and the mark of the certificate.

        Raises:
            ProtocolError: the release is unknown or abandoned, or closed with another certificate.
            BudgetError: the certificate states a lower cost than was charged.
        """
        with self._lock:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                row = self._row(
                    f"SELECT terms, spent, certificate, {_STATE} FROM release WHERE release_id = ?",
                    claim.release_id,
                )
                if row is None:
                    raise _unknown()
                if float(Fraction(row[1])) > claim.zcdp_rho_spent:
                    raise BudgetError("the certificate states a lower cost than this party charged; fix it")
                if row[3] == ABANDONED:
                    raise _closed(ABANDONED)
                if row[2] not in (None, claim.certificate):
                    raise ProtocolError("another certificate of this release is signed already; use that one")
                if row[3] == OPEN:
                    self._close(claim.release_id, CERTIFIED, claim.certificate)
                rows = self._database.execute(
                    "SELECT query_id, query, rho, signature FROM answer WHERE release_id = ? ORDER BY rowid",
                    (claim.release_id,),
                ).fetchall()
                link = self._last_link(claim.release_id, row[0])
                mark = self._row(
                    "SELECT number, head FROM history JOIN release ON number = closed_at WHERE release_id = "
                    "?",
                    claim.release_id,
                )
                assert mark is not None
            self._truncate()
        entries = [Entry(i, hashlib.sha256(query).digest(), Fraction(rho), s) for i, query, rho, s in rows]
        return entries, link, Mark(*mark)

    def abandon(self, release_id: str) -> None:
        """Closes a release without a certificate; a release that is closed already stays as it is.

        Raises:
            ProtocolError: it was not accepted.
            PartyUnavailable: another process reads the file, so the keys may still be in its log; repeat
                this.
        """
        with self._lock:
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                row = self._row(f"SELECT {_STATE} FROM release WHERE release_id = ?", release_id)
                if row is None:
                    raise _unknown()
                if row[0] == OPEN:
                    self._close(release_id, ABANDONED, None)
            self._truncate()

    def summaries(self) -> list[LedgerSummary]:
        """Summaries of all accepted releases, in the order of acceptance."""
        with self._lock:
            rows = self._database.execute(
                "SELECT release_id, granted, spent, "
                "(SELECT count(*) FROM answer WHERE answer.release_id = release.release_id), "
                f"{_STATE} FROM release ORDER BY rowid"
            ).fetchall()
        return [LedgerSummary(i, Fraction(g), Fraction(spent), n, state) for i, g, spent, n, state in rows]

    def events(self) -> list[LedgerEvents]:
        """Beginning and end of all accepted releases, in the order of acceptance."""
        with self._lock:
            rows = self._database.execute(
                "SELECT release_id, accepted_at, closed_at, certificate FROM release ORDER BY rowid"
            ).fetchall()
        return [LedgerEvents(*row) for row in rows]

    def check_writable(self) -> None:
        """Returns only if something can be written now: the format's number, as it is."""
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute(f"PRAGMA user_version = {VERSION}")

    def spent(self, release_id: str) -> Fraction:
        """Cost of a release so far, zCDP."""
        with self._lock:
            row = self._row("SELECT spent FROM release WHERE release_id = ?", release_id)
        return Fraction(row[0]) if row else Fraction(0)

    def _entry(self, query: Asked) -> LedgerEntry | None:
        row = self._row(
            "SELECT query, rho, noise_key, link, signature, sampler FROM answer "
            "WHERE release_id = ? AND query_id = ?",
            query.release_id,
            query.query_id,
        )
        if row is None:
            return None
        if row[0] != encode_asked(query):
            raise ProtocolError("this query id was used for another query; use a new id")
        _check_sampler(row[5])
        return LedgerEntry(query.query_id, Fraction(row[1]), *row[2:5])

    def _open(self, release_id: str, columns: str = "release_id") -> tuple[bytes, tuple[Any, ...]]:
        """Terms and other columns of an open release."""
        row = self._row(f"SELECT {_STATE}, terms, {columns} FROM release WHERE release_id = ?", release_id)
        if row is None:
            raise _unknown()
        if row[0] != OPEN:
            raise _closed(row[0])
        return row[1], row[2:]

    def _close(self, release_id: str, state: str, certificate: bytes | None) -> None:
        """Closes a release and erases its keys, in the current transaction."""
        number = self._history.append(state, release_id, certificate or b"").events
        self._database.execute(
            "UPDATE release SET closed_at = ?, certificate = ?, "
            "secret = NULL, introduction = NULL, introduced_keys = NULL WHERE release_id = ?",
            (number, certificate, release_id),
        )
        self._database.execute("UPDATE answer SET noise_key = NULL WHERE release_id = ?", (release_id,))
        self._database.execute("DELETE FROM bound WHERE release_id = ?", (release_id,))

    def _truncate(self) -> None:
        """Empties the write-ahead log, which still contains what was erased."""
        row = self._row("PRAGMA wal_checkpoint(TRUNCATE)")
        if row is not None and row[0]:
            raise PartyUnavailable(
                "the release is closed, but another process reads the ledger, so that its log still contains "
                "erased keys; ask again"
            )

    def _bound(self, query: Asked) -> dict[str, str]:
        rows = self._database.execute(
            "SELECT name, digest FROM bound WHERE release_id = ? AND query_id = ?",
            (query.release_id, query.query_id),
        )
        return dict(rows.fetchall())

    def _charged_queries(self, release_id: str) -> int:
        """Number of queries of a release; counted in the file once, since only this object charges."""
        if release_id not in self._charges:
            row = self._row("SELECT count(*) FROM answer WHERE release_id = ?", release_id)
            assert row is not None, "a count is always a row"
            self._charges[release_id] = row[0]
        return self._charges[release_id]

    def _last_link(self, release_id: str, terms: bytes) -> bytes:
        row = self._row(
            "SELECT link FROM answer WHERE release_id = ? ORDER BY rowid DESC LIMIT 1", release_id
        )
        return first_link(terms) if row is None else bytes(row[0])

    def _reserved(self) -> Fraction:
        rows = self._database.execute("SELECT iif(closed_at IS NULL, granted, spent) FROM release").fetchall()
        return sum((Fraction(reserved) for (reserved,) in rows), Fraction(0))

    def _row(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._database.execute(statement, values).fetchone()
        return row


def _check_sampler(version: int) -> None:
    if version != noise.SAMPLER:
        raise ProtocolError(
            f"the query was charged when version {version} of the sampler drew noise, and this is version "
            f"{noise.SAMPLER}, which could draw other noise for the same charge; abandon the release, or "
            "install the earlier version of the software to finish it"
        )


def _check_data(accepted: str, current: str) -> None:
    if accepted != current:
        raise ProtocolError("the party's data changed after it accepted the release; start a new release")


def _unknown() -> ProtocolError:
    return ProtocolError("the message is for a release that this party has not accepted; accept it first")


def _closed(state: str) -> ProtocolError:
    return ProtocolError(
        f"the release is {state} at this party: its keys are erased, and it answers nothing more; start a "
        "new release"
    )
