"""Files that are written or read at once: Feather, Excel, SPSS, Stata, SAS; public ones of any kind."""

from __future__ import annotations

import errno
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from ...common.data.domain import Domain
from ...common.errors import DataError, MosaicError
from ...common.extras import require_extra
from ...common.files.kinds import read_other_file
from ...common.files.labels import Labels
from .parquet_files import read_parquet
from .table_format import TableFormat

_SHEET_ROWS = 2**20 - 1
"""Rows of a sheet, beside that of the names; further ones are on further sheets."""

_NAME_OF_SURVEYS = 32
"""Characters of a name that SPSS, Stata and SAS take."""


_LARGEST = 2**63 - 1
"""The largest whole number that files hold."""

_PLAIN = (str, bool, float, date, datetime, pd.Timestamp)
"""Kinds of cells that files hold, beside whole numbers."""

_OTHER_THAN_NUMBERS = r"\s*[+-]?0[0-9]"
"""How texts begin that would lose something as numbers, such as 007."""


_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no cell of a sheet can hold."""


def write_other_file(
    path: Path,
    tables: Iterable[pa.Table],
    table_format: TableFormat,
    domain: Domain | None,
    labels: Mapping[str, Labels],
) -> None:
    """Writes a synthetic table, which is in memory as a whole, over a file that is there.

    Args:
        path: the file.
        tables: the rows, as of `RowForms.typed_arrow`, at least one table.
        table_format: any but CSV and Parquet.
        domain: of the columns that have one.
        labels: what the file of the real table says of the codes of its columns.

    Raises:
        OSError: it cannot be written.
        MissingExtraError: the packages that write it are not installed.
    """
    rows = pa.concat_tables(tables)
    # Each library says in words of its own that a file cannot be written.
    path.open("wb").close()
    if table_format is TableFormat.FEATHER:
        from pyarrow import feather

        feather.write_feather(rows, str(path))
        return
    require_extra("files")
    if table_format is TableFormat.XLSX:
        try:
            _write_sheets(path, rows)
        except (OSError, MemoryError):
            raise
        except Exception as cause:
            # What writes XML says of a full disk in words of its own.
            raise OSError(errno.EIO, "no room in its folder or in TMPDIR") from cause
        return
    import pyreadstat

    from .survey_files import write_survey

    try:
        write_survey(path, rows, survey_names(rows.column_names), table_format, domain, labels)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError):
        # What it says may hold a value.
        raise DataError(
            f"{path.name}: the columns do not fit into a file of the format {table_format.value}, such as by "
            "texts that are too long; choose another format"
        ) from None


def read_other_rows(path: Path, names: Iterable[str]) -> pd.DataFrame:
    """The rows of a synthetic table in such a file; its columns have their own names again.

    Args:
        path: the file, perhaps a stranger's.
        names: of the columns.

    Raises:
        DataError: it is another file.
    """
    rows = read_other_file(path).rows
    known = {name: name for name in names}
    known |= {new: old for old, new in survey_names(known).items() if new not in known}
    rows = rows.rename_columns([known.get(name, name) for name in rows.column_names])
    return rows.to_pandas(
        types_mapper=lambda kind: None if pa.types.is_dictionary(kind) else pd.ArrowDtype(kind)
    )


def read_public(path: Path, columns: Sequence[str] = (), exactly: bool = False) -> pd.DataFrame:
    """A table that everybody may see, as a file in one of the formats of releases holds it.

    Args:
        path: the file.
        columns: their names, if the file may have others for them.
        exactly: see `with_types`.

    Raises:
        DataError: there is no such file, or it is another one.
    """
    try:
        if path.suffix == f".{TableFormat.PARQUET}":
            return read_parquet(path)
        if path.suffix == f".{TableFormat.CSV}":
            rows = pd.read_csv(path, dtype=object, keep_default_na=False, na_values=[""])
            return with_types(rows, exactly)
        if path.is_file() and path.suffix[1:] in [*TableFormat]:
            rows = read_other_rows(path, columns)
            # Cells of a workbook are texts.
            return with_types(rows.astype(object), exactly) if path.suffix == f".{TableFormat.XLSX}" else rows
    except MosaicError:
        raise
    except (OSError, ValueError, pd.errors.ParserError, pa.ArrowException):
        pass
    kinds = ", ".join(f".{kind}" for kind in TableFormat)
    raise DataError(
        f"{path}: expected a public table in a file of {kinds}, found none; fix the path or the file"
    )


def with_types(rows: pd.DataFrame, exactly: bool = False) -> pd.DataFrame:
    """Rows whose columns of texts are of numbers or truths where all of these are written so.

    Args:
        rows: the rows.
        exactly: whether others stay that would be written otherwise, such as 7.50.
    """
    found = {}
    for name, cells in rows.items():
        texts = [cell for cell in cells[cells.notna()].tolist() if isinstance(cell, str)]
        if len(texts) == cells.notna().sum() and not any(re.match(_OTHER_THAN_NUMBERS, one) for one in texts):
            written = io.StringIO(cells.astype(object).to_csv(index=False, header=["cell"]))
            options = {"keep_default_na": False, "na_values": [""], "skip_blank_lines": False}
            typed = pd.read_csv(written, **options)["cell"].set_axis(cells.index)
            lost = typed.dtype.kind == "f" and any(map(_has_many_digits, texts))
            if not lost and (not exactly or [str(cell) for cell in typed[cells.notna()].tolist()] == texts):
                found[str(name)] = typed
    return rows.assign(**found)


def _has_many_digits(text: str) -> bool:
    """Whether it is a whole number that a number with a point may not hold."""
    return bool(re.fullmatch(r"\s*[+-]?[0-9]{16,}\s*", text))


def with_plain_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of columns that a file of any format holds: cells of other kinds, or of several, are texts.

    Whole numbers beyond 64 bits are among the others.

    Raises:
        DataError: a text has half of a character.
    """
    for name, cells in rows.items():
        try:
            "".join([str(name), *(cell for cell in cells.tolist() if isinstance(cell, str))]).encode()
        except UnicodeEncodeError:
            raise DataError(
                "expected texts of whole characters in a public table, found one that no file can hold; fix "
                "its encoding"
            ) from None
    found = [_plain(cells) for _, cells in rows.items()]
    return pd.concat(found, axis=1) if found else rows


