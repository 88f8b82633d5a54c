"""Tables of other libraries, which Arrow can read: Polars, PyArrow, DuckDB."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import pandas as pd
import pyarrow as pa

from ...common.data.values import compose
from ...common.errors import DataError


@runtime_checkable
class ArrowTable(Protocol):
    """A table that gives its rows to Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, as Arrow's C stream interface defines it."""


def data_frame(rows: ArrowTable) -> pd.DataFrame:
    """The rows as a data frame: pandas' own as it is, that of another library with the types of Arrow.

    Names of columns come back composed (`compose`).

    Raises:
        DataError: a column has a type that only its library knows.
    """
    found = rows if isinstance(rows, pd.DataFrame) else _typed(rows)
    names = [compose(name) if isinstance(name, str) else name for name in found.columns]
    return found if names == [*found.columns] else found.set_axis(names, axis=1)


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
