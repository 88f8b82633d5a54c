"""Where the rows of a party live: the seam, and a file."""

from __future__ import annotations

import contextlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import duckdb
import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.dates import GapAttribute
from ...common.data.attributes.texts import TextColumn, has_open_categories
from ...common.data.domain import Domain
from ...common.data.gaps import other_of
from ...common.data.table import Table, check_rows, code_dtype
from ...common.data.values import ListedTexts, RawColumn, compose
from ...common.errors import DataError
from ...common.files.kinds import OTHER_SUFFIXES, OtherFile, read_other_file
from ...common.files.labels import Labels
from ...common.processes.blocks import made_in_order
from ...common.processes.private_folders import PrivateFolder
from .cells import ZONED, cells_for, compose_columns, in_local_time, listed_for, numbers_for, place_among
from .csv_file import CsvFile
from .headers import check_different, check_divided
from .memory import connect, connect_small, register
from .sql import quote, quoted_file

DELIMITERS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
SUFFIXES = (*DELIMITERS, ".parquet", *OTHER_SUFFIXES)

_DATABASES = (".db", ".duckdb", ".sqlite", ".sqlite3")

_HELD_BYTES = 1 << 24
"""Size of a CSV up to which DuckDB holds its texts in memory."""

_MEMORY = "512MB"
"""What DuckDB may hold in memory of a larger CSV; cells beyond are on disk until they are encoded."""

_SMALL_BYTES = 1 << 20
"""Size of a file up to which one thread reads it, in a database that others share."""

_READ_ROWS = 1 << 17
"""Rows of a batch that is read."""

_ENCODED_AT_ONCE = 1 << 22
"""Columns of more rows are encoded one at a time: each takes several arrays of this length meanwhile."""

Select = Callable[[Sequence[str]], Iterator[NDArray[Any]]]
"""The values of each of some expressions, in row order, one after the other."""


class Source(Protocol):
    """Rows of one party, in an order that stays the same."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns that the source holds."""

    def read(self, domain: Domain) -> Table:
        """The columns of the domain, encoded.

        Raises:
            DataError: a column is missing, a value has no code, there is no row, or the rows cannot be read.
        """

    def read_with_texts(
        self, domain: Domain, columns: Sequence[str]
    ) -> tuple[Table, Mapping[str, Sequence[str]]]:
        """The columns of the domain, encoded, and the cells of others as texts, of the same rows.

        Returns:
            For each of `columns` one text of each row, in the table's order; empty if the value is missing.

        Raises:
            DataError: as for `read`.
        """


