"""Codes of single rows in ranges on disk, for releases that read rows in order and not only count them."""

from __future__ import annotations

import bisect
import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.texts import LONGEST_LABEL, TextColumn, has_open_categories
from ...common.data.coding import Coding
from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Groups
from ...common.data.rows import Rows
from ...common.data.table import Table, code_dtype
from ...common.errors import DataError
from ...common.processes.private_folders import PrivateFolder
from ..sources.memory import connect
from ..sources.sql import quote, quoted_file
from .counted import Copy
from .engines.names import code_of, text_of

_MEMORY = "128MB"
"""What DuckDB may hold in memory while it writes, sorts and reads codes; those beyond are on disk."""

_CODE_BYTES = 4
"""Of a code in a file: Parquet has no smaller whole numbers."""

_COLUMN_BYTES = 1 << 12
"""Of what describes a column of a file."""

_FEWEST_ROWS = 2**16
"""Rows of a range, of all but the last."""

_RANGES_IN_MEMORY = 2
"""Ranges in memory: of one reader, and of another beside it."""


class Spool:
    """Codes of all rows in order, in one Parquet file for each range; deleted with its last reference.

    Args:
        folder: where to write; see `PrivateFolder`.
        domain: meaning of the codes.
        ranges: by name, columns of codes, and of texts of open categories, of some rows after the other.

    Raises:
        DataError: the files cannot be written.
    """

    def __init__(
        self, folder: Path | None, domain: Domain, ranges: Iterable[Mapping[str, NDArray[Any]]]
    ) -> None:
        self._domain = domain
        self._folder = PrivateFolder(folder)
        self.starts = [0]
        """The first row of each range; the last entry is the number of rows."""
        try:
            self._fill(ranges)
        except BaseException:
            self._folder.close()
            raise

    def table(self, number: int, names: Iterable[str]) -> Table:
        """The rows of a range, with the texts of open categories.

        Args:
            number: of the range.
            names: attributes.

        Raises:
            DataError: the file cannot be read.
        """
        return self._read(number, names, [])[0]

    def _read(
        self, number: int, names: Iterable[str], others: Sequence[str]
    ) -> tuple[Table, dict[str, NDArray[Any]]]:
        """The rows of a range; and by name, columns of the file, also others."""
        domain = self._domain.project(names)
        held = {one.name: code_of(self._domain.position(one.name)) for one in domain.attributes}
        texts = {one.name: text_of(held[one.name]) for one in domain.attributes if has_open_categories(one)}
        columns = ", ".join([*others, *held.values(), *texts.values()])
        with self._connect() as connection:
            query = f"SELECT {columns} FROM read_parquet({quoted_file(self._file(number))})"
            found = connection.execute(query).fetchnumpy()
        codes = tuple(found[held[one.name]].astype(code_dtype(one.size)) for one in domain.attributes)
        known = {name: TextColumn.read(name, found[at]) for name, at in texts.items()}
        return Table(domain, codes, known), found

    def _fill(self, ranges: Iterable[Mapping[str, NDArray[Any]]]) -> None:
        """Writes all files."""
        with self._connect() as connection:
            for columns in ranges:
                connection.register("range", dict(columns))
                self._copy(connection, "SELECT * FROM range", len(next(iter(columns.values()))))
                connection.unregister("range")

    def _copy(self, connection: duckdb.DuckDBPyConnection, query: str, rows: int) -> None:
        """Writes the next file.

        Args:
            connection: runs the query.
            query: what is in the file.
            rows: how many rows or positions the range has.
        """
        file = self._file(len(self.starts) - 1)
        connection.execute(f"COPY ({query}) TO {quote(str(file))} (FORMAT parquet)")
        # Before, its folder keeps others out.
        file.chmod(0o600)
        self.starts.append(self.starts[-1] + rows)

    @cached_property
    def counting(self) -> Copy:
        """Counts the rows; not to be asked when the spool is deleted."""
        return Copy([self._file(number) for number in range(len(self.starts) - 1)])

    def _file(self, number: int) -> Path:
        return self._folder.path / f"{number:06d}.parquet"

    @contextlib.contextmanager
    def _connect(self, database: Path | str = ":memory:") -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            with connect(database) as connection:
                connection.execute(f"SET memory_limit = '{_MEMORY}'")
                connection.execute(f"SET temp_directory = {quote(str(self._folder.path))}")
                yield connection
        except (duckdb.Error, OSError):
            raise DataError(
                "expected codes of rows that can be written to disk and read again, got an error; make room, "
                "and leave the party's temporary files alone"
            ) from None


def spool_bytes(domain: Domain, rows: int) -> int:
    """Bytes of the files of a spool: an upper bound, unless texts of open categories are long.

    Args:
        domain: meaning of the codes.
        rows: their number.
    """
    texts = sum(map(has_open_categories, domain.attributes))
    of_row = _CODE_BYTES * len(domain) + LONGEST_LABEL * texts
    return rows * of_row + (rows // _FEWEST_ROWS + 1) * (len(domain) + texts) * _COLUMN_BYTES


class RowsInRanges:
    """Rows by ranges, of which memory holds those that were read last; thread-safe.

    Args:
        starts: the first row of each range, then the number of rows.
        read: reads the range of a number.
    """

    def __init__(self, starts: Sequence[int], read: Callable[[int], Rows]) -> None:
        self._starts = starts
        self._read = read
        self._lock = threading.Lock()
        self._ranges: OrderedDict[int, Rows] = OrderedDict()

    def cell_codes(self, clique: Iterable[str], start: int, stop: int, groups: Groups) -> NDArray[np.int64]:
        """The cell of each of the rows start to stop - 1; see `Rows.cell_codes`."""
        starts, names = self._starts, tuple(clique)
        first = bisect.bisect_right(starts, start) - 1
        last = bisect.bisect_left(starts, min(stop, starts[-1]))
        parts = [
            self._range(number).cell_codes(
                names, max(0, start - starts[number]), stop - starts[number], groups
            )
            for number in range(first, last)
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def _range(self, number: int) -> Rows:
        with self._lock:
            if number not in self._ranges:
                self._ranges[number] = self._read(number)
            self._ranges.move_to_end(number)
            while len(self._ranges) > _RANGES_IN_MEMORY:
                self._ranges.popitem(last=False)
            return self._ranges[number]


def spooled_rows(spool: Spool, names: Clique, coding: Coding | None) -> RowsInRanges:
    """The rows of a release in order.

    Args:
        spool: codes of all rows.
        names: attributes of the release.
        coding: codes that it chose; None for those of the spool.
    """

    def read(number: int) -> Table:
        table = spool.table(number, names)
        return table if coding is None else coding.table(table)

    return RowsInRanges(spool.starts, read)
