"""A party's durable record of its grants and charges: SQLite, one transaction for each entry."""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

from ..common.canonical.queries import encode_asked
from ..common.canonical.terms import encode_terms
from ..common.errors import BudgetError, ProtocolError
from ..common.messages import MarginalQuery, ReleaseTerms, ScoreQuery
from ..common.statement import Claim, Entry, first_link, next_link
from .ledger_rows import LedgerEntry, LedgerRelease, LedgerSummary, open_database


def _unsigned(link: bytes) -> bytes:
    return b""


class Ledger:
    """Reserved and spent budgets. A confirmed entry is on disk; no query is charged twice.

    Args:
        path: the SQLite file, or None for one in memory (simulations).
    """

    def __init__(self, path: Path | None = None) -> None:
        self._database = open_database(path)
        self._lock = threading.Lock()
        weakref.finalize(self, self._database.close)

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def reserved(self) -> Fraction:
        """Total budget of all releases accepted so far, zCDP."""
        with self._lock:
            return self._reserved()

    def release(self, release_id: str) -> LedgerRelease:
        """The entry of an accepted release.

        Raises:
            ProtocolError: it was not accepted.
        """
        with self._lock:
            row = self._database.execute(
                "SELECT terms, data_digest, secret, introduction FROM release WHERE release_id = ?",
                (release_id,),
            ).fetchone()
        if row is None:
            raise _unknown()
        return LedgerRelease(*row)

    def reserve(
        self,
        terms: ReleaseTerms,
        data_digest: str,
        secret: bytes,
        admit: Callable[[Fraction], None],
        curator_signature: bytes = b"",
    ) -> LedgerRelease:
        """Reserves the budget of a release. Repeating the same terms has no effect.

        Args:
            terms: terms of the release.
            data_digest: digest of the party's rows.
            secret: 32 fresh bytes; stored if the release is new.
            admit: raises to refuse a new release, given the budget reserved by all earlier ones; called in
                the transaction, so that no other release can be accepted in between.
            curator_signature: the curator's signature of the terms; stored with them.

        Raises:
            ProtocolError: the id was used for other terms or other data.
        """
        encoded = encode_terms(terms)
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            row = self._database.execute(
                "SELECT terms, data_digest FROM release WHERE release_id = ?", (terms.release_id,)
            ).fetchone()
            if row is None:
                admit(self._reserved())
                self._database.execute(
                    "INSERT INTO release VALUES (?, ?, ?, '0', ?, ?, NULL, ?, NULL)",
                    (
                        terms.release_id,
                        encoded,
                        str(Fraction(terms.granted_rho)),
                        data_digest,
                        secret,
                        curator_signature,
                    ),
                )
            elif row != (encoded, data_digest):
                raise ProtocolError("this release id was used for other terms or other data; use a new id")
        return self.release(terms.release_id)

    def introduce(self, release_id: str, introduction: bytes) -> None:
        """Stores an introduction. Repeating it has no effect.

        Raises:
            ProtocolError: the release is unknown, or has another introduction.
        """
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            row = self._database.execute(
                "SELECT introduction FROM release WHERE release_id = ?", (release_id,)
            ).fetchone()
            if row is None:
                raise _unknown()
            if row[0] is None:
                self._database.execute(
                    "UPDATE release SET introduction = ? WHERE release_id = ?", (introduction, release_id)
                )
            elif row[0] != introduction:
                raise ProtocolError("this release was introduced with other parties or masks; use a new id")

    def charge(
        self,
        query: MarginalQuery | ScoreQuery,
        rho: Fraction,
        data_digest: str,
        noise_key: bytes,
        sign: Callable[[bytes], bytes] = _unsigned,
    ) -> LedgerEntry:
        """Charges a query before its noise is drawn; a repeated query gets the first entry and costs nothing.

        Args:
            query: query to charge.
            rho: cost, as the party computed it.
            data_digest: digest of the rows that it will be answered from.
            noise_key: 32 fresh bytes, or none if this party does not answer; stored if the query is new.
            sign: signs a link as the party.

        Raises:
            ProtocolError: the release is unknown or certified, or the id was used for another query or
                other data.
            BudgetError: the query exceeds the grant of the release.
        """
        encoded = encode_asked(query)
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            release = self._database.execute(
                "SELECT granted, spent, data_digest, terms, certificate FROM release WHERE release_id = ?",
                (query.release_id,),
            ).fetchone()
            if release is None:
                raise _unknown()
            granted, spent = Fraction(release[0]), Fraction(release[1])
            _check_data(release[2], data_digest)
            known = self._entry(query)
            if known is not None:
                return known
            if release[4] is not None:
                raise ProtocolError(
                    "the release's certificate is signed, so no new query is answered; start a new release"
                )
            if spent + rho > granted:
                raise BudgetError("the query costs more than is left of the release's budget at this party")
            self._database.execute(
                "UPDATE release SET spent = ? WHERE release_id = ?", (str(spent + rho), query.release_id)
            )
            digest = hashlib.sha256(encoded).digest()
            link = next_link(self._last_link(query.release_id, release[3]), query.query_id, digest, rho)
            entry = LedgerEntry(query.query_id, rho, noise_key, link, sign(link))
            self._database.execute(
                "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)",
                (query.release_id, query.query_id, encoded, str(rho), noise_key, link, entry.signature),
            )
        return entry

    def charged(self, query: MarginalQuery | ScoreQuery, data_digest: str) -> LedgerEntry:
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

    def bind(self, query: MarginalQuery | ScoreQuery, values: Mapping[str, str]) -> None:
        """Binds a charged query to the exact values that its noise or masks hide, before they are used.

        Two different values under the same noise or mask would reveal their difference. The rows do not
        determine values to which other parties contribute.

        Args:
            query: query charged before.
            values: name -> digest.

        Raises:
            ProtocolError: the query is bound to another value of a name.
        """
        key = (query.release_id, query.query_id)
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            for name, digest in values.items():
                row = self._database.execute(
                    "SELECT digest FROM bound WHERE release_id = ? AND query_id = ? AND name = ?",
                    (*key, name),
                ).fetchone()
                if row is None:
                    self._database.execute("INSERT INTO bound VALUES (?, ?, ?, ?)", (*key, name, digest))
                elif row[0] != digest:
                    raise ProtocolError("this query was answered from other products; use a new id")

    def certify(self, claim: Claim) -> tuple[list[Entry], bytes]:
        """Closes a release with its certificate. Repeating the same certificate has no effect.

        Returns:
            All entries of the release, and the link of the last one.

        Raises:
            ProtocolError: the release is unknown, or closed with another certificate.
            BudgetError: the certificate states a lower cost than was charged.
        """
        with self._lock, self._database:
            self._database.execute("BEGIN IMMEDIATE")
            row = self._database.execute(
                "SELECT terms, spent, certificate FROM release WHERE release_id = ?", (claim.release_id,)
            ).fetchone()
            if row is None:
                raise _unknown()
            if float(Fraction(row[1])) > claim.zcdp_rho_spent:
                raise BudgetError("the certificate states a lower cost than this party charged; fix it")
            if row[2] not in (None, claim.certificate):
                raise ProtocolError("another certificate of this release is signed already; use that one")
            self._database.execute(
                "UPDATE release SET certificate = ? WHERE release_id = ?",
                (claim.certificate, claim.release_id),
            )
            rows = self._database.execute(
                "SELECT query_id, query, rho, signature FROM answer WHERE release_id = ? ORDER BY rowid",
                (claim.release_id,),
            ).fetchall()
            link = self._last_link(claim.release_id, row[0])
        entries = [Entry(i, hashlib.sha256(query).digest(), Fraction(rho), s) for i, query, rho, s in rows]
        return entries, link

    def summaries(self) -> list[LedgerSummary]:
        """Summaries of all accepted releases, in the order of acceptance."""
        with self._lock:
            rows = self._database.execute(
                "SELECT release_id, granted, spent, "
                "(SELECT count(*) FROM answer WHERE answer.release_id = release.release_id), "
                "certificate IS NOT NULL "
                "FROM release ORDER BY rowid"
            ).fetchall()
        return [
            LedgerSummary(release_id, Fraction(granted), Fraction(spent), queries, bool(certified))
            for release_id, granted, spent, queries, certified in rows
        ]

    def check_writable(self) -> None:
        """Returns only if an entry can be written now."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute("ROLLBACK")

    def spent(self, release_id: str) -> Fraction:
        """Cost of a release so far, zCDP."""
        with self._lock:
            row = self._database.execute(
                "SELECT spent FROM release WHERE release_id = ?", (release_id,)
            ).fetchone()
        return Fraction(row[0]) if row else Fraction(0)

    def _entry(self, query: MarginalQuery | ScoreQuery) -> LedgerEntry | None:
        row = self._database.execute(
            "SELECT query, rho, noise_key, link, signature FROM answer WHERE release_id = ? AND query_id = ?",
            (query.release_id, query.query_id),
        ).fetchone()
        if row is None:
            return None
        if row[0] != encode_asked(query):
            raise ProtocolError("this query id was used for another query; use a new id")
        return LedgerEntry(query.query_id, Fraction(row[1]), *row[2:])

    def _last_link(self, release_id: str, terms: bytes) -> bytes:
        row = self._database.execute(
            "SELECT link FROM answer WHERE release_id = ? ORDER BY rowid DESC LIMIT 1", (release_id,)
        ).fetchone()
        return first_link(terms) if row is None else bytes(row[0])

    def _reserved(self) -> Fraction:
        rows = self._database.execute("SELECT granted FROM release").fetchall()
        return sum((Fraction(granted) for (granted,) in rows), Fraction(0))


def _check_data(accepted: str, current: str) -> None:
    if accepted != current:
        raise ProtocolError("the party's data changed after it accepted the release; start a new release")


def _unknown() -> ProtocolError:
    return ProtocolError("the message is for a release that this party has not accepted; accept it first")
