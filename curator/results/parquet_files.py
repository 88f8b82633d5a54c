"""Synthetic tables as Parquet, with the types of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.files.unpacking import check_parquet

_GROUP_CELLS = 2**24
"""Cells of a row group; it bounds temporary memory."""


def write_parquet(
    path: Path, tables: Iterable[pa.Table], metadata: Mapping[str, str] | None = None, **options: Any
) -> None:
    """Writes tables of one schema, at least one, as a Parquet file, over one that is there.

    Args:
        path: the file.
        tables: the rows, each a row group.
        metadata: what it says besides.
        options: see `pyarrow.parquet.ParquetWriter`.

    Raises:
        OSError: it cannot be written.
    """
    waiting = iter(tables)
    first = next(waiting)
    with pq.ParquetWriter(path, first.schema, **options) as writer:
        if metadata is not None:
            writer.add_key_value_metadata(metadata)
        for table in chain([first], waiting):
            writer.write_table(table)


def read_parquet(path: Path) -> pd.DataFrame:
    """Reads a Parquet file that somebody else may have written.

    Raises:
        DataError: its rows would take far more memory than the file has bytes, or hold lists.
        pa.ArrowException: it is another file.
    """
    check_parquet(path)
    return pd.read_parquet(path, engine="pyarrow")


def in_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in fewer tables, each of about so many cells as a row group may have."""
    group: list[pa.Table] = []
    for table in tables:
        group.append(table)
        if sum(map(len, group)) * table.num_columns >= _GROUP_CELLS:
            yield pa.concat_tables(group)
            group = []
    if group:
        yield pa.concat_tables(group)


def repeated(domain: Domain, columns: Sequence[str]) -> list[str]:
    """Columns of which a dictionary takes less space: numbers of others hardly ever come twice."""
    numbers = (one for one in domain.attributes if isinstance(one, NumericAttribute))
    any_number = {one.name for one in numbers if one.lattice is None}
    return [name for name in columns if name not in any_number]
