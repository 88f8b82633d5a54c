"""Tables from data frames and files, and data frames from tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ..common.crypto.randomness import RandomStream
from ..common.data.domain import Domain
from ..common.data.table import Table
from ..common.data.values import text_of
from ..common.errors import DataError
from ..curator.releasing.frames import typed
from ..curator.releasing.raw_frames import encoded, raw
from ..party.drafting.draft import Draft
from ..party.sources import inference
from ..party.sources.source import CONFIG, FileSource
from .file_types import types_of_file
from .schemas import ColumnType, Flag, Listed, Number, Text, Time, domain_of_types

Source: TypeAlias = pd.DataFrame | str | Path
"""A table with values: a data frame, or the path of a CSV or Parquet file."""

DomainLike = Domain | Draft | Mapping[str, Any] | str | Path
"""A domain, a draft of one, the content of a domain file, or its path."""

_OF_BYTES = {"int8": (-128, 127), "uint8": (0, 255)}


@dataclass(frozen=True, eq=False)
class Loaded:
    """A table with values, encoded.

    Attributes:
        table: the rows.
        columns: columns of the synthetic table, in order.
        types: name -> type of the column in a data frame; empty for a file.
        by_types: whether only types say what the columns hold.
        listed: columns whose type lists their categories.
    """

    table: Table
    columns: tuple[str, ...]
    types: Mapping[str, Any]
    by_types: bool
    listed: tuple[str, ...] = ()


def read_domain(domain: DomainLike) -> Domain:
    """A domain as it is, from a draft, from the content of a domain file, or from its path.

    Raises:
        DataError: it is no domain.
    """
    match domain:
        case Domain():
            return domain
        case Draft():
            return domain.domain
        case Mapping():
            return Domain.from_json(domain)
    return Domain.load(domain)


def load(data: Source, domain: DomainLike | None) -> Loaded:
    """A data frame or file, encoded.

    Args:
        data: the rows.
        domain: of the columns; None to derive it from their names and types alone.

    Raises:
        DataError: the table does not fit the domain, or has a column of a type that no release holds.
    """
    if isinstance(data, pd.DataFrame):
        return _of_frame(data, domain)
    source = FileSource(Path(data))
    known = domain_of_types(types_of_file(source)) if domain is None else read_domain(domain)
    return Loaded(source.read(known), _written(known, source.columns()), {}, domain is None)


def _of_frame(rows: pd.DataFrame, domain: DomainLike | None) -> Loaded:
    types = types_of_frame(rows) if domain is None else {}
    known = domain_of_types(types) if domain is None else read_domain(domain)
    table = encoded(known, rows)
    return Loaded(
        table,
        _written(known, tuple(rows.columns)),
        {name: rows[name].dtype for name in known.columns if name in rows.columns},
        domain is None,
        tuple(name for name, kind in types.items() if isinstance(kind, Listed)),
    )


def _written(domain: Domain, held: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of the synthetic table in the order of the real one, after identifiers that it has not."""
    new = (name for name in domain.columns if name not in held)
    return (*new, *(name for name in held if name in domain.columns))


def types_of_frame(rows: pd.DataFrame) -> dict[str, ColumnType]:
    """The type of each column of a data frame, from `DataFrame.dtypes`; no value is read.

    Raises:
        DataError: a name is no text or stands twice, or a column has a type that no release holds.
    """
    names = list(rows.columns)
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise DataError("expected columns with different texts as names, got others; rename the columns")
    return {name: _type_of(name, kind) for name, kind in zip(names, rows.dtypes, strict=True)}


def _type_of(name: str, kind: Any) -> ColumnType:
    types = pd.api.types
    extension = not hasattr(kind, "isbuiltin")
    if isinstance(kind, pd.CategoricalDtype):
        return Listed(tuple(kind.categories.tolist()), bool(kind.ordered))
    if isinstance(kind, pd.ArrowDtype):
        if pa.types.is_date(kind.pyarrow_dtype):
            return Time(False)
        if pa.types.is_dictionary(kind.pyarrow_dtype):
            return Text()
    if types.is_bool_dtype(kind):
        return Flag(extension)
    if types.is_integer_dtype(kind):
        return Number(True, extension, _OF_BYTES.get(str(kind).lower()))
    if types.is_float_dtype(kind) or _is_decimal(kind):
        return Number(False, True)
    if types.is_datetime64_any_dtype(kind):
        return Time(True, _zone(kind))
    if types.is_string_dtype(kind) or types.is_object_dtype(kind):
        return Text()
    raise DataError(
        f"column {name!r}: expected booleans, numbers, text, dates or timestamps, got the type {kind}; "
        "convert or drop it"
    )


