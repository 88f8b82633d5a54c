"""What the secrets of open releases hide, in the ledger of a party or dealer."""

from __future__ import annotations

import sqlite3


class BindingRows:
    """Rows of the table `binding`; the ledger holds its lock and the transaction.

    Args:
        database: database of the ledger.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(self, release_id: str, kind: str, of: str, digest: str) -> str:
        """Adds a digest unless there is one; returns the one that is kept."""
        self._database.execute(
            "INSERT OR IGNORE INTO binding VALUES (?, ?, ?, ?)", (release_id, kind, of, digest)
        )
        kept = self.find(release_id, kind, of)
        assert kept is not None, "a binding was added if there was none"
        return kept

    def find(self, release_id: str, kind: str, of: str) -> str | None:
        """The digest that is kept; None if there is none."""
        row = self._database.execute(
            "SELECT digest FROM binding WHERE release_id = ? AND kind = ? AND of = ?", (release_id, kind, of)
        ).fetchone()
        return None if row is None else str(row[0])

    def erase(self, release_id: str) -> None:
        """Erases the bindings of a release whose secrets are erased too."""
        self._database.execute("DELETE FROM binding WHERE release_id = ?", (release_id,))
