"""The events of a party's ledger, and the marks of other parties' ledgers that it has seen."""

from __future__ import annotations

import sqlite3

from ...common.history import START, Mark, forgotten


class History:
    """Rows of the tables `history` and `peer`; the ledger holds its lock and the transaction.

    Args:
        database: database of the ledger.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def mark(self) -> Mark:
        """The high-water mark: how many events were ever written, and the head of their chain."""
        row = self._database.execute(
            "SELECT number, head FROM history ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return START if row is None else Mark(*row)

    def append(self, event: str, release_id: str, digest: bytes) -> Mark:
        """Appends an event; the mark after it."""
        mark = self.mark().after(event, release_id, digest)
        self._database.execute("INSERT INTO history VALUES (?, ?)", (mark.events, mark.head))
        return mark

    def check_contains(self, mark: Mark) -> None:
        """Returns only if this ledger stated the mark at some time.

        Raises:
            ProtocolError: it did not, so it was restored from an old copy.
        """
        row = self._database.execute("SELECT head FROM history WHERE number = ?", (mark.events,)).fetchone()
        if mark != START and (row is None or row[0] != mark.head):
            raise forgotten()

    def check_follows(self, identity: bytes, name: str, mark: Mark, accepted_at: int) -> None:
        """Refuses a mark of another party that precedes those seen before a release was accepted here.

        The other party stated it after that, so an earlier one comes from a restored ledger. Later ones may
        have been seen since, in a release that goes on at the same time.

        Args:
            identity: identity of the other party.
            name: its name.
            mark: mark that it states.
            accepted_at: number of the event by which the release was accepted.

        Raises:
            ProtocolError: it comes from a ledger that was restored from an old copy.
        """
        rows = self._database.execute(
            "SELECT events, head FROM peer WHERE identity = ? AND (seen_at < ? OR events = ?)",
            (identity, accepted_at, mark.events),
        )
        for row in rows.fetchall():
            mark.check_follows(Mark(*row), name)

    def see(self, identity: bytes, mark: Mark) -> None:
        """Stores a mark of another party."""
        self._database.execute(
            "INSERT OR IGNORE INTO peer VALUES (?, ?, ?, ?)",
            (identity, mark.events, mark.head, self.mark().events),
        )
