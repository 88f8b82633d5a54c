"""Related tables as data frames."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ...common.errors import DataError
from ...curator.results.storage import Storage, storage_of
from ...party.sources.source import FileSource
from ...simulations.tables.arrow_tables import ArrowTable
from ...simulations.tables.frames import Source, checked_names
from ...simulations.tables.indexes import without_index

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
    """The rows of a data frame or of a file, whose texts are categories, and how columns are stored."""
    if isinstance(data, ArrowTable):
        rows = without_index(data).rows
        checked_names(rows)
        return rows, storage_of(rows)
    if not isinstance(data, str) and not hasattr(data, "__fspath__"):
        raise DataError(
            f"{name}: expected a data frame or the path of a file, got {type(data).__name__}; make one of it"
        )
    source = FileSource(Path(data))
    with source.connect() as connection:
        kinds = source.query(connection, "DESCRIBE file")["column_type"].tolist()
        names = dict(zip((f"c{place}" for place in range(len(kinds))), source.columns(), strict=True))
        texts = [name for name, kind in zip(names, kinds, strict=True) if kind == "VARCHAR"]
        others = [name for name in names if name not in texts]
        found: dict[str, Any] = {}
        if others:
            columns = source.query(connection, f"SELECT {', '.join(others)} FROM file")
            found |= {name: _of_one_type(cells) for name, cells in columns.items()}
        if texts:
            # Each text once: a large table has few different ones in most columns.
            listed = ", ".join(f"{name}::VARCHAR AS {name}" for name in texts)
            found |= source.stream(connection, f"SELECT {listed} FROM file", _categories)
    return pd.DataFrame({name: found[place] for place, name in names.items()}, copy=False), {}


def with_texts(rows: pd.DataFrame, storage: Mapping[str, Storage]) -> pd.DataFrame:
    """Rows whose texts stand in every cell; see `frame_of`.

    Args:
        rows: the rows.
        storage: how columns are stored that are of some other kind.
    """
    held = [
        name
        for name in rows.columns
        if isinstance(rows[name].dtype, pd.CategoricalDtype) and name not in storage
    ]
    return rows.assign(**{name: rows[name].astype(object).where(rows[name].notna(), None) for name in held})


def _categories(reader: pa.RecordBatchReader) -> dict[str, pd.Categorical]:
    """Columns of texts, each text once."""
    chunks: dict[str, list[pa.DictionaryArray]] = {name: [] for name in reader.schema.names}
    for batch in reader:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            chunks[name].append(column.dictionary_encode())
    found = {}
    for name, parts in chunks.items():
        if not parts:
            found[name] = pd.Categorical([])
            continue
        whole = pa.chunked_array(parts).unify_dictionaries()
        codes = np.concatenate([part.indices.fill_null(-1).to_numpy() for part in whole.chunks])
        texts = whole.chunk(0).dictionary.to_pylist()
        found[name] = pd.Categorical.from_codes(codes, categories=pd.Index(texts, dtype=object))
    return found


def _of_one_type(cells: NDArray[Any]) -> Any:
    """Cells whose type follows from that of the file's column: whether one is missing changes none of others.

    Args:
        cells: as DuckDB gives them, masked only if one is missing.
    """
    held, missing = np.ma.getdata(cells), np.ma.getmaskarray(cells)
    match held.dtype.kind:
        case "i" | "u":
            return pd.arrays.IntegerArray(held, missing)
        case "b":
            return pd.arrays.BooleanArray(held, missing)
        case "f":
            return np.where(missing, np.array(np.nan, held.dtype), held)
        case "M" | "m":
            return np.where(missing, np.array("NaT", held.dtype), held)
        case _:
            return np.where(missing, np.array(None), held)
