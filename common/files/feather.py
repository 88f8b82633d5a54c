"""Reads Feather files, which are those of Arrow's IPC format."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import feather

from .kinds import OtherFile
from .unpacking import Unpacked, check_arrow


def read(path: Path) -> OtherFile:
    """Reads a Feather file; an index of pandas that was written as a column is left out."""
    check_arrow(path)
    table = feather.read_table(path)
    # Reading checks no place of a text and no number of a dictionary.
    table.validate(full=True)
    Unpacked(path).count_texts(table)
    kept = [name for name in table.column_names if not name.startswith("__index_level_")]
    return OtherFile(pa.table({name: _usual(table[name]) for name in kept}))


def _usual(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with a type that DuckDB reads: a dictionary as its values."""
    kind = cells.type
    if pa.types.is_dictionary(kind):
        if kind.value_type == pa.string_view():
            # Polars writes such texts, of which Arrow takes none by their numbers.
            cells = cells.cast(pa.dictionary(kind.index_type, pa.string()))
        return cells.cast(cells.type.value_type)
    return cells.cast(pa.string()) if pa.types.is_null(kind) else cells
