"""Keys in files: whether a column names rows, holds keys of another file, or is one of a key."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import duckdb

from ...sources.source import FileSource
from ...sources.sql import as_key


@dataclass(frozen=True)
class JoinedSource(FileSource):
    """A file with one more column, a key made of others.

    Attributes:
        made: its name.
        parts: the columns of which it is made.
    """

    made: str = ""
    parts: tuple[str, ...] = ()

    @classmethod
    def with_key(cls, source: FileSource, made: str, parts: tuple[str, ...]) -> JoinedSource:
        """A file with a key of several of its columns."""
        return cls(source.path, source.header, made, parts)

    def columns(self) -> tuple[str, ...]:
        """The names of the columns, that of the key last."""
        return (*super().columns(), self.made)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """DuckDB with the rows and the key as `file`."""
        connection, held = super().connect(), super().columns()
        key = " || chr(31) || ".join(as_key(f"c{held.index(part)}") for part in self.parts)
        self.query(connection, f"ALTER {self._kept} file RENAME TO of_parts")
        self.query(connection, f"CREATE TEMP VIEW file AS SELECT *, {key} AS c{len(held)} FROM of_parts")
        return connection


def _ask(source: FileSource, sql: str) -> list[Any]:
    with closing(source.connect()) as connection:
        return [column[0] for column in source.query(connection, sql).values()]


def number_of_rows(source: FileSource) -> int:
    """The number of rows of a file."""
    return int(_ask(source, "SELECT count(*) FROM file")[0])


def names_rows(source: FileSource, column: str) -> bool:
    """Whether every row has another value of a column."""
    cell = f"c{source.columns().index(column)}"
    rows, different = _ask(source, f"SELECT count(*), count(DISTINCT {cell}) FROM file")
    return bool(rows == different and rows)


def counts_its_rows(source: FileSource, column: str) -> bool:
    """Whether a column holds whole numbers of which each is in one row and none is left out."""
    cell = f"TRY_CAST(c{source.columns().index(column)} AS BIGINT)"
    span = f"max({cell})::HUGEINT - min({cell}) + 1"
    rows, different, width = _ask(source, f"SELECT count(*), count(DISTINCT {cell}), {span} FROM file")
    return bool(rows == different == width)


def strays_of(child: FileSource, foreign: str, parent: FileSource, key: str) -> int:
    """The number of rows in which a column holds no key of another table."""
    cell, other = (as_key(f"c{one.columns().index(name)}") for one, name in ((child, foreign), (parent, key)))
    with closing(child.connect()) as connection, closing(parent.connect()) as keys:
        known = parent.query(keys, f"SELECT DISTINCT {other} AS k FROM file")["k"]
        connection.register("known", {"k": known})
        held = f"coalesce({cell} IN (SELECT k FROM known), false)"
        return int(child.query(connection, f"SELECT count(*) AS n FROM file WHERE NOT {held}")["n"][0])
