"""DuckDB in the party's own process: files, queries over files, and DuckDB's databases."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.dates import GapAttribute
from ....common.data.attributes.texts import has_open_categories
from ....common.data.domain import Domain
from ....common.data.gaps import readable
from ....common.data.table import code_dtype
from ....common.data.values import RawColumn, read_texts, refuse_rows
from ....common.processes.private_folders import PrivateFolder
from ...sources.cells import ZONED, cells_for, in_local_time
from ...sources.memory import connect
from ...sources.source import Scanned
from ...sources.sql import quote
from .engine import Engine
from .kinds import Kind
from .names import text_of

_MEMORY = "192MB"
"""What DuckDB may hold in memory; codes beyond are on disk."""

_STORE = "dpmosaic_store"
"""The database of codes."""

_ROWS = 2**18
"""Number of rows of a batch."""

_KINDS = {
    "FLOAT": Kind.SINGLE,
    "DOUBLE": Kind.DOUBLE,
    "HUGEINT": Kind.DECIMAL,
    "UHUGEINT": Kind.DECIMAL,
    "BOOLEAN": Kind.BOOLEAN,
    "VARCHAR": Kind.TEXT,
    "DATE": Kind.DATE,
}
_PATTERNS = {
    re.compile(r"U?(TINY|SMALL|BIG)INT|U?INTEGER"): Kind.WHOLE,
    re.compile(r"DECIMAL\(.*\)"): Kind.DECIMAL,
    re.compile(r"TIMESTAMP(_S|_MS|_NS)?"): Kind.TIMESTAMP,
}


class DuckEngine(Engine):
    """Counts the rows of a file or a query, whose codes it keeps in a file on disk.

    Args:
        rows: the file or query.
        folder: where a folder of its codes is made; see `PrivateFolder`.
    """

    dialect: ClassVar[str] = "duckdb"

    def __init__(self, rows: Scanned, folder: Path | None = None) -> None:
        self._rows = rows
        self.name = rows.name
        self._folder = PrivateFolder(folder)
        self._connection = rows.scan()
        self._attach()
        self._types = self._query("DESCRIBE scan")["column_type"]

    def kinds(self) -> Mapping[str, Kind]:
        """See `Engine`."""
        return {name: _kind(kind) for name, kind in zip(self._rows.columns(), self._types, strict=True)}

    def column(self, name: str) -> exp.Expr:
        """See `Engine`."""
        return exp.column(f"c{self._rows.columns().index(name)}")

    def source(self) -> exp.Expr:
        """See `Engine`."""
        return exp.to_table("scan")

    def text(self, value: exp.Expr) -> exp.Expr:
        """See `Engine`; without the collation that a column may have."""
        return exp.func(
            "DECODE", exp.func("ENCODE", exp.cast(value, "text"), dialect="duckdb"), dialect="duckdb"
        )

    def keep(self, name: str, rows: exp.Select) -> exp.Expr:
        """See `Engine`; in the file on disk."""
        self._query(f"CREATE OR REPLACE TABLE {_STORE}.{name} AS {rows.sql(self.dialect)}")
        return exp.to_table(f"{_STORE}.{name}")

    def drop(self, table: exp.Expr) -> None:
        """See `Engine`."""
        self._query(f"DROP TABLE {table.sql(self.dialect)}")

    def check_order(self, used: Collection[str]) -> None:
        """See `Engine`."""
        self._rows.check_order(self._connection, used)

    def place(self) -> exp.Expr:
        """See `Engine`."""
        return exp.column("rowid")

    def fetch(self, query: exp.Select) -> list[NDArray[Any]]:
        """See `Engine`."""
        return list(self._query(query.sql(self.dialect)).values())

    def batches(self, query: exp.Select) -> Iterator[list[NDArray[Any]]]:
        """See `Engine`; the rows come in the order in which the table was kept."""
        start = 0
        while True:
            within = query.where(f"rowid >= {start} AND rowid < {start + _ROWS}", dialect=self.dialect)
            columns = self.fetch(within)
            if not len(columns[0]):
                return
            yield columns
            start += _ROWS

    def encode(
        self,
        codes: exp.Expr,
        domain: Domain,
        attributes: Mapping[str, Attribute],
        reasons: Mapping[str, str],
    ) -> exp.Expr:
        """See `Engine`: the cells are read in batches, as those of a table in memory."""
        names = {one.name: one for one in attributes.values()}
        names |= {one.other: domain[one.other] for one in names.values() if isinstance(one, GapAttribute)}
        keys = {name: f"cell{place}" for place, name in enumerate(names)}
        kinds = {name: self._types[self._rows.columns().index(name)] for name in names}
        cells = ", ".join(
            f"{cells_for(one, f'c{self._rows.columns().index(name)}', kinds[name])} AS {keys[name]}"
            for name, one in names.items()
        )
        self._query(f"CREATE OR REPLACE TABLE {_STORE}.cells AS SELECT {cells} FROM scan")
        start = 0
        for batch in self.batches(exp.select(*keys.values()).from_(f"{_STORE}.cells")):
            read = {
                name: in_local_time(one, values) if kinds[name] == ZONED else values
                for (name, one), values in zip(names.items(), batch, strict=True)
            }
            encoded: dict[str, NDArray[Any]] = {}
            for key, attribute in attributes.items():
                encoded |= _encode_cells(key, attribute, readable(domain, read, attribute.name), start)
            self._connection.register("batch", encoded)
            into = "INSERT INTO" if start else "CREATE OR REPLACE TABLE"
            self._query(f"{into} {_STORE}.encoded {'' if start else 'AS'} SELECT * FROM batch")
            start += len(batch[0])
        self._connection.unregister("batch")
        first = codes.sql(self.dialect)
        kept = [name for name in self._query(f"DESCRIBE {first}")["column_name"] if name not in encoded]
        columns = ", ".join([*(f"first.{name}" for name in kept), "encoded.*"])
        self._query(
            f"CREATE OR REPLACE TABLE {_STORE}.whole AS SELECT {columns} "
            f"FROM {first} AS first POSITIONAL JOIN {_STORE}.encoded AS encoded"
        )
        for table in (f"{_STORE}.cells", f"{_STORE}.encoded", first):
            self._query(f"DROP TABLE {table}")
        return exp.to_table(f"{_STORE}.whole")

    def hash_of(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """See `Engine`."""
        return exp.func("HASH", *columns, dialect=self.dialect)

    def let_go(self) -> None:
        """See `Engine`; others may write to the file or the database again."""
        self._connection.close()
        self._connection = connect()
        self._attach()

    def interrupt(self) -> None:
        """See `Engine`."""
        self._connection.interrupt()

    def close(self) -> None:
        """See `Engine`; deletes the codes."""
        self._connection.close()
        self._folder.close()

    def _attach(self) -> None:
        self._query(f"SET memory_limit = '{_MEMORY}'")
        self._query(f"SET temp_directory = {quote(str(self._folder.path))}")
        self._query(f"ATTACH {quote(str(self._folder.path / 'codes.duckdb'))} AS {_STORE}")

    def _query(self, sql: str) -> dict[str, NDArray[Any]]:
        return self._rows.query(self._connection, sql)


def _kind(name: str) -> Kind:
    if name.startswith("ENUM"):
        return Kind.TEXT
    found = (kind for pattern, kind in _PATTERNS.items() if pattern.fullmatch(name))
    return _KINDS.get(name) or next(found, Kind.OTHER)


def _encode_cells(key: str, attribute: Attribute, cells: RawColumn, start: int) -> dict[str, NDArray[Any]]:
    """The codes of some cells, and the texts of open categories.

    Args:
        key: name of the column of codes.
        attribute: encodes the cells.
        cells: shape (rows,).
        start: number of rows before them.
    """
    reading = attribute.read(cells)
    for rows, reason in reading.refused.values():
        if rows.any():
            refuse_rows(attribute.name, np.append(np.zeros(start, dtype=np.bool_), rows), reason)
    found: dict[str, NDArray[Any]] = {key: reading.codes.astype(code_dtype(attribute.size))}
    if has_open_categories(attribute):
        texts, places = read_texts(attribute.name, cells)
        found[text_of(key)] = np.array(texts, dtype=object)[places]
    return found
