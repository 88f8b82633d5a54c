"""The rows of a data frame, as DuckDB queries them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.values import RawColumn, text_of
from ...common.errors import DataError
from ...curator.results.raw_frames import cells_of
from ...party.sources.cells import compose_columns
from ...party.sources.memory import connect, connect_small, register

_SMALL_CELLS = 1 << 18
"""Cells of a frame up to which one thread reads it, in a database that others share."""


@dataclass(frozen=True, eq=False)
class FrameRows:
    """The rows of a data frame, as DuckDB queries them; see `party.sources.source.Queried`.

    Attributes:
        rows: the data frame.
        name: what messages call it.
        nested: whether columns of objects that hold lists, dictionaries or bytes are lists, not texts; for
            drafts, since it depends on values.
    """

    rows: pd.DataFrame
    name: str = "the data frame"
    nested: bool = False

    def columns(self) -> tuple[str, ...]:
        """The names of the columns, which were checked."""
        return tuple(self.rows.columns)

    def cells(self, domain: Domain) -> Iterator[RawColumn]:
        """The columns of the domain, as they are before encoding."""
        return (cells_of(domain, self.rows, name) for name in domain)

    def connect(self) -> duckdb.DuckDBPyConnection:
        """DuckDB with the rows as `file`, its columns c0, c1, ... in order."""
        columns = [
            _nest(column) if self.nested and _is_nested(column) else _arrow(column)
            for _, column in self.rows.items()
        ]
        names = [f"c{place}" for place, _ in enumerate(columns)]
        connection = connect_small() if self.rows.size <= _SMALL_CELLS else connect()
        register(connection, "given", pa.table(columns, names))
        kinds = self.query(connection, "DESCRIBE given")["column_type"]
        texts = compose_columns(names, kinds)
        connection.execute(f"CREATE TEMP VIEW file ({', '.join(names)}) AS SELECT {texts} FROM given")
        return connection

    def query(self, connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, NDArray[Any]]:
        """Runs a query over the rows; each column of the answer is an array.

        Raises:
            DataError: a column holds what its type does not allow; says nothing of what stands in it.
        """
        try:
            return connection.execute(sql).fetchnumpy()
        except duckdb.Error:
            raise DataError(
                "the data frame: expected values of the types of its columns, and texts in UTF-8, found "
                "others; make the columns anew from their source"
            ) from None


def _is_nested(column: pd.Series) -> bool:
    """Whether a column of objects holds lists, dictionaries or bytes."""
    if not pd.api.types.is_object_dtype(column.dtype):
        return False
    return any(isinstance(cell, (list, tuple, set, dict, bytes, np.ndarray)) for cell in column)


def _nest(column: pd.Series) -> pa.Array:
    """Cells as lists of one text each."""
    return pa.array([[text_of(cell)] for cell in column], pa.list_(pa.string()))


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
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise DataError(
            f"column {column.name!r}: expected booleans, numbers, text, dates or timestamps, got the "
            f"type {kind}; convert or drop it"
        ) from None


def _texts(cells: pd.Series | pd.Index) -> pa.Array:
    """Cells as texts, timestamps as in ISO 8601; what UTF-8 cannot hold is replaced."""
    texts = [
        (cell.isoformat() if isinstance(cell, datetime) and not pd.isna(cell) else text_of(cell)) or None
        for cell in cells
    ]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        return pa.array([text and text.encode(errors="replace").decode() for text in texts], pa.string())
