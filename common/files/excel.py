"""Reads the sheet of an Excel file: each cell as the text that it shows, as of a CSV.

So the kind of a column follows from what most of its cells show, and no single cell decides it.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa

from ..errors import DataError
from .kinds import OtherFile
from .unpacking import Unpacked

_ERRORS = ("#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!")
"""What a cell shows whose formula has no value."""

_ANY_BYTES, _UNPACKED = 1 << 26, 100
"""Bytes that are unpacked in any case, and most of them in one byte of the file."""

_MOST_PLACES = 1 << 27
"""Cells and rows that are read, with the empty ones before others: few bytes may say that there are more."""


def read(path: Path) -> OtherFile:
    """Reads the sheet with cells, whose first row names the columns; rows without any value are left out.

    Raises:
        DataError: it has no such row, another sheet has cells, or cells stand beside the columns.
    """
    with zipfile.ZipFile(path) as parts:
        unpacked = sum(part.file_size for part in parts.infolist())
    if unpacked > max(_ANY_BYTES, _UNPACKED * path.stat().st_size):
        raise DataError(f"{path.name}: expected a file of sheets, found one that unpacks to far more bytes")
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        filled = [sheet for sheet in book.worksheets if any(map(any, _rows(path.name, sheet)))]
        if len(filled) > 1:
            raise DataError(
                f"{path.name}: expected one sheet with cells, found {len(filled)}; save the one of the table "
                "as a file of its own"
            )
        rows = _rows(path.name, (filled or book.worksheets)[0])
        names = next(rows, [])
        while names and names[-1] is None:
            names.pop()
        if not names or None in names:
            raise DataError(
                f"{path.name}: expected the names of the columns in the first row of its sheet, found none; "
                "write a name above each column, one row of them, without merged cells"
            )
        columns: list[list[str | None]] = [[] for _ in names]
        beyond, texts = False, Unpacked(path)
        for cells in rows:
            # A text that many cells show is in the file once.
            texts.count(sum(len(cell) for cell in cells if cell is not None))
            beyond = beyond or any(cell is not None for cell in cells[len(names) :])
            cells = cells[: len(names)]
            if any(cell is not None for cell in cells):
                cells += [None] * (len(names) - len(cells))
                for column, cell in zip(columns, cells, strict=True):
                    column.append(cell)
    finally:
        book.close()
    if beyond:
        raise DataError(
            f"{path.name}: expected no cells beyond the columns that the first row of its sheet names, found "
            "some; name each column there, and take titles and notes away"
        )
    return OtherFile(pa.table([pa.array(column, pa.string()) for column in columns], names=names))


def _rows(name: str, sheet: Any) -> Iterator[list[str | None]]:
    """What each row shows up to its last cell, whatever the sheet says of its size.

    Raises:
        DataError: there are too many cells.
    """
    sheet.reset_dimensions()
    left = _MOST_PLACES
    for row in sheet.iter_rows(values_only=True):
        left -= 1 + len(row)
        if left < 0:
            raise DataError(
                f"{name}: expected at most {_MOST_PLACES:,} cells, with empty ones before others, found "
                "more; take away what stands far from the table, or save it as CSV"
            )
        yield [_text(cell) for cell in row]


def _text(cell: Any) -> str | None:
    """What a cell shows; None of an empty one and of an error."""
    if cell is None or (isinstance(cell, str) and (not cell.strip() or cell in _ERRORS)):
        return None
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat()
    if isinstance(cell, (date, time)):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    return str(cell)
