"""Reads Feather files, which are those of Arrow's IPC format."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import feather

from .kinds import OtherFile


def read(path: Path) -> OtherFile:
    """Reads a Feather file; an index of pandas that was written as a column is left out."""
    table = feather.read_table(path)
    kept = [name for name in table.column_names if not name.startswith("__index_level_")]
    return OtherFile(table.select(kept).cast(pa.schema([_usual(table.schema.field(name)) for name in kept])))


def _usual(field: pa.Field) -> pa.Field:
    """The field with a type that DuckDB reads: a dictionary as its values."""
    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        kind = pa.string()
    return pa.field(field.name, kind)
