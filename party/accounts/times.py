"""When events of a party's ledger happened."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction

from ...common.history import Mark
from .rows import LedgerCharge, LedgerEvents, LedgerRestoration


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

    def first_of_year(self) -> int:
        """Number of the first event of this calendar year (UTC), or of the next event if there is none.

        It is the year of the latest time that the ledger has noted, where the clock is behind it: a clock
        that is set back gives no budget of a year again.
        """
        latest, following = self._database.execute(
            "SELECT coalesce(max(at), 0), coalesce(max(number), 0) + 1 FROM moment"
        ).fetchone()
        year = datetime.fromtimestamp(max(latest, int(self._clock())), UTC).year
        begins = int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
        (first,) = self._database.execute(
            "SELECT coalesce(min(number), ?) FROM moment WHERE at >= ?", (following, begins)
        ).fetchone()
        return int(first)

    def events(self) -> list[LedgerEvents]:
        """Beginning and end of all accepted releases, in the order of acceptance."""
        rows = self._database.execute(
            "SELECT release.release_id, accepted_at, closed_at, certificate, began.at, ended.at FROM release "
            "JOIN moment AS began ON began.number = accepted_at "
            "LEFT JOIN moment AS ended ON ended.number = closed_at ORDER BY release.rowid"
        ).fetchall()
        return [LedgerEvents(*row) for row in rows]

    def restorations(self) -> list[LedgerRestoration]:
        """All restorations from backups, in their order."""
        rows = self._database.execute(
            "SELECT counted, reason, at FROM restoration JOIN moment USING (number) ORDER BY number"
        ).fetchall()
        return [
            LedgerRestoration(None if counted is None else Fraction(counted), reason or "", at)
            for counted, reason, at in rows
        ]

    def charges(self) -> list[LedgerCharge]:
        """All charged queries, in the order in which they were charged."""
        rows = self._database.execute(
            "SELECT release_id, query_id, rho, at FROM answer JOIN moment USING (release_id, query_id) "
            "ORDER BY answer.rowid"
        ).fetchall()
        return [LedgerCharge(release_id, query, Fraction(rho), at) for release_id, query, rho, at in rows]
