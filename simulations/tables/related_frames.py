"""Related tables as data frames."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.errors import DataError
from ...curator.results.storage import Storage, storage_of
from ...party.sources.source import FileSource
from .arrow_tables import ArrowTable, data_frame
from .frames import Source, checked_names

ROWS = "rows"
"""Name of the only table of a release with a key."""


def named_frames(real: Source | Mapping[str, Source]) -> dict[str, pd.DataFrame]:
    """Related tables by name, as data frames; one table is that of a release with a key.

    Raises:
        DataError: one is neither a data frame nor a file.
    """
    several: Mapping[str, Source] = real if isinstance(real, Mapping) else {ROWS: real}
    return {name: frame_of(name, data)[0] for name, data in several.items()}


def frame_of(name: str, data: Source) -> tuple[pd.DataFrame, Mapping[str, Storage]]:
    """The rows of a data frame or of a file, and how columns are stored."""
    if isinstance(data, ArrowTable):
        rows = data_frame(data)
        checked_names(rows)
        return rows, storage_of(rows)
    if not isinstance(data, str) and not hasattr(data, "__fspath__"):
        raise DataError(
            f"{name}: expected a data frame or the path of a file, got {type(data).__name__}; make one of it"
        )
    source = FileSource(Path(data))
    with source.connect() as connection:
        columns = source.query(connection, "SELECT * FROM file")
    named = zip(source.columns(), columns.values(), strict=True)
    frame = pd.DataFrame({column: _without_mask(cells) for column, cells in named})
    return frame, {}


def _without_mask(cells: NDArray[Any]) -> NDArray[Any]:
    """Cells with None for a missing value."""
    if not np.ma.isMaskedArray(cells):
        return cells
    found: NDArray[Any] = np.ma.getdata(cells).astype(object)
    found[np.ma.getmaskarray(cells)] = None
    return found
