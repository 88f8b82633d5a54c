"""Formats of SQLite files: each file states its own, and files of others are refused and left as they are."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .errors import DataError

_OF_DISK = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)
_ERRORS_OF_DISK = (errno.EDQUOT, errno.EIO, errno.ENOSPC, errno.EROFS)


@dataclass(frozen=True)
class Format:
    """The current format of one kind of file.

    Attributes:
        kind: what the file is, such as "ledger".
        number: of the current format; in the file it is `user_version`.
        schema: statements that create its tables.
    """

    kind: str
    number: int
    schema: str

    def check(self, database: sqlite3.Connection) -> None:
        """Refuses a file of another format.

        Args:
            database: connection to the file.

        Raises:
            DataError: it has another number or other tables, or is no such file; names the number. Or its
                disk fails.
        """
        try:
            found, columns = _number(database), _columns(database)
        except sqlite3.DatabaseError as cause:
            if is_of_disk(cause):
                raise DataError(
                    f"cannot read the {self.kind}: {cause}; it may be whole: make room on its disk, or let "
                    "this user write there"
                ) from cause
            raise DataError(
                f"expected a {self.kind} of format {self.number}, found a file of another kind, or a damaged "
                "one; restore a backup"
            ) from cause
        if found == self.number and columns == self._columns:
            return
        other = f"format {found}" if found != self.number else "other tables"
        raise DataError(
            f"expected a {self.kind} of format {self.number}, found {other}; install the version of the "
            "software that wrote it, or begin with a new folder"
        )

    def check_file(self, path: Path) -> None:
        """As `check`, of a file, which is not changed.

        Raises:
            DataError: see `check`.
        """
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            self.check(database)

    @cached_property
    def _columns(self) -> list[tuple[str, str, str]]:
        with contextlib.closing(sqlite3.connect(":memory:")) as database:
            database.executescript(self.schema)
            return _columns(database)


def is_of_disk(error: BaseException) -> bool:
    """Whether an error says that a disk is full, read-only or fails, and nothing of what a file holds.

    SQLite reads no file with a log of its own where it cannot write beside it.
    """
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _OF_DISK
    return isinstance(error, OSError) and error.errno in _ERRORS_OF_DISK


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


def _columns(database: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Table, name and type of every column."""
    return database.execute(
        "SELECT made.name, held.name, held.type FROM sqlite_schema AS made, pragma_table_info(made.name) "
        "AS held WHERE made.type = 'table' ORDER BY made.name, held.cid"
    ).fetchall()


def _number(database: sqlite3.Connection) -> int:
    (number,) = database.execute("PRAGMA user_version").fetchone()
    return int(number)
