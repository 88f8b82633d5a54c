"""Tables of other libraries, which Arrow can read: Polars, PyArrow, DuckDB."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ...common.data.values import compose, text_of
from ...common.errors import DataError
from ...curator.results.storage import Library

_FIRST_DAY, _LAST_DAY = (int(np.datetime64(day).astype(int)) for day in ("0001-01-01", "9999-12-31"))
"""Days since 1970 that Python knows."""


@runtime_checkable
class ArrowTable(Protocol):
    """A table that gives its rows to Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, as Arrow's C stream interface defines it."""


def rereadable(data: Any) -> Any:
    """A table that has the same rows whenever they are read: a stream or a query is read into memory.

    Args:
        data: a table, or anything else, which is returned as it is.
    """
    held = isinstance(data, (pd.DataFrame, pa.Table)) or Library.of(data) is Library.POLARS
    return data if held or not isinstance(data, ArrowTable) else pa.table(data)


def data_frame(rows: ArrowTable) -> pd.DataFrame:
    """The rows as a data frame: pandas' own as it is, that of another library with the types of Arrow.

    Sparse columns come back dense, and periods as the texts that pandas writes, such as 2024-03 or 2024Q1.
    Times of years that Python does not know, such as infinite ones, come back missing.
    Names of columns come back composed (`compose`).

    Raises:
        DataError: a column has a type that only its library knows.
    """
    found = _readable(rows if isinstance(rows, pd.DataFrame) else _typed(rows))
    names = [compose(name) if isinstance(name, str) else name for name in found.columns]
    return found if names == [*found.columns] else found.set_axis(names, axis=1)


def _readable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with columns that others than pandas read."""
    columns = [_readable_column(column) for _, column in rows.items()]
    if all(column is held for column, (_, held) in zip(columns, rows.items(), strict=True)):
        return rows
    return pd.concat(columns, axis=1)


def _readable_column(column: pd.Series) -> pd.Series:
    match column.dtype:
        case pd.SparseDtype():
            return column.sparse.to_dense()
        case pd.PeriodDtype():
            return column.astype(object).where(column.notna(), None).map(text_of).astype(object)
        case pd.ArrowDtype() as kind if pa.types.is_temporal(kind.pyarrow_dtype):
            times = column.array.__arrow_array__()
        case kind if pd.api.types.is_datetime64_any_dtype(kind):
            times = pa.array(column.dt.tz_convert(None) if column.dt.tz is not None else column)
        case _:
            return column
    far = _beyond_calendar(times)
    return column if far is None or not far.any() else column.mask(far)


def _beyond_calendar(times: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_] | None:
    """Which times lie before the year 1 or after 9999, such as infinite ones; None if none of a type can."""
    kind = times.type
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        per_day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6}[kind.unit]
    elif pa.types.is_date(kind):
        per_day = 1 if pa.types.is_date32(kind) else 86_400_000
    else:
        return None
    units = times.cast(pa.int32()) if pa.types.is_date32(kind) else times.cast(pa.int64())
    counted = units.fill_null(0).to_numpy().astype(np.int64)
    far: NDArray[np.bool_] = (counted < _FIRST_DAY * per_day) | (counted >= (_LAST_DAY + 1) * per_day)
    return far


def _typed(rows: ArrowTable) -> pd.DataFrame:
    """The rows as a data frame with the types of Arrow."""
    try:
        table = pa.table(rows)
        table = table.cast(pa.schema([field.with_type(_usual(field.type)) for field in table.schema]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            "expected a table whose types Arrow knows, got one with a column of another, such as of integers "
            "of 128 bits; cast or drop it"
        ) from None
    return table.to_pandas(
        types_mapper=lambda kind: None if pa.types.is_dictionary(kind) else pd.ArrowDtype(kind)
    )


def _usual(kind: pa.DataType) -> pa.DataType:
    """The type of the same values that pandas and DuckDB read too."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _usual(kind.value_type), kind.ordered)
    if pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(kind) else kind