class Queried(Protocol):
    """Rows that DuckDB can query, for their owner."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    def cells(self, domain: Domain) -> Iterator[RawColumn]:
        """The columns of the domain one after the other, as they are before encoding."""

    def connect(self) -> duckdb.DuckDBPyConnection:
        """DuckDB with the rows as `file`, its columns c0, c1, ... in order."""

    def query(self, connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, NDArray[Any]]:
        """Runs a query over the rows; each column of the answer is an array.

        Raises:
            DataError: the rows cannot be read; says nothing of what stands in them.
        """


class Scanned(ABC):
    """Rows that DuckDB can read as often as it needs them, without keeping them; they are `Queried` too."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call it."""

    @property
    @abstractmethod
    def _names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    @abstractmethod
    def _select(self) -> str:
        """The rows as a SELECT, for a connection of `_connect`."""

    @property
    @abstractmethod
    def _kept(self) -> str:
        """What `connect` makes of the rows: TABLE, which holds them, or VIEW."""

    @abstractmethod
    def _connect(self, alone: bool) -> duckdb.DuckDBPyConnection:
        """DuckDB, where `_select` can run.

        Args:
            alone: no other connection may share the database, whose settings change.
        """

    @abstractmethod
    def check_order(self, connection: duckdb.DuckDBPyConnection, used: Collection[str]) -> None:
        """Returns if the rows come in one order every time.

        Args:
            connection: from `scan`.
            used: the columns that are read.

        Raises:
            DataError: their order is not decided.
        """

    @abstractmethod
    def query(self, connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, NDArray[Any]]:
        """Runs a query over the rows; see `Queried`."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order.

        Raises:
            DataError: the rows cannot be read, or a column has no name of its own.
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
        with self.connect() as connection:
            self.check_order(connection, {*domain.names, *columns})
            table = self._table(connection, domain)
            check_rows(table.record_count, self.name)
            return table, texts_of(places, partial(self._cells, connection))

    def encoded(self, domain: Domain) -> Table:
        """The columns of the domain for an owner whose number of rows is private: there may be none."""
        with self.connect() as connection:
            return self._table(connection, domain)

    def cells(self, domain: Domain) -> Iterator[RawColumn]:
        """The columns of the domain one after the other, as they are before encoding; see `Queried`."""
        with self.connect() as connection:
            kinds = self.query(connection, "DESCRIBE file")["column_type"]
            yield from raw_columns(domain, self._place, kinds, partial(self._cells, connection))

    def connect(self) -> duckdb.DuckDBPyConnection:
        """DuckDB with the rows as `file`, its columns c0, c1, ... in order; see `Queried`."""
        connection = self._scan(alone=False)
        self.query(connection, f"CREATE TEMP {self._kept} file AS SELECT * FROM scan")
        return connection

    def scan(self) -> duckdb.DuckDBPyConnection:
        """DuckDB for itself: the rows as `scan`, which reads them anew, its columns c0, c1, ... in order."""
        return self._scan(alone=True)

    def _scan(self, alone: bool) -> duckdb.DuckDBPyConnection:
        names = [f"c{place}" for place in range(len(self._names))]
        connection = self._connect(alone)
        read = f"({self._select}) AS read ({', '.join(names)})"
        kinds = self.query(connection, f"DESCRIBE SELECT * FROM {read}")["column_type"]
        texts = compose_columns(names, kinds)
        self.query(connection, f"CREATE TEMP VIEW scan ({', '.join(names)}) AS SELECT {texts} FROM {read}")
        return connection

    def _table(self, connection: duckdb.DuckDBPyConnection, domain: Domain) -> Table:
        kinds = self.query(connection, "DESCRIBE file")["column_type"]
        return encoded_columns(domain, self._place, kinds, partial(self._cells, connection))

    def _cells(
        self, connection: duckdb.DuckDBPyConnection, expressions: Sequence[str]
    ) -> Iterator[NDArray[Any]]:
        """The values of each of some expressions of the rows of `file`, one after the other."""
        return (
            self.query(connection, f"SELECT {expression} AS cell FROM file")["cell"]
            for expression in expressions
        )

    def _place(self, name: str) -> int:
        name = compose(name)
        if name not in self._names:
            raise DataError(f"{self.name} has no column {name!r}; fix the names of its columns or the domain")
        return self._names.index(name)


@dataclass(frozen=True)
class FileSource(Scanned):
    """A CSV (.csv, .tsv, perhaps .gz) or Parquet file, read by DuckDB, or one of `common.files`, in memory.

    The separator of a CSV is found in its first line (`dialect`), and the encoding of a cell in itself
    (`encodings`). Every cell is read as the text it is; the empty cell is a missing value. A first column
    without a name, such as that of row numbers, is left out with a warning. A file is read once. Columns are
    encoded one after the other, in the order of the file's rows: of a large file, memory holds a few raw
    columns, and the others are in TMPDIR.

    Attributes:
        path: the file.
        header: whether the first line of a CSV holds the names of the columns; see `headers.names_of`.
    """

    path: Path
    header: bool | None = None

    def __post_init__(self) -> None:
        if not self.path.is_file():
            raise DataError(f"expected a file at {self.path}, found none; fix the path")
        if self.path.suffix.lower() in _DATABASES:
            raise DataError(
                f"expected a table or a folder of tables, got the database {self.path.name}; write its "
                "tables into one folder, in DuckDB by COPY patients TO 'folder/patients.parquet'"
            )
        if not suffix_of(self.path):
            raise DataError(
                f"expected {self.path.name} to end in one of {', '.join(SUFFIXES)}; convert the file, or "
                "read it with pandas and give the data frame to dpmosaic.synthesize"
            )

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    def _cells(
        self, connection: duckdb.DuckDBPyConnection, expressions: Sequence[str]
    ) -> Iterator[NDArray[Any]]:
        if self._fits_in_memory or self._csv is None or len(expressions) == 1:
            yield from super()._cells(connection, expressions)
            return
        query = partial(self.query, connection)
        with contextlib.closing(PrivateFolder()) as folder:
            query(f"SET temp_directory = {quote(str(folder.path))}")
            query(f"SET memory_limit = '{_MEMORY}'")
            named = ", ".join(f"{expression} AS cell{place}" for place, expression in enumerate(expressions))
            query(f"CREATE TEMP TABLE cells AS SELECT {named} FROM file")
            for place in range(len(expressions)):
                yield query(f"SELECT cell{place} AS cell FROM cells")["cell"]
            query("DROP TABLE cells")

    def _connect(self, alone: bool) -> duckdb.DuckDBPyConnection:
        small = self.path.stat().st_size <= _SMALL_BYTES
        connection = connect_small() if small and not alone else connect()
        if self._other is not None:
            register(connection, "held", self._other.rows)
        return connection

    @property
    def _kept(self) -> str:
        return "TABLE" if self._fits_in_memory else "VIEW"

    def check_order(self, connection: duckdb.DuckDBPyConnection, used: Collection[str]) -> None:
        """See `Scanned`; that of the file."""

    def query(self, connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, NDArray[Any]]:
        """Runs a query over the file; each column of the answer is an array.

        Raises:
            DataError: the file cannot be read; names the line where DuckDB does, never what stands in it.
        """
        return self.stream(connection, sql, None)

    def stream(
        self,
        connection: duckdb.DuckDBPyConnection,
        sql: str,
        read: Callable[[Any], dict[str, Any]] | None,
    ) -> dict[str, Any]:
        """Runs a query over the file, whose answer is read in batches of Arrow.

        Args:
            connection: as `connect` gives it.
            sql: the query.
            read: makes columns of a `pyarrow.RecordBatchReader`; None for arrays of NumPy, all at once.

        Raises:
            DataError: see `query`.
        """
        try:
            if read is None:
                return connection.execute(sql).fetchnumpy()
            return read(connection.sql(sql).to_arrow_reader(_READ_ROWS))
        except duckdb.OutOfMemoryException:
            raise DataError(
                f"{self.path.name} does not fit into memory; drop columns that are not needed"
            ) from None
        except duckdb.Error as error:
            line = re.search(r"CSV Error on Line: (\d+)", str(error))
            full = "No space left" in str(error)
        if full:
            raise DataError(f"{self.path.name}: no space left for its cells in TMPDIR; free some")
        where = f"{self.path.name}, line {line[1]}" if line else self.path.name
        if self._csv is None:
            raise DataError(
                f"{where}: expected a file of the kind {suffix_of(self.path)}, found another or a damaged "
                "one; write it anew"
            )
        raise DataError(
            f"{where}: expected {self._csv.in_words}, as in the first line, quotes in pairs, all line ends "
            "alike, found otherwise; fix the line, or take titles, comments and totals around the table away"
        )

    @property
    def _fits_in_memory(self) -> bool:
        """Whether DuckDB holds all texts of the file in memory."""
        return self._csv is not None and self.path.stat().st_size <= _HELD_BYTES

    @property
    def labels(self) -> Mapping[str, Labels]:
        """What the file says that the codes of its columns mean; public."""
        labels = {} if self._other is None else self._other.labels
        return {compose(name): one for name, one in labels.items()}

    @cached_property
    def _other(self) -> OtherFile | None:
        """What the file holds; None if DuckDB reads it."""
        return read_other_file(self.path) if suffix_of(self.path) in OTHER_SUFFIXES else None

    @cached_property
    def _names(self) -> tuple[str, ...]:
        if self._csv is not None:
            return self._csv.columns
        if self._other is not None:
            held = self._other.rows.column_names
        else:
            with connect_small() as connection:
                held = self.query(connection, f"DESCRIBE {self._select}")["column_name"]
        names = tuple(map(compose, held))
        check_different(self.path.name, names, "; rename one of them")
        return names

    def check_divided(self) -> None:
        """Checks that the first line of a CSV names columns, if nobody has said so.

        Raises:
            DataError: it may be a title, a comment, or divided by other marks than those of a CSV.
        """
        if self._csv is not None and self.header is None:
            check_divided(self.path.name, self._csv.columns)

    @cached_property
    def _csv(self) -> CsvFile | None:
        """How the file is read as CSV; None for another kind."""
        usual = DELIMITERS.get(suffix_of(self.path))
        return None if usual is None else CsvFile(self.path, usual, self.header)

    @property
    def _select(self) -> str:
        if self._csv is not None:
            return self._csv.select
        if self._other is not None:
            return "SELECT * FROM held"
        return f"SELECT * FROM read_parquet({quoted_file(self.path)})"


def suffix_of(path: Path) -> str:
    """With what the name of a file of rows ends, of `SUFFIXES`; empty for another file."""
    return next((suffix for suffix in SUFFIXES if path.name.lower().endswith(suffix)), "")


def encoded_columns(
    domain: Domain, place: Callable[[str], int], kinds: NDArray[Any], select: Select
) -> Table:
    """Columns named c0, c1, ... read one after the other, and encoded, numbers of two columns at a time.

    Args:
        domain: what is wanted.
        place: the number of the column of a name.
        kinds: for each column, DuckDB's type.
        select: the cells of each of some expressions.
    """
    texts: dict[str, TextColumn] = {}

    def columns() -> Iterator[Callable[[], NDArray[np.unsignedinteger[Any]]]]:
        """For each attribute, what gives its codes, in any thread."""
        read = raw_columns(domain, place, kinds, select)
        for attribute, cells in zip(domain.attributes, read, strict=True):
            if has_open_categories(attribute):
                texts[attribute.name] = TextColumn.read(attribute.name, cells)
            if (isinstance(cells, np.ndarray) and cells.dtype.kind == "O") or len(cells) > _ENCODED_AT_ONCE:
                # Texts are read by Python, one thread at a time, and take much memory.
                yield partial(np.asarray, _codes(attribute, cells))
            else:
                yield partial(_codes, attribute, cells)

    encoded = tuple(made_in_order(lambda column: column(), columns()))
    return Table(domain, encoded, texts)


def _codes(attribute: Attribute, cells: RawColumn) -> NDArray[np.unsignedinteger[Any]]:
    return attribute.encode(cells).astype(code_dtype(attribute.size))


def raw_columns(
    domain: Domain, place: Callable[[str], int], kinds: NDArray[Any], select: Select
) -> Iterator[RawColumn]:
    """Columns named c0, c1, ... one after the other, for encoding; see `encoded_columns`."""
    wanted: list[Attribute] = []
    for attribute in domain.attributes:
        wanted += [attribute, *([other_of(domain, attribute)] if isinstance(attribute, GapAttribute) else [])]
    read = _cells_of([(one, place(one.name)) for one in wanted], kinds, select)
    for attribute in domain.attributes:
        cells = next(read)
        if isinstance(attribute, GapAttribute):
            yield attribute.between(cells, other_of(domain, attribute), next(read))
        else:
            yield cells


def _cells_of(
    wanted: Sequence[tuple[Attribute, int]], kinds: NDArray[Any], select: Select
) -> Iterator[RawColumn]:
    """The cells of columns, as attributes read them.

    DuckDB reads plain numbers in text, and finds categories, which costs a tenth of what Python does; a
    column with any other text is read again as text.
    """
    texts = [cells_for(attribute, f"c{place}", kinds[place]) for attribute, place in wanted]
    numbers = [numbers_for(attribute, f"c{place}", kinds[place]) for attribute, place in wanted]
    listed = [listed_for(attribute, kinds[place]) for attribute, place in wanted]
    quick = [
        number or (place_among(map(quote, known), f"c{place}") if known else "")
        for number, known, (_, place) in zip(numbers, listed, wanted, strict=True)
    ]
    read = select([fast or text for fast, text in zip(quick, texts, strict=True)])
    for (attribute, place), text, fast, known, cells in zip(wanted, texts, quick, listed, read, strict=True):
        if known and cells.all():
            yield ListedTexts(known, cells - 1)
            continue
        if known or (fast and np.isnan(np.ma.filled(cells, 0.0)).any()):
            (cells,) = select([text])
        yield in_local_time(attribute, cells) if kinds[place] == ZONED else cells


def texts_of(places: Mapping[str, int], select: Select) -> dict[str, list[str]]:
    """The cells of columns as texts, in row order; empty where they are missing.

    Args:
        places: name -> number of each column.
        select: the cells of each of some expressions.
    """
    return {
        name: np.ma.filled(next(select([f"c{place}::VARCHAR"])), "").tolist()
        for name, place in places.items()
    }


def open_source(path: str | Path, *, header: bool | None = None) -> FileSource:
    """The rows in a file.

    Args:
        path: the file, of one of `SUFFIXES`.
        header: whether the first line of a CSV names the columns, which are otherwise column1, column2, ...;
            by default it does, unless it reads as a record.

    Raises:
        DataError: there is no such file, or it is of another kind.
    """
    return FileSource(Path(path), header)


def read_table(path: str | Path, domain: Domain, *, header: bool | None = None) -> Table:
    """The columns of the domain in a file, encoded.

    Args:
        path: the file.
        domain: meaning of the codes.
        header: see `open_source`.

    Raises:
        DataError: the file cannot be read, lacks a column or rows, or holds a value without a code.
    """
    return open_source(path, header=header).read(domain)
