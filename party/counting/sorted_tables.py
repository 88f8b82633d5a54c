"""Related tables sorted on disk, so that none of their keys and no unsorted row has to be in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ...common.errors import DataError, PolicyError
from ...common.processes.private_folders import PrivateFolder
from ..sources.memory import connect
from ..sources.sql import as_key, quote

KEY, FOREIGN, PARENT = "own_key", "parent_key", "parent"
"""Columns of the text of a row's own key, of that of its parent's, and of the parent's row."""

_MEMORY = "256MB"
"""What DuckDB may hold in memory; rows beyond are on disk."""

_READ_AT_ONCE = 1 << 18
"""Number of rows of a batch."""

MB = 1 << 20

Columns = Mapping[str, NDArray[Any]]


class SortedTables:
    """Tables of codes with texts of keys, of which each belongs to one before it; deleted when it is closed.

    A table is added with its rows in the order of their source, and then sorted: rows of one parent beside
    each other, in the order of the parents' rows.

    Args:
        folder: where to write; see `PrivateFolder`.
        most_mb: most bytes on disk at any time, MiB.
    """

    def __init__(self, folder: Path | None, most_mb: int) -> None:
        self._most = most_mb * MB
        self._folder = PrivateFolder(folder)
        self._connection = connect(self._folder.path / "tables.duckdb")
        self._ask(f"SET memory_limit = '{_MEMORY}'")
        self._ask(f"SET temp_directory = {quote(str(self._folder.path))}")

    def add(self, table: int, batches: Iterable[Columns], kept: str = "true") -> None:
        """Adds a table.

        Args:
            table: its number.
            batches: by name, columns of some rows after the other.
            kept: which rows are added, as a condition in SQL.

        Raises:
            PolicyError: it does not fit into what may be on disk.
        """
        into = f"CREATE TABLE table{table} AS"
        for batch in batches:
            self._connection.register("batch", dict(batch))
            keys = ", ".join(f"{as_key(name)} AS {name}" for name in (KEY, FOREIGN) if name in batch)
            self._ask(f"{into} SELECT * REPLACE ({keys}) FROM batch WHERE {kept}")
            self._connection.unregister("batch")
            self._check_room(self._bytes())
            into = f"INSERT INTO table{table}"

    def number_keys(self, table: int) -> bool:
        """Numbers the keys of a table's rows.

        Returns:
            Whether each row has one, and no other row the same.
        """
        return self._number(table, f"SELECT {KEY} FROM table{table} ORDER BY rowid")

    def number_parents(self, table: int, children: Sequence[int]) -> bool:
        """Numbers the keys that rows of some tables name as their parents', in the order of their first rows.

        Args:
            table: a number for what they name, which is no table here.
            children: the tables, in order.

        Returns:
            Whether each row names one.
        """
        named = " UNION ALL ".join(
            f"SELECT {FOREIGN}, {place} AS child, rowid AS place FROM table{child}"
            for place, child in enumerate(children)
        )
        first = f"SELECT {FOREIGN} AS {KEY} FROM ({named}) GROUP BY {FOREIGN} ORDER BY min((child, place))"
        return self._number(table, first)

    def count_keys(self, table: int) -> int:
        """The number of numbered keys."""
        return int(self._ask(f"SELECT count(*) AS keys FROM keys{table}")["keys"][0])

    def keys(self, table: int) -> list[str]:
        """The numbered keys, in order."""
        return [text for batch in self._batches(f"keys{table}", [KEY]) for text in batch[KEY].tolist()]

    def first_texts(self, table: int, name: str) -> list[str]:
        """The text of a column in the first row of each parent that has rows, of a sorted table."""
        first = f"SELECT arg_min({name}, rowid) AS text FROM table{table} GROUP BY {PARENT} ORDER BY {PARENT}"
        texts: list[str] = self._ask(first)["text"].tolist()
        return texts

    def sort(self, table: int, parent: int, order: str, drop_strays: bool = False) -> bool:
        """Sorts the rows of a table by their parents.

        Args:
            table: its number.
            parent: the number of the parents' table, whose keys are numbered.
            order: column by which rows of one parent are in order; empty for the order of the source.
            drop_strays: whether rows without a parent are left out.

        Returns:
            Whether each row has a parent.

        Raises:
            PolicyError: as of `add`.
        """
        # The sorted rows take as much again until the others are deleted.
        held = 2 * self._bytes()
        self._check_room(held)
        self._ask(f"SET max_temp_directory_size = '{(self._most - held) // MB}MiB'")
        by = f"{PARENT}, {order}, place" if order else f"{PARENT}, place"
        join = "JOIN" if drop_strays else "LEFT JOIN"
        self._ask(
            f"CREATE TABLE sorted AS SELECT * EXCLUDE (place) FROM (SELECT rows.* EXCLUDE ({FOREIGN}), "
            f"rows.rowid AS place, keys.rowid AS {PARENT} FROM table{table} AS rows "
            f"{join} keys{parent} AS keys ON rows.{FOREIGN} = keys.{KEY}) ORDER BY {by}"
        )
        self._ask(f"DROP TABLE table{table}")
        self._ask(f"ALTER TABLE sorted RENAME TO table{table}")
        return not self._ask(f"SELECT count(*) AS lost FROM table{table} WHERE {PARENT} IS NULL")["lost"][0]

    def columns(self, table: int, types: Mapping[str, np.dtype[Any]]) -> dict[str, NDArray[Any]]:
        """Columns of a table, in memory.

        Args:
            table: its number.
            types: name -> how its values are held.
        """
        rows = int(self._ask(f"SELECT count(*) AS rows FROM table{table}")["rows"][0])
        found = {name: np.empty(rows, dtype=kind) for name, kind in types.items()}
        start = 0
        for batch in self._batches(f"table{table}", [*types]) if types else ():
            stop = start + len(next(iter(batch.values())))
            for name, cells in batch.items():
                found[name][start:stop] = cells
            start = stop
        return found

    def close(self) -> None:
        """Deletes the tables."""
        self._connection.close()
        self._folder.close()

    def _number(self, table: int, keys: str) -> bool:
        self._ask(f"CREATE TABLE keys{table} AS {keys}")
        count = (
            f"count(*) AS keys, count(DISTINCT {KEY}) AS different, count(*) FILTER ({KEY} = '') AS missing"
        )
        found = self._ask(f"SELECT {count} FROM keys{table}")
        return bool(found["keys"][0] == found["different"][0] and not found["missing"][0])

    def _batches(self, table: str, names: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
        columns, start = ", ".join(names), 0
        while True:
            within = f"rowid >= {start} AND rowid < {start + _READ_AT_ONCE}"
            batch = self._ask(f"SELECT {columns} FROM {table} WHERE {within} ORDER BY rowid")
            if not len(batch[names[0]]):
                return
            yield batch
            start += _READ_AT_ONCE

    def _bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self._folder.path.rglob("*") if file.is_file())

    def _check_room(self, size: int) -> None:
        if size > self._most:
            raise _no_room()

    def _ask(self, sql: str) -> dict[str, NDArray[Any]]:
        try:
            return self._connection.execute(sql).fetchnumpy()
        except duckdb.OutOfMemoryException:
            raise _no_room() from None
        except duckdb.Error:
            raise DataError(
                "expected tables that can be sorted on disk, got an error; make room, and leave the party's "
                "temporary files alone"
            ) from None


def _no_room() -> PolicyError:
    return PolicyError(
        "expected rows of people that can be sorted within max_disk_mb of the policy, got more; the party's "
        "owner raises the limit, or names fewer attributes in the domain"
    )
