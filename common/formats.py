"""Formats of SQLite files: each file states its own, and later software brings it forward in place."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import DataError


@dataclass(frozen=True)
class Format:
    """The current format of one kind of file, and the steps from earlier ones.

    Attributes:
        kind: what the file is, such as "ledger".
        number: of the current format; in the file it is `user_version`.
        steps: number of an earlier format -> statements that bring a file of it to the next one; without any,
            only the number changes.
        else_do: what an operator does with a file for which there are no steps.
    """

    kind: str
    number: int
    steps: Mapping[int, tuple[str, ...]]
    else_do: str

    def bring_forward(self, database: sqlite3.Connection, path: Path) -> None:
        """Brings a file to the current format, in one transaction; copies it first if its tables change.

        A process that is killed leaves the file as it was or complete. Of two processes, one does it.

        Args:
            database: connection to the file, without a transaction.
            path: the file; its copy is `copy_of` it.

        Raises:
            DataError: the format is newer than the current one, or older than those with steps; the file is
                left as it is.
        """
        if self._found(database) == self.number:
            return
        database.execute("BEGIN IMMEDIATE")
        try:
            found = self._found(database)
            if any(self.steps[number] for number in range(found, self.number)):
                copy_database(path, copy_of(path, found))
            for number in range(found, self.number):
                for statement in self.steps[number]:
                    database.execute(statement)
            database.execute(f"PRAGMA user_version = {self.number}")
        except BaseException:
            database.execute("ROLLBACK")
            raise
        database.execute("COMMIT")

    def found_in(self, path: Path) -> int:
        """The number of the format that a file states; the file is not changed."""
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return _number(database)

    def _found(self, database: sqlite3.Connection) -> int:
        """The number that the file states, if there are steps from it."""
        found = _number(database)
        if found > self.number:
            raise DataError(
                f"expected a {self.kind} of format {self.number} or earlier, found format {found}, which a "
                "later version of the software wrote; install that version"
            )
        if found != self.number and found not in self.steps:
            known = f"{min(self.steps)} to {self.number}" if self.steps else str(self.number)
            raise DataError(f"expected a {self.kind} of format {known}, found format {found}; {self.else_do}")
        return found


def copy_of(path: Path, number: int) -> Path:
    """The copy of a file as it was in an earlier format."""
    return path.with_name(f"{path.name}.format-{number}")


def copies_of(path: Path) -> list[Path]:
    """All copies of a file in earlier formats, as confidential as the file was."""
    return sorted(path.parent.glob(f"{path.name}.format-*"))


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
