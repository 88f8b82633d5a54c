"""Rows of a party that a SQL query gives, run by DuckDB over files or a DuckDB database."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import NDArray

from ...common.bounded import read_bytes
from ...common.data.values import compose
from ...common.errors import DataError
from .extensions import SQLITE, is_sqlite, load_extension, missing_extension
from .headers import check_different
from .memory import connect, connect_small
from .ordering import check_decided
from .source import FileSource, Queried, Scanned
from .sql import quote

_QUERY_BYTES = 1 << 20
"""Longest text of a query."""

_READS = "SELECT_NODE|SET_OPERATION_NODE|RECURSIVE_CTE_NODE|CTE_NODE"
_FUNCTIONS = (
    "(enable|disable)_(logging|profiling)|truncate_duckdb_logs|(force_)?checkpoint|query|query_table|"
    "json_execute_serialized_sql|[a-z]+_(grammar_extension|external_resource|external_resource_type)"
)
_OTHER = re.compile(rf'"type":"(?!({_READS})")[A-Z_]+_NODE"|"function_name":"({_FUNCTIONS})"', re.IGNORECASE)
"""Parts of a parsed SELECT that write, or whose SQL is a text: DuckDB's WITH takes COPY and INSERT too."""


@dataclass(frozen=True)
class QuerySource(Scanned):
    """The rows of one SELECT with an ORDER BY: parties of a slice hold the same records in the same order.

    Attributes:
        sql: the query; relative paths in it start at `folder`.
        folder: where the query's files lie.
        database: a DuckDB or SQLite file that the query reads, opened read-only; None for a query over files.
    """

    sql: str
    folder: Path
    database: Path | None = None

    def __post_init__(self) -> None:
        _check_select(self.sql)
        if self.database is not None and not self.database.is_file():
            raise DataError(f"expected a database at {self.database}, found none; fix the path")

    @property
    def name(self) -> str:
        """What messages call it."""
        return "source query"

    def check_order(self, connection: duckdb.DuckDBPyConnection, used: Collection[str]) -> None:
        """See `Scanned`; the query runs once more for it."""
        check_decided(self.sql, self._names, used, partial(self.query, connection))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        with self._connect(alone=True) as connection:
            described = self.query(connection, f"DESCRIBE {self._select}")
        names = tuple(map(compose, described["column_name"]))
        check_different(self.name, names, "; rename one of them")
        return names

    @property
    def _select(self) -> str:
        # A comment at its end does not hide the bracket.
        return f"SELECT * FROM ({self.sql.rstrip().rstrip(';')}\n)"

    def _connect(self, alone: bool) -> duckdb.DuckDBPyConnection:
        connection = connect(file_search_path=str(self.folder))
        if self.database is not None:
            name = '"' + self.database.stem.replace('"', '""') + '"'
            sqlite = is_sqlite(self.database)
            if sqlite:
                load_extension(connection, SQLITE)
            kind = "TYPE sqlite, READ_ONLY" if sqlite else "READ_ONLY"
            try:
                connection.execute(f"ATTACH {quote(str(self.database))} AS {name} ({kind})")
                connection.execute(f"USE {name}")
            except duckdb.Error:
                raise DataError(
                    f"cannot read the database {self.database}; expected a file of DuckDB or SQLite"
                ) from None
        return connection

    @property
    def _kept(self) -> str:
        return "TABLE"

    def query(self, connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, NDArray[Any]]:
        """Runs a query; each column of the answer is an array. See `Queried`."""
        loaded: set[str] = set()
        while True:
            try:
                return connection.execute(sql).fetchnumpy()
            except duckdb.Error as error:
                kind, extension = type(error).__name__, missing_extension(error)
            if extension is None or extension in loaded:
                break
            load_extension(connection, extension)
            loaded.add(extension)
        raise DataError(
            f"source query: DuckDB cannot run it ({kind}); try it in DuckDB's own shell and fix it"
        )


def _check_select(sql: str) -> None:
    """Refuses what is not one SELECT to DuckDB's own parser, or has no ORDER BY of its own.

    Raises:
        DataError: it is not.
    """
    with connect_small() as connection:
        try:
            [answer] = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchall()
            form = json.loads(answer[0])
        except (duckdb.Error, ValueError, RecursionError):
            form = {"error": True}
    statements = [] if form["error"] else form["statements"]
    if len(statements) != 1 or _OTHER.search(answer[0]):
        raise DataError("source query: expected one SELECT that DuckDB can read, got other SQL; fix it")
    if not any(part["type"] == "ORDER_MODIFIER" for part in statements[0]["node"]["modifiers"]):
        raise DataError(
            "source query: expected an ORDER BY at its end, so that the rows come in one order every time; "
            "order by the record's id"
        )


def open_queried(path: Path, database: Path | None = None, *, header: bool | None = None) -> Queried:
    """The rows in a CSV or Parquet file, or those of the query in a file that ends in .sql.

    Args:
        path: the file; paths in a query start at its folder.
        database: a DuckDB file that the query reads; None for a query over files.
        header: see `open_source`.

    Raises:
        DataError: there is no such file, or it is of another kind.
    """
    if path.suffix.lower() != ".sql":
        return FileSource(path, header)
    try:
        return QuerySource(read_bytes(path, _QUERY_BYTES).decode(), path.parent, database)
    except (OSError, ValueError):
        raise DataError(f"expected a query in UTF-8 at {path}, found none; fix the path") from None
