"""The charged queries in a party's ledger."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from fractions import Fraction

from ...common.bounded import json_of
from ...common.canonical.queries import encode_asked
from ...common.errors import ProtocolError
from ...common.privacy import noise
from ...common.privacy.budget import AnswerKind
from ...common.promises.statement import Entry, first_link
from ...common.queries import Asked
from .rows import LedgerEntry


class AnswerRows:
    """Rows of the tables `answer` and `charged`; the ledger holds its lock and the transaction.

    Args:
        database: database of the ledger.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._charged: dict[str, int] = {}

    def find(self, query: Asked) -> LedgerEntry | None:
        """The entry of a query; None if it was not charged.

        Raises:
            ProtocolError: the id was used for another query, or noise was drawn by another version of the
                sampler.
        """
        row = self._database.execute(
            f"SELECT {_ENTRY}, noise_key, link, sampler FROM {_CHARGED} "
            "WHERE release_id = ? AND query_id = ?",
            (query.release_id, query.query_id),
        ).fetchone()
        if row is None:
            return None
        *fields, noise_key, link, sampler = row
        if fields[1] != encode_asked(query):
            raise ProtocolError("this query id was used for another query; use a new id")
        _check_sampler(sampler)
        return LedgerEntry(**vars(_entry(*fields)), noise_key=noise_key, link=link)

    def add(self, query: Asked, entry: LedgerEntry) -> None:
        """Adds the entry of a new query."""
        charged = self.query_count(query.release_id)
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
        self._database.execute(
            "INSERT INTO charged VALUES (?, ?, ?, ?, ?, ?)",
            (
                query.release_id,
                query.query_id,
                entry.kind.value,
                json.dumps(entry.clique),
                json.dumps(entry.groups),
                str(entry.delta),
            ),
        )
        self._charged[query.release_id] = charged + 1

    def query_count(self, release_id: str) -> int:
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
            f"SELECT {_ENTRY} FROM {_CHARGED} WHERE release_id = ? ORDER BY answer.rowid", (release_id,)
        ).fetchall()
        return [_entry(*row) for row in rows]

    def erase(self, release_id: str) -> None:
        """Erases the keys of the noise of a release."""
        self._database.execute("UPDATE answer SET noise_key = NULL WHERE release_id = ?", (release_id,))


_ENTRY = "query_id, query, rho, signature, kind, delta, clique, groups"
_CHARGED = "answer JOIN charged USING (release_id, query_id)"


def _entry(
    query_id: str, query: bytes, rho: str, signature: bytes, kind: str, delta: str, *asked: str
) -> Entry:
    digest, (clique, groups) = hashlib.sha256(query).digest(), (tuple(json_of(one)) for one in asked)
    costs = (Fraction(rho), Fraction(delta))
    return Entry(query_id, digest, AnswerKind(kind), clique, groups, *costs, signature)


def _check_sampler(version: int) -> None:
    if version != noise.SAMPLER:
        raise ProtocolError(
            f"the query was charged when version {version} of the sampler drew noise, and this is version "
            f"{noise.SAMPLER}, which could draw other noise for the same charge; abandon the release, or "
            "install the earlier version of the software to finish it"
        )
