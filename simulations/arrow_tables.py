"""Tables of other libraries, which Arrow can read: Polars, PyArrow, DuckDB."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import pandas as pd
import pyarrow as pa


@runtime_checkable
class ArrowTable(Protocol):
    """A table that gives its rows to Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows, as Arrow's C stream interface defines it."""


def data_frame(rows: ArrowTable) -> pd.DataFrame:
    """The rows as a data frame: pandas' own as it is, that of another library with the types of Arrow."""
    if isinstance(rows, pd.DataFrame):
        return rows
    return pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype)
