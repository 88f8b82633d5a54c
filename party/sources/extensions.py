"""DuckDB's own extensions, such as those that read SQLite files: loaded if its user has installed them."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from ...common.errors import DataError

SQLITE = "sqlite_scanner"
_SQLITE_FILE = b"SQLite format 3\0"
_POSTGRES = "postgres_scanner"


def is_sqlite(path: Path) -> bool:
    """Whether a file is a SQLite database."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE_FILE)) == _SQLITE_FILE


def missing_extension(error: duckdb.Error) -> str | None:
    """The extension without which DuckDB could not run a query; None if none is missing."""
    # DuckDB does not know of some functions in which extension they are.
    known = re.search(r"it exists in the (\w+) extension", str(error))
    scan = re.search(r'with name "?(postgres|mysql|sqlite)_scan"? does not exist', str(error))
    if known is not None:
        return known[1]
    return None if scan is None else f"{scan[1]}_scanner"


def load_extension(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Loads an extension; downloads nothing.

    Args:
        connection: where a query needs it.
        name: name of the extension.

    Raises:
        DataError: it is not installed; says how to install it.
    """
    try:
        connection.execute(f"LOAD {name}")
    except duckdb.Error:
        other = ', or name the table by engine = "postgres" in [source]' if name == _POSTGRES else ""
        raise DataError(
            f"source query: it needs DuckDB's extension {name}, which is not installed for this user; once, "
            f"with access to the internet, run: python -c \"import duckdb; duckdb.sql('INSTALL {name}')\""
            f"{other}"
        ) from None
