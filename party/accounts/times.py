"""When events of a party's ledger happened."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from fractions import Fraction

from ...common.history import Mark
from .rows import LedgerCharge, LedgerEvents


class Times:
    """Rows of the table `moment`; the ledger holds its lock and the transaction.

    Args:
        database: database of the ledger.
        clock: seconds since 1970 in UTC.
    """

    def __init__(self, database: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def add(self, mark: Mark, release_id: str, query_id: str | None) -> None:
        """Notes that an event happens now.

        Args:
            mark: mark after the event.
            release_id: id of its release; empty for none.
            query_id: id of the charged query; None for another event.
        """
        self._database.execute(
            "INSERT INTO moment VALUES (?, ?, ?, ?)", (mark.events, int(self._clock()), release_id, query_id)
        )

    def events(self) -> list[LedgerEvents]:
        """Beginning and end of all accepted releases, in the order of acceptance."""
        rows = self._database.execute(
            "SELECT release.release_id, accepted_at, closed_at, certificate, began.at, ended.at FROM release "
            "JOIN moment AS began ON began.number = accepted_at "
            "LEFT JOIN moment AS ended ON ended.number = closed_at ORDER BY release.rowid"
        ).fetchall()
        return [LedgerEvents(*row) for row in rows]

    def charges(self) -> list[LedgerCharge]:
        """All charged queries, in the order in which they were charged."""
        rows = self._database.execute(
            "SELECT release_id, query_id, rho, at FROM answer JOIN moment USING (release_id, query_id) "
            "ORDER BY answer.rowid"
        ).fetchall()
        return [LedgerCharge(release_id, query, Fraction(rho), at) for release_id, query, rho, at in rows]
