"""The accepted releases in a party's ledger, and what was lost with an earlier copy of it."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from typing import Any

from ...common.errors import PolicyError, ProtocolError
from ...common.history import Mark
from .rows import ABANDONED, CERTIFIED, OPEN, LedgerSummary

_STATE = (
    f"CASE WHEN closed_at IS NULL THEN '{OPEN}' "
    f"WHEN certificate IS NULL THEN '{ABANDONED}' ELSE '{CERTIFIED}' END"
)


class ReleaseRows:
    """Rows of the tables `release` and `restoration`; the ledger holds its lock and the transaction.

    Args:
        database: database of the ledger.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def find(self, release_id: str, columns: str) -> tuple[Any, ...] | None:
        """Columns of a release; None if it was not accepted."""
        return self._row(f"SELECT {columns} FROM release WHERE release_id = ?", release_id)

    def state(self, release_id: str) -> str:
        """The state of an accepted release.

        Raises:
            ProtocolError: it was not accepted.
        """
        row = self.find(release_id, _STATE)
        if row is None:
            raise ProtocolError(
                "the message is for a release that this party has not accepted; accept it first"
            )
        return str(row[0])

    def check_open(self, release_id: str) -> None:
        """Returns only if a release is open.

        Raises:
            ProtocolError: it was not accepted, or is closed.
        """
        if (state := self.state(release_id)) != OPEN:
            raise refusal_of_closed(state)

    def open(self, release_id: str, columns: str) -> tuple[Any, ...]:
        """Columns of an open release.

        Raises:
            ProtocolError: it was not accepted, or is closed.
        """
        self.check_open(release_id)
        row = self.find(release_id, columns)
        assert row is not None, "an open release has a row"
        return row

    def all_open(self) -> frozenset[str]:
        """Ids of all open releases."""
        rows = self._database.execute("SELECT release_id FROM release WHERE closed_at IS NULL")
        return frozenset(release_id for (release_id,) in rows)

    def add(
        self,
        release_id: str,
        accepted: Mark,
        terms: bytes,
        granted: Fraction,
        data_digest: str,
        curator: bytes,
        curator_signature: bytes,
        secret: bytes,
    ) -> None:
        """Adds an open release without charges."""
        self._database.execute(
            "INSERT INTO release VALUES (?, ?, ?, ?, '0', ?, ?, ?, NULL, NULL, ?, NULL, NULL)",
            (
                release_id,
                accepted.events,
                terms,
                str(granted),
                data_digest,
                curator,
                curator_signature,
                secret,
            ),
        )

    def introduce(self, release_id: str, introduction: bytes, keys: bytes) -> None:
        """Stores the introduction of a release, and the digest of the keys in it."""
        self._database.execute(
            "UPDATE release SET introduction = ?, introduced_keys = ? WHERE release_id = ?",
            (introduction, keys, release_id),
        )

    def spend(self, release_id: str, spent: Fraction) -> None:
        """Sets what a release has cost so far, zCDP."""
        self._database.execute("UPDATE release SET spent = ? WHERE release_id = ?", (str(spent), release_id))

    def close(self, release_id: str, closed_at: Mark, certificate: bytes | None) -> None:
        """Closes a release and erases its keys."""
        self._database.execute(
            "UPDATE release SET closed_at = ?, certificate = ?, "
            "secret = NULL, introduction = NULL, introduced_keys = NULL WHERE release_id = ?",
            (closed_at.events, certificate, release_id),
        )

    def closing_mark(self, release_id: str) -> Mark:
        """The mark of the event that closed a release."""
        row = self._row(
            "SELECT number, head FROM history JOIN release ON number = closed_at WHERE release_id = ?",
            release_id,
        )
        assert row is not None, "a closed release has an event"
        return Mark(*row)

    def summaries(self) -> list[LedgerSummary]:
        """Summaries of all accepted releases, in the order of acceptance."""
        rows = self._database.execute(
            "SELECT release_id, granted, spent, "
            "(SELECT count(*) FROM answer WHERE answer.release_id = release.release_id), "
            f"{_STATE}, charged.at FROM release LEFT JOIN (SELECT release_id, max(at) AS at FROM moment "
            "WHERE query_id IS NOT NULL GROUP BY release_id) AS charged USING (release_id) "
            "ORDER BY release.rowid"
        ).fetchall()
        return [LedgerSummary(i, Fraction(g), Fraction(spent), *rest) for i, g, spent, *rest in rows]

    def note_restored(self, at: Mark) -> None:
        """Notes that the ledger was restored; it is held until `recount`."""
        self._database.execute("INSERT INTO restoration VALUES (?, NULL, NULL, 0)", (at.events,))

    def is_held(self) -> bool:
        """Whether the ledger was restored and nobody has said what was spent since its backup."""
        return self._row("SELECT 1 FROM restoration WHERE counted IS NULL") is not None

    def check_not_held(self) -> None:
        """Returns only if the ledger may accept releases.

        Raises:
            PolicyError: it is held.
        """
        if self.is_held():
            raise PolicyError(
                "this party's ledger was restored from a backup, and accepts nothing until its operator has "
                "counted what was spent since, by `dpmosaic party recount`"
            )

    def recount(self, counted: Fraction, reason: str) -> int:
        """Counts a budget as spent after restorations, zCDP, and ends the hold; the latest one's number."""
        numbers = self._database.execute(
            "SELECT number FROM restoration WHERE counted IS NULL ORDER BY number DESC"
        ).fetchall()
        for place, (number,) in enumerate(numbers):
            self._database.execute(
                "UPDATE restoration SET counted = ?, reason = ? WHERE number = ?",
                (str(Fraction(0) if place else counted), reason, number),
            )
        return int(numbers[0][0])

    def was_recounted(self) -> bool:
        """Whether what was counted after a restoration is not stated in a hand-over yet."""
        return self._row("SELECT 1 FROM restoration WHERE counted IS NOT NULL AND NOT stated") is not None

    def handed_over(self) -> None:
        """Notes that a hand-over states all restorations so far."""
        self._database.execute("UPDATE restoration SET stated = 1")

    def _row(self, statement: str, *values: Any) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._database.execute(statement, values).fetchone()
        return row


def refusal_of_closed(state: str) -> ProtocolError:
    """The refusal of a message of a release that is closed."""
    return ProtocolError(
        f"the release is {state} at this party: its keys are erased, and it answers nothing more; start a "
        "new release"
    )
