"""Formats of SQLite files: each file states its own, and files of others are refused and left as they are."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from .errors import DataError


@dataclass(frozen=True)
class Format:
    """The current format of one kind of file.

    Attributes:
        kind: what the file is, such as "ledger".
        number: of the current format; in the file it is `user_version`.
    """

    kind: str
    number: int

    def check(self, database: sqlite3.Connection) -> None:
        """Refuses a file of another format.

        Args:
            database: connection to the file.

        Raises:
            DataError: it has another; names both.
        """
        if (found := _number(database)) != self.number:
            raise DataError(
                f"expected a {self.kind} of format {self.number}, found format {found}; install the version "
                "of the software that wrote it"
            )

    def found_in(self, path: Path) -> int:
        """The number of the format that a file states; the file is not changed."""
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return _number(database)


def copy_database(path: Path, target: Path) -> None:
    """Copies a database, also one in use, to a file that only its owner can read; complete or not at all.

    Args:
        path: file of the database.
        target: file of the copy; replaced if it exists.
    """
    draft = target.with_name(target.name + ".new")
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with (
        # Not the caller's connection: SQLite copies nothing for one that is in a transaction.
        contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as database,
        contextlib.closing(sqlite3.connect(draft)) as copied,
    ):
        database.backup(copied)
        copied.execute("PRAGMA journal_mode = DELETE")
    draft.replace(target)


def _number(database: sqlite3.Connection) -> int:
    (number,) = database.execute("PRAGMA user_version").fetchone()
    return int(number)
