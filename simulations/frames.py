"""Tables from data frames and files, and data frames from tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
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
from ..party.sources import inference
from ..party.sources.inference import Draft
from ..party.sources.source import CONFIG, FileSource, Queried

Source: TypeAlias = pd.DataFrame | str | Path
"""A table with values: a data frame, or the path of a CSV or Parquet file."""

DomainLike = Domain | Mapping[str, Any] | str | Path
"""A domain, the content of a domain file, or its path."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """A table with values, encoded.

    Attributes:
        table: the rows.
        columns: columns of the synthetic table, in order.
        types: name -> type of the column in a data frame; empty for a file.
    """

    table: Table
    columns: tuple[str, ...]
    types: Mapping[str, Any]


def read_domain(domain: DomainLike) -> Domain:
    """A domain as it is, from the content of a domain file, or from its path.

    Raises:
        DataError: it is no domain.
    """
    match domain:
        case Domain():
            return domain
        case Mapping():
            return Domain.from_json(domain)
    return Domain.load(domain)


def load(data: Source, domain: DomainLike) -> Loaded:
    """A data frame or file, encoded.

    Args:
        data: the rows.
        domain: of the columns.

    Raises:
        DataError: the table does not fit the domain.
    """
    known = read_domain(domain)
    if not isinstance(data, pd.DataFrame):
        source = FileSource(Path(data))
        return Loaded(source.read(known), written(known, source.columns()), {})
    types = {name: data[name].dtype for name in known.columns if name in data.columns}
    return Loaded(encoded(known, data), written(known, tuple(data.columns)), types)


def written(domain: Domain, held: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of the synthetic table in the order of the real one, after identifiers that it has not."""
    new = (name for name in domain.columns if name not in held)
    return (*new, *(name for name in held if name in domain.columns))


def _checked_names(rows: pd.DataFrame) -> tuple[str, ...]:
    """The names of a data frame's columns.

    Raises:
        DataError: a name is no text or stands twice.
    """
    names = list(rows.columns)
    if not all(isinstance(name, str) and name.strip() for name in names) or len(set(names)) < len(names):
        raise DataError("expected columns with different texts as names, got others; rename the columns")
    return tuple(names)


def _zone(kind: Any) -> str:
    """The IANA name of the time zone of timestamps; that of UTC for a fixed distance from it."""
    zone = getattr(kind.pyarrow_dtype if isinstance(kind, pd.ArrowDtype) else kind, "tz", None)
    if zone is None:
        return ""
    named = str(zone)
    return named if "/" in named else "UTC"


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table that nobody has described.

    Attributes:
        source: its rows.
        timezones: time zones that columns of a data frame declare.
        read: reads it in a domain.
    """

    source: Queried
    timezones: Mapping[str, str]
    read: Callable[[Domain], Table]


def raw_table(data: Source) -> RawTable:
    """A data frame or file, as it is.

    Raises:
        DataError: a name is no text or stands twice, or there is no such file.
    """
    if not isinstance(data, pd.DataFrame):
        source = FileSource(Path(data))
        return RawTable(source, {}, source.read)
    zones = {name: _zone(data[name].dtype) for name in _checked_names(data)}
    zones = {name: zone for name, zone in zones.items() if zone}
    return RawTable(_FrameRows(data), zones, lambda domain: encoded(domain, data))


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


def infer_domain(data: Source, blanks: Collection[str] = ()) -> Draft:
    """Drafts a domain from the values of a table: not private, see `Draft`; for its owner to review.

    Args:
        data: the rows; also the path of a file with a query.
        blanks: texts that stand for a missing value in every column, such as NA.

    Returns:
        A draft: `draft.domain` is the domain, whose entries are marked as unreviewed.

    Raises:
        DataError: the rows cannot be read, there are none, or none of their columns can be released.
    """
    if isinstance(data, pd.DataFrame):
        return inference.draft_domain(_FrameRows(data), blanks)
    return inference.infer_domain(data, blanks)


@dataclass(frozen=True, eq=False)
class _FrameRows:
    """The rows of a data frame, as DuckDB queries them; see `party.sources.source.Queried`."""

    rows: pd.DataFrame
    name: str = "the data frame"

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return _checked_names(self.rows)

    def cells(self, domain: Domain) -> Iterator[NDArray[Any]]:
        """The columns of the domain, as they are before encoding."""
        return (raw(domain[name], self.rows[name]) for name in domain)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """DuckDB with the rows as `file`, its columns c0, c1, ... in order."""
        columns = [_arrow(column) for _, column in self.rows.items()]
        connection = duckdb.connect(config=CONFIG)
        connection.register("file", pa.table(columns, [f"c{place}" for place, _ in enumerate(columns)]))
        return connection

    def query(self, connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, NDArray[Any]]:
        """Runs a query over the rows; each column of the answer is an array."""
        return connection.execute(sql).fetchnumpy()


def _arrow(column: pd.Series) -> pa.Array | pa.ChunkedArray:
    """A column as DuckDB reads it; its type follows from its type alone: objects and categories are text."""
    kind = column.dtype
    if isinstance(kind, pd.ArrowDtype):
        return column.array.__arrow_array__()
    if isinstance(kind, pd.CategoricalDtype):
        texts = pa.DictionaryArray.from_arrays(
            pa.array(column.cat.codes, mask=column.isna().to_numpy()), _texts(kind.categories)
        )
        return texts.cast(pa.string())
    if pd.api.types.is_string_dtype(kind) or pd.api.types.is_object_dtype(kind):
        return _texts(column)
    if kind == np.float16:
        column = column.astype(np.float32)
    return pa.array(column, from_pandas=True)


def _texts(cells: pd.Series | pd.Index) -> pa.Array:
    """Cells as texts; what UTF-8 cannot hold is replaced."""
    texts = [text_of(cell) or None for cell in cells]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        return pa.array([text and text.encode(errors="replace").decode() for text in texts], pa.string())