def _plain(cells: pd.Series) -> pd.Series:
    if not _are_plain(cells):
        return cells.map(str, "ignore").astype(object)
    # Beside missing ones, others would become numbers with a point, which hold fewer digits.
    whole = pd.api.types.infer_dtype(cells, skipna=True) == "integer"
    return cells.astype("Int64") if whole and cells.hasnans else cells


def _are_plain(cells: pd.Series) -> bool:
    """Whether all cells are of one kind that files hold; dates and times with or without a zone are some."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return _are_plain(pd.Series(cells.cat.categories))
    if not pd.api.types.is_object_dtype(cells.dtype):
        small = pd.api.types.is_numeric_dtype(cells.dtype) and not pd.api.types.is_complex_dtype(cells.dtype)
        if small and pd.api.types.is_unsigned_integer_dtype(cells.dtype):
            return not len(cells) or bool(cells.max(skipna=True) <= _LARGEST)
        texts = isinstance(cells.dtype, pd.StringDtype)
        return small or texts or pd.api.types.is_datetime64_any_dtype(cells.dtype)
    held = cells[cells.notna()].tolist()
    if all(isinstance(cell, int) and not isinstance(cell, bool) for cell in held):
        return all(-_LARGEST - 1 <= cell <= _LARGEST for cell in held)
    return any(all(type(cell) is kind for cell in held) for kind in _PLAIN)


def survey_names(names: Iterable[str]) -> dict[str, str]:
    """The name that all three programs take, for each name of a column: letters, digits and _, each once.

    They do not depend on the order of the columns, and a name that needs no change has none where it can.
    """
    listed = sorted(names)
    kept: dict[str, str] = {}
    for name in listed:
        if _plain_name(name) == name:
            kept.setdefault(name.upper(), name)
    found, taken = {name: name for name in kept.values()}, {*kept}
    for name in listed:
        if name in found:
            continue
        number, new = 1, (plain := _plain_name(name))
        while new.upper() in taken:
            number += 1
            new = f"{plain[: _NAME_OF_SURVEYS - 1 - len(str(number))]}_{number}"
        taken.add(new.upper())
        found[name] = new
    return found


def _plain_name(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return (plain if plain[:1].isalpha() else f"v{plain}")[:_NAME_OF_SURVEYS]


def _write_sheets(path: Path, rows: pa.Table) -> None:
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    book = openpyxl.Workbook(write_only=True)

    def cell(sheet: Any, value: Any) -> Any:
        if isinstance(value, datetime) and (value.tzinfo is not None or value.year < 1900):
            value = value.isoformat()
        if not isinstance(value, str):
            return value
        text = WriteOnlyCell(sheet, _NOT_IN_XML.sub("", value))
        # Without this, text that begins with = would be a formula.
        text.data_type = "s"
        return text

    for first in range(0, max(1, rows.num_rows), _SHEET_ROWS):
        sheet = book.create_sheet()
        sheet.append([cell(sheet, name) for name in rows.column_names])
        for batch in rows.slice(first, _SHEET_ROWS).to_batches(max_chunksize=2**14):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                sheet.append([cell(sheet, value) for value in row])
    book.save(path)
