"""The synthetic tables of a release of people as files, in each format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from ...common.data.domain import Domain
from ...common.errors import DataError
from ..results.frames import typed_values
from ..results.other_files import read_other_rows, write_other_file
from ..results.raw_frames import values_in
from ..results.table_format import TableFormat
from .files import file_name
from .shape import Family, Kin
from .tables import released_domain, shown_as_real


def write_table(path: Path, rows: pd.DataFrame, table_format: TableFormat, domain: Domain | None) -> None:
    """Writes a table.

    Args:
        path: the file.
        rows: the table.
        table_format: how.
        domain: of its columns but keys; None if it has no others.

    Raises:
        DataError: the columns do not fit into such a file.
        MissingExtraError: the packages that write it are not installed.
    """
    match table_format:
        case TableFormat.CSV:
            rows.to_csv(path, index=False)
        case TableFormat.PARQUET:
            rows.to_parquet(path, index=False)
        case other:
            tables = [pa.Table.from_pandas(rows, preserve_index=False)]
            write_other_file(path, tables, other, domain, {})


def read_table(folder: Path, family: Family, table: Kin) -> pd.DataFrame:
    """A table as its file holds it, with the types of its columns.

    Args:
        folder: of the tables.
        family: all tables.
        table: the one that is read.

    Raises:
        DataError: there is no such file, or it is another one.
    """
    path = _file_of(folder, file_name(table.name))
    if path.suffix == f".{TableFormat.PARQUET}":
        return pd.read_parquet(path)
    if path.suffix == f".{TableFormat.CSV}":
        rows = pd.read_csv(path, dtype=object, keep_default_na=False)
    else:
        rows = read_other_rows(path, table.columns)
    domain = released_domain(family, table)
    parts: dict[str, Any] = {}
    if domain is not None:
        parts |= dict(typed_values(domain, values_in(domain, rows), domain.columns).items())
    for key in filter(None, (table.key, table.foreign)):
        parts[key] = rows[key].astype("int64")
    return shown_as_real(family, table, parts)


def _file_of(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.{kind}" for kind in TableFormat):
        if path.is_file():
            return path
    raise DataError(f"{folder / name}: expected a table in one of the known formats, found none; restore it")
