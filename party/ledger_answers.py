"""The charged queries in a party's ledger."""

from __future__ import annotations

import hashlib
import sqlite3
from fractions import Fraction

from ..common.canonical.queries import encode_asked
from ..common.errors import ProtocolError
from ..common.messages import Asked
from ..common.privacy import noise
from ..common.statement import Entry, first_link
from .ledger_rows import LedgerEntry


class AnswerRows:
    """Rows of the table `answer`; the ledger holds its lock and the transaction.

    Args:
        database: database of the ledger.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._charged: dict[str, int] = {}

    def find(self, query: Asked) -> LedgerEntry | None:
        """The entry of a query; None if it was not charged.

        Raises:
            ProtocolError: the id was used for another query, or the query was charged when noise was drawn by
                another version of the sampler.
        """
        row = self._database.execute(
            "SELECT query, rho, noise_key, link, signature, sampler FROM answer "
            "WHERE release_id = ? AND query_id = ?",
            (query.release_id, query.query_id),
        ).fetchone()
        if row is None:
            return None
        if row[0] != encode_asked(query):
            raise ProtocolError("this query id was used for another query; use a new id")
        _check_sampler(row[5])
        return LedgerEntry(query.query_id, Fraction(row[1]), *row[2:5])

    def add(self, query: Asked, entry: LedgerEntry) -> None:
        """Adds the entry of a new query."""
        charged = self.charged(query.release_id)
        self._database.execute(
            "INSERT INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                query.release_id,
                query.query_id,
                encode_asked(query),
                str(entry.zcdp_rho),
                noise.SAMPLER,
                entry.noise_key,
                entry.link,
                entry.signature,
            ),
        )
        self._charged[query.release_id] = charged + 1

    def charged(self, release_id: str) -> int:
        """Number of queries of a release; counted in the file once, since only this object charges."""
        if release_id not in self._charged:
            (self._charged[release_id],) = self._database.execute(
                "SELECT count(*) FROM answer WHERE release_id = ?", (release_id,)
            ).fetchone()
        return self._charged[release_id]

    def last_link(self, release_id: str, terms: bytes) -> bytes:
        """The link of the last entry of a release, or that of its terms."""
        row = self._database.execute(
            "SELECT link FROM answer WHERE release_id = ? ORDER BY rowid DESC LIMIT 1", (release_id,)
        ).fetchone()
        return first_link(terms) if row is None else bytes(row[0])

    def entries(self, release_id: str) -> list[Entry]:
        """All entries of a release in their order, as a statement lists them."""
        rows = self._database.execute(
            "SELECT query_id, query, rho, signature FROM answer WHERE release_id = ? ORDER BY rowid",
            (release_id,),
        ).fetchall()
        return [Entry(i, hashlib.sha256(query).digest(), Fraction(rho), s) for i, query, rho, s in rows]

    def erase(self, release_id: str) -> None:
        """Erases the keys of the noise of a release."""
        self._database.execute("UPDATE answer SET noise_key = NULL WHERE release_id = ?", (release_id,))


def _check_sampler(version: int) -> None:
    if version != noise.SAMPLER:
        raise ProtocolError(
            f"the query was charged when version {version} of the sampler drew noise, and this is version "
            f"{noise.SAMPLER}, which could draw other noise for the same charge; abandon the release, or "
            "install the earlier version of the software to finish it"
        )
