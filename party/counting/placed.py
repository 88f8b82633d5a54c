"""Codes of aligned rows in ranges of positions on disk, in the order of the positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.texts import has_open_categories
from ...common.data.domain import Domain
from ...common.data.table import Table, code_dtype
from .engines.names import code_of, text_of
from .spool import Spool, spool_bytes

_POSITION = "position"

_POSITIONS_AT_ONCE = 2**18
"""Number of positions of a range."""

_SORTING = "sorting.duckdb"
"""The database in which rows are sorted; deleted when they are."""

_POSITION_BYTES = 4

_TYPES = {1: "UTINYINT", 2: "USMALLINT", 4: "UINTEGER"}
"""DuckDB's types of codes, by their size in bytes."""

Positions = Callable[[int, int], NDArray[np.int32]]
"""The position of each of the rows start to stop - 1; -1 for a row that is not used."""


def placed_bytes(domain: Domain, size: int) -> int:
    """Bytes on disk while rows at positions are sorted, and more than those of the files after it.

    Args:
        domain: meaning of the codes.
        size: number of positions.
    """
    # Unsorted, on disk while they are sorted, and sorted or in files.
    return 3 * (spool_bytes(domain, size) + _POSITION_BYTES * size)


class PlacedSpool(Spool):
    """Codes of the rows at some positions: one Parquet file for each range of positions.

    DuckDB sorts the rows on disk. A position without a row takes no room.

    Args:
        folder: see `Spool`.
        domain: meaning of the codes.
        ranges: see `Spool`; of rows in their own order.
        positions: where the rows are; no two at the same position.
        size: number of positions.

    Raises:
        DataError: the files cannot be written.
    """

    def __init__(
        self,
        folder: Path | None,
        domain: Domain,
        ranges: Iterable[Mapping[str, NDArray[Any]]],
        positions: Positions,
        size: int,
    ) -> None:
        self._positions, self._size = positions, size
        super().__init__(folder, domain, ranges)

    def rows_in_range(self, number: int, names: Iterable[str]) -> tuple[NDArray[np.int32], Table]:
        """The rows of a range, and where in it they are.

        Args:
            number: of the range.
            names: attributes.

        Raises:
            DataError: the file cannot be read.
        """
        table, found = self._read(number, names, [_POSITION])
        return found[_POSITION] - self.starts[number], table

    def _fill(self, ranges: Iterable[Mapping[str, NDArray[Any]]]) -> None:
        database = self._folder.path / _SORTING
        with self._connect(database) as sorting:
            sorting.execute(f"CREATE TABLE unsorted ({self._schema()})")
            start = 0
            for columns in ranges:
                rows = len(next(iter(columns.values())))
                at = self._positions(start, start + rows)
                used, start = at >= 0, start + rows
                batch = {_POSITION: at[used], **{name: cells[used] for name, cells in columns.items()}}
                sorting.register("batch", batch)
                sorting.execute("INSERT INTO unsorted BY NAME SELECT * FROM batch")
                sorting.unregister("batch")
            sorting.execute(f"CREATE TABLE sorted AS SELECT * FROM unsorted ORDER BY {_POSITION}")
            sorting.execute("DROP TABLE unsorted")
            for first in range(0, self._size, _POSITIONS_AT_ONCE):
                last = min(first + _POSITIONS_AT_ONCE, self._size)
                query = f"SELECT * FROM sorted WHERE {_POSITION} >= {first} AND {_POSITION} < {last}"
                self._copy(sorting, f"{query} ORDER BY {_POSITION}", last - first)
        database.unlink()

    def _schema(self) -> str:
        columns = [f"{_POSITION} INTEGER"]
        for place, attribute in enumerate(self._domain.attributes):
            columns.append(f"{code_of(place)} {_TYPES[code_dtype(attribute.size).itemsize]}")
            if has_open_categories(attribute):
                columns.append(f"{text_of(code_of(place))} VARCHAR")
        return ", ".join(columns)
