"""Rows of a party that a SQL query gives, run by DuckDB over files or a DuckDB database."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.table import Table
from ...common.errors import DataError
from .source import CONFIG, encoded_columns, texts_of


@dataclass(frozen=True)
class QuerySource:
    """The rows of one SELECT with an ORDER BY: parties of a slice hold the same records in the same order.

    Attributes:
        sql: the query; relative paths in it start at `folder`.
        folder: where the query's files lie.
        database: a DuckDB file that the query reads, opened read-only; None for a query over files.
    """

    sql: str
    folder: Path
    database: Path | None = None

    def __post_init__(self) -> None:
        if not re.search(r"\border\s+by\b", self.sql, flags=re.IGNORECASE):
            raise DataError(
                "source query: expected an ORDER BY, so that the rows come in one order every time; order by "
                "the record's id"
            )
        if self.database is not None and not self.database.is_file():
            raise DataError(f"expected a DuckDB database at {self.database}, found none; fix the path")

    def columns(self) -> tuple[str, ...]:
        """The names of the query's columns.

        Raises:
            DataError: the query cannot be run.
        """
        return self._names

    def read(self, domain: Domain) -> Table:
        """The columns of the domain, encoded; see `Source`."""
        return self.read_with_texts(domain, ())[0]

    def read_with_texts(
        self, domain: Domain, columns: Sequence[str]
    ) -> tuple[Table, Mapping[str, Sequence[str]]]:
        """The columns of the domain, encoded, and the texts of others, of one run; see `Source`."""
        places = {name: self._place(name) for name in columns}
        with self._connected() as connection:
            table = self._table(connection, domain)
            return table, texts_of(places, lambda cell: self._cells(connection, cell))

    def _table(self, connection: duckdb.DuckDBPyConnection, domain: Domain) -> Table:
        places = [self._place(name) for name in domain]
        self._run(connection, f"CREATE TEMP TABLE rows ({self._numbered}) AS {self._select}")
        kinds = self._run(connection, "DESCRIBE rows")["column_type"]
        table = encoded_columns(domain, places, kinds, lambda cell: self._cells(connection, cell))
        if not table.record_count:
            raise DataError("source query: it gives no rows; an empty table has nothing to release")
        return table

    def _cells(self, connection: duckdb.DuckDBPyConnection, cell: str) -> dict[str, NDArray[Any]]:
        return self._run(connection, f"SELECT {cell} AS cell FROM rows")

    def _place(self, name: str) -> int:
        if name not in self._names:
            raise DataError(f"source query: it gives no column {name!r}; fix the query or the domain")
        return self._names.index(name)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        with self._connected() as connection:
            return tuple(self._run(connection, f"DESCRIBE {self._select}")["column_name"])

    @property
    def _select(self) -> str:
        return f"SELECT * FROM ({self.sql.rstrip().rstrip(';')})"

    @property
    def _numbered(self) -> str:
        return ", ".join(f"c{place}" for place in range(len(self._names)))

    def _connected(self) -> duckdb.DuckDBPyConnection:
        config = CONFIG | {"file_search_path": str(self.folder)}
        try:
            if self.database is None:
                return duckdb.connect(config=config)
            return duckdb.connect(str(self.database), read_only=True, config=config)
        except duckdb.Error:
            raise DataError(f"cannot read the DuckDB database {self.database}; fix or replace it") from None

    def _run(self, connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, NDArray[Any]]:
        try:
            return connection.execute(sql).fetchnumpy()
        except duckdb.Error as error:
            kind = type(error).__name__
        raise DataError(
            f"source query: DuckDB cannot run it ({kind}); try it in DuckDB's own shell and fix it"
        )
