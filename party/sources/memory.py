"""DuckDB as it is opened everywhere; small rows share a database, which takes less time than a new one."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import duckdb

from ...common.errors import DataError

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "preserve_insertion_order": True,
    "temp_directory": "",
}


class _Shared(threading.local):
    """The database of the small rows that a thread reads: a fatal error, as by broken texts, ends it."""

    database: duckdb.DuckDBPyConnection | None = None


_SHARED = _Shared()


def connect(
    database: Path | str = ":memory:", *, read_only: bool = False, **settings: str | int
) -> duckdb.DuckDBPyConnection:
    """A database for itself: it fetches no extension, and shows no progress of its own.

    In an interactive program, DuckDB prints a bar to the standard output of every query that takes long.

    Args:
        database: its file; in memory without one.
        read_only: open an existing file to read it.
        **settings: of DuckDB, beside those that hold everywhere.

    Raises:
        duckdb.Error: the file cannot be opened.
    """
    made = duckdb.connect(str(database), read_only, _CONFIG | settings)
    made.execute("SET enable_progress_bar = false")
    return made


def register(connection: duckdb.DuckDBPyConnection, name: str, rows: object) -> None:
    """Makes rows a view.

    Args:
        connection: for which.
        name: of the view.
        rows: a table of Arrow.

    Raises:
        DataError: DuckDB does not read a type of theirs.
    """
    try:
        connection.register(name, rows)
    except duckdb.NotImplementedException:
        raise DataError(
            "expected columns of types that DuckDB reads, got another, such as decimals of 256 bits; convert "
            "or drop it"
        ) from None


def connect_small() -> duckdb.DuckDBPyConnection:
    """A connection to the database that small rows share, which runs a query in one thread.

    What it registers and keeps as TEMP is seen by no other connection, and ends with it. It changes no
    setting: that would be one of all.
    """
    if _SHARED.database is not None:
        with contextlib.suppress(duckdb.FatalException):
            connection = _SHARED.database.cursor()
            connection.execute("SELECT 1").fetchall()
            return connection
    _SHARED.database = _without_threads()
    return _SHARED.database.cursor()


def _without_threads() -> duckdb.DuckDBPyConnection:
    """A database without threads of its own: a fork of this process would not have them."""
    made = connect(threads=1)
    # Before version 2, DuckDB has none for input and output.
    with contextlib.suppress(duckdb.CatalogException):
        made.execute("SET async_threads = 0")
    return made