def _is_decimal(kind: Any) -> bool:
    return isinstance(kind, pd.ArrowDtype) and pa.types.is_decimal(kind.pyarrow_dtype)


def _zone(kind: Any) -> str:
    """The IANA name of the time zone of timestamps; that of UTC for a fixed distance from it."""
    zone = kind.pyarrow_dtype.tz if isinstance(kind, pd.ArrowDtype) else getattr(kind, "tz", None)
    if zone is None:
        return ""
    named = str(zone)
    return named if "/" in named else "UTC"


def encode(rows: pd.DataFrame, domain: DomainLike) -> Table:
    """The codes of a data frame.

    Args:
        rows: with a column of each attribute; other columns are ignored.
        domain: meaning of the codes.

    Raises:
        DataError: a column is missing, a value has no code, or there is no row.
    """
    return encoded(read_domain(domain), rows)


def decode(table: Table, seed: int | None = None) -> pd.DataFrame:
    """A data frame whose encoding is this table, with new identifiers; numbers are drawn from their bins.

    Args:
        table: codes.
        seed: makes the values inside bins reproducible.
    """
    stream = RandomStream.from_os() if seed is None else RandomStream.from_seed(seed)
    return typed(table, table.domain.columns, stream.generator())


def draft(data: Source, blanks: Collection[str] = ()) -> Draft:
    """Drafts a domain from the values of a table: not private, for the owner of the rows to review.

    Args:
        data: the rows; also the path of a file with a query.
        blanks: texts that stand for a missing value in every column, such as NA.

    Returns:
        A draft: it shows itself as a table, is edited in place, and stands for a domain wherever one is
        asked for. Entries that were read from the rows are marked until they are confirmed.

    Raises:
        DataError: the rows cannot be read, there are none, or none of their columns can be released.
    """
    if not isinstance(data, pd.DataFrame):
        return inference.draft_file(data, blanks)
    types = types_of_frame(data)
    ordered = {
        name: [one if isinstance(one, (str, int, float)) else text_of(one) for one in kind.categories]
        for name, kind in types.items()
        if isinstance(kind, Listed) and kind.ordered
    }
    return inference.draft_rows(_FrameRows(data), blanks, ordered)


infer_domain = draft
"""The former name of `draft`, for scripts that have it."""


@dataclass(frozen=True, eq=False)
class _FrameRows:
    """The rows of a data frame, as DuckDB queries them; see `party.sources.source.Queried`."""

    rows: pd.DataFrame
    name: str = "the data frame"

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(types_of_frame(self.rows))

    def cells(self, domain: Domain) -> Iterator[NDArray[Any]]:
        """The columns of the domain, as they are before encoding."""
        return (raw(domain[name], self.rows[name]) for name in domain)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """DuckDB with the rows as `file`, its columns c0, c1, ... in order."""
        plain = {f"c{place}": _plain(column) for place, (_, column) in enumerate(self.rows.items())}
        connection = duckdb.connect(config=CONFIG)
        connection.register("file", pa.Table.from_pandas(pd.DataFrame(plain), preserve_index=False))
        return connection

    def query(self, connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, NDArray[Any]]:
        """Runs a query over the rows; each column of the answer is an array."""
        return connection.execute(sql).fetchnumpy()


def _plain(column: pd.Series) -> pd.Series:
    """A column that Arrow can hold: objects and categories as text; lists and the like as lists."""
    if not isinstance(column.dtype, pd.CategoricalDtype) and column.dtype != object:
        return column
    cells = column.astype(object)
    if any(isinstance(cell, (list, tuple, set, dict, bytes, np.ndarray)) for cell in cells):
        return cells.map(lambda cell: [str(cell)])
    return cells.map(lambda cell: text_of(cell) or None)
