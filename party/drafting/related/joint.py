"""Drafts which tables belong to another one by two columns, such as values by a person and a visit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from ...sources.source import FileSource
from ...sources.sql import as_key
from .drafted import Drafted
from .links import Link, is_key, strays_of

_MOST_STRAYS_OF_BOTH = 0.01
"""Share of rows without a key of the other table up to which a table belongs to it by two columns."""


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


def joint_link(
    table: Drafted, above: Drafted, sources: Mapping[str, FileSource]
) -> tuple[Link, str, dict[str, FileSource]] | None:
    """What binds a table to another one of its parent by its key and a column of both; None if nothing.

    Args:
        table: which belongs to a parent.
        above: another one that belongs to it.
        sources: of all tables.

    Returns:
        The link, the column, and the sources of both tables with the key.
    """
    made = f"{above.name}_key"
    own, other = sources[table.name], sources[above.name]
    if not (table.belongs and above.belongs) or table.parent != above.parent or isinstance(own, JoinedSource):
        return None
    for column in (*above.counts, *above.once, above.order):
        if column not in own.columns():
            continue
        parts = ((table.belongs.foreign, above.belongs.foreign), (column, column))
        whose, theirs = (tuple(side) for side in zip(*parts, strict=True))
        child, parent = JoinedSource.with_key(own, made, whose), JoinedSource.with_key(other, made, theirs)
        if made in own.columns() or (other != parent and made in other.columns()) or not is_key(parent, made):
            continue
        strays, blanks = strays_of(child, made, parent, made)
        if strays <= table.rows * _MOST_STRAYS_OF_BOTH:
            link = Link(made, above.name, made, strays, blanks, parts)
            return link, column, {table.name: child, above.name: parent}
    return None
