"""Databases in memory for the rows of data frames."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

import duckdb

from ...party.sources.source import CONFIG


class _Made(threading.local):
    """The database of this thread, and the process that made it."""

    process = 0
    database: duckdb.DuckDBPyConnection | None = None


_MADE = _Made()


def open_empty() -> duckdb.DuckDBPyConnection:
    """A connection to an empty database of this thread, made once, which takes longer than most queries.

    Of what a connection holds, only what is temporary is its own, and gone when it is closed. After an error
    that ends a database, and in a process that was forked, there is a new one.
    """
    if _MADE.database is not None and _MADE.process == os.getpid():
        connection = _MADE.database.cursor()
        with suppress(duckdb.FatalException):
            connection.execute("SELECT 1").fetchall()
            return connection
    _MADE.process, _MADE.database = os.getpid(), duckdb.connect(config=CONFIG)
    return _MADE.database.cursor()
