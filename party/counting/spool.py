"""Codes of single rows in ranges on disk, for releases that read rows in order and not only count them."""

from __future__ import annotations

import bisect
import contextlib
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from ...common.data.coding import Coding
from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Groups
from ...common.data.table import Table, code_dtype
from ...common.data.texts import TextColumn, has_open_categories
from ...common.errors import DataError
from ..sources.source import CONFIG, quoted
from .counted import Copy
from .names import code_of, text_of

_PREFIX = "codes-"
"""Begins the name of the folder of each spool."""

_KEPT = 2
"""Ranges in memory: of one reader, and of another beside it."""


def empty(folder: Path) -> None:
    """Creates a folder of spools that only its owner can read; deletes spools that a killed party left."""
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    for left in folder.glob(f"{_PREFIX}*"):
        shutil.rmtree(left)


class Spool:
    """Codes of all rows in order, in one Parquet file for each range; deleted with its last reference.

    Args:
        folder: where to write; None for the folder of temporary files. A folder of its own is made in it,
            which only its owner can read.
        domain: meaning of the codes.
        ranges: by name, columns of codes, and of texts of open categories, of some rows after the other.

    Raises:
        DataError: the files cannot be written.
    """

    def __init__(
        self, folder: Path | None, domain: Domain, ranges: Iterable[Mapping[str, NDArray[Any]]]
    ) -> None:
        self._domain = domain
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
        self._delete = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.starts = [0]
        """The first row of each range; the last entry is the number of rows."""
        try:
            with self._connected() as connection:
                for columns in ranges:
                    self._write(connection, columns)
        except BaseException:
            self._delete()
            raise

    def table(self, number: int, names: Iterable[str]) -> Table:
        """The rows of a range, with the texts of open categories.

        Args:
            number: of the range.
            names: attributes.

        Raises:
            DataError: the file cannot be read.
        """
        domain = self._domain.project(names)
        held = {one.name: code_of(self._domain.position(one.name)) for one in domain.attributes}
        texts = {one.name: text_of(held[one.name]) for one in domain.attributes if has_open_categories(one)}
        columns = ", ".join([*held.values(), *texts.values()])
        with self._connected() as connection:
            query = f"SELECT {columns} FROM read_parquet({quoted(str(self._file(number)))})"
            found = connection.execute(query).fetchnumpy()
        codes = tuple(found[held[one.name]].astype(code_dtype(one.size)) for one in domain.attributes)
        return Table(domain, codes, {name: TextColumn.read(name, found[at]) for name, at in texts.items()})

    def _write(self, connection: duckdb.DuckDBPyConnection, columns: Mapping[str, NDArray[Any]]) -> None:
        file = self._file(len(self.starts) - 1)
        connection.register("range", dict(columns))
        connection.execute(f"COPY (SELECT * FROM range) TO {quoted(str(file))} (FORMAT parquet)")
        connection.unregister("range")
        # Before, its folder keeps others out.
        file.chmod(0o600)
        rows = len(next(iter(columns.values())))
        self.starts.append(self.starts[-1] + rows)

    @cached_property
    def counting(self) -> Copy:
        """Counts the rows; not to be asked when the spool is deleted."""
        return Copy([self._file(number) for number in range(len(self.starts) - 1)])

    def _file(self, number: int) -> Path:
        return self._folder / f"{number:06d}.parquet"

    @contextlib.contextmanager
    def _connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            with duckdb.connect(config=CONFIG) as connection:
                yield connection
        except (duckdb.Error, OSError):
            raise DataError(
                "expected codes of rows that can be written to disk and read again, got an error; make room, "
                "and leave the party's temporary files alone"
            ) from None


class SpooledRows:
    """The rows of a release in order; thread-safe. Memory: a few ranges.

    Args:
        spool: codes of all rows.
        names: attributes of the release.
        coding: codes that it chose; None for those of the spool.
    """

    def __init__(self, spool: Spool, names: Clique, coding: Coding | None) -> None:
        self._spool = spool
        self._names = names
        self._coding = coding
        self._lock = threading.Lock()
        self._tables: OrderedDict[int, Table] = OrderedDict()

    def cell_codes(self, clique: Iterable[str], start: int, stop: int, groups: Groups) -> NDArray[np.int64]:
        """The cell of each of the rows start to stop - 1; see `Table.cell_codes`."""
        starts, names = self._spool.starts, tuple(clique)
        first, last = (
            bisect.bisect_right(starts, start) - 1,
            bisect.bisect_left(starts, min(stop, starts[-1])),
        )
        parts = [
            self._table(number).cell_codes(
                names, max(0, start - starts[number]), stop - starts[number], groups
            )
            for number in range(first, last)
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def _table(self, number: int) -> Table:
        with self._lock:
            if number not in self._tables:
                table = self._spool.table(number, self._names)
                self._tables[number] = table if self._coding is None else self._coding.table(table)
            self._tables.move_to_end(number)
            while len(self._tables) > _KEPT:
                self._tables.popitem(last=False)
            return self._tables[number]
