"""Reads files of SPSS, Stata and SAS. A column that its dictionary describes holds the labels of its codes.

In such a column a code that the dictionary does not name is read as its number, which is no category. In a
column of numbers, codes that stand for a missing value are missing.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyreadstat

from .kinds import OtherFile
from .labels import Code, Labels
from .unpacking import Unpacked

_READERS: Mapping[str, str] = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}

_WITHOUT_USER_MISSING = (".xpt", ".por")
"""Kinds whose reader does not tell such missing values apart."""

_CELLS_OF_PYTHON = 1 << 22
"""Cells that are objects of Python at once."""

_TEXT_BYTES = 1 << 27
"""Bytes of shared texts at once."""

_STRL = 32768
"""Stata's type of texts that several cells may share, strL."""

_LISTING_BYTES, _PARTS_OF_STATA = 1 << 12, 14
"""Bytes in which a file of Stata lists its parts, and how many these are."""

_PLACE_OF_TYPES, _PLACE_OF_TEXTS = 2, 10
"""Which of them are the types of columns, and the shared texts."""

_WIDE_FROM = 118
"""The first format that numbers shared texts with 64 bits."""

_TYPES_BYTES = 1 << 18
"""What the types of the most columns of Stata take."""

_STATA = re.compile(rb"<stata_dta><header><release>(\d{3})</release><byteorder>(LSF|MSF)</byteorder>")

_DATE = re.compile(
    r"%t?d.*|[AEJS]?DATE\d*|(MMDDYY|DDMMYY|YYMMDD)[BCDNPS]?\d*|[BE]8601DA[\d.]*", re.IGNORECASE
)
_TIMESTAMP = re.compile(r"%tc.*|DATETIME[\d.]*|YMDHMS[\d.]*|[BE]8601DT[\d.]*", re.I)
"""Formats that files declare for dates and for timestamps."""

_TIME = re.compile(r"(TIME|TOD|HHMM|E8601TM)[\d.]*", re.I)
"""Formats of times of day."""

_WHOLE = ("int8", "int16", "int32")


def read(path: Path) -> OtherFile:
    """Reads a file; of SAS with the labels of the catalogue beside it of the same name, .sas7bcat."""
    suffix = path.suffix.lower()
    options = {} if suffix in _WITHOUT_USER_MISSING else {"user_missing": True}
    reader = partial(getattr(pyreadstat, _READERS[suffix]), str(path), output_format="dict", **options)
    _, about = reader(metadataonly=True)
    labels = _labels(about, _catalogue(path))
    kinds = {name: _kind(about, name, labels.get(name)) for name in about.column_names}
    shared = bytes_of_shared_texts(path) if suffix == ".dta" else 0
    unpacked, tables = Unpacked(path), []
    for block in _blocks(reader, len(kinds), shared):
        tables.append(_table(block, kinds, labels))
        unpacked.count_texts(tables[-1])
    return OtherFile(pa.concat_tables(tables), labels)


def bytes_of_shared_texts(path: Path) -> int:
    """Most bytes of the texts of a row of Stata that other rows may show too, and are in the file once."""
    with path.open("rb") as file:
        head = file.read(_LISTING_BYTES)
        found, places = _STATA.match(head), head.find(b"<map>")
        if found is None or places < 0:
            return 0
        order = "<" if found[2] == b"LSF" else ">"
        parts = struct.unpack_from(f"{order}{_PARTS_OF_STATA}Q", head, places + len("<map>"))
        file.seek(parts[_PLACE_OF_TYPES] + len("<variable_types>"))
        types = file.read(max(0, min(parts[_PLACE_OF_TYPES + 1] - file.tell(), _TYPES_BYTES)))
        columns = sum(one == _STRL for (one,) in struct.iter_unpack(f"{order}H", types[: len(types) & ~1]))
        about = struct.Struct(f"{order}{'IQBI' if int(found[1]) >= _WIDE_FROM else 'IIBI'}")
        file.seek(parts[_PLACE_OF_TEXTS] + len("<strls>"))
        longest = 0
        while file.read(3) == b"GSO" and len(read := file.read(about.size)) == about.size:
            length = int(about.unpack(read)[3])
            longest = max(longest, length)
            file.seek(length, os.SEEK_CUR)
    return int(columns * longest)


def _blocks(reader: Callable[..., Any], columns: int, shared: int) -> Iterator[Mapping[str, Sequence[Any]]]:
    """The rows in blocks, at least one; `shared` is that of texts which many rows show, in bytes."""
    rows, first = max(1, min(_CELLS_OF_PYTHON // max(1, columns), _TEXT_BYTES // max(1, shared))), 0
    while True:
        block, _ = reader(row_offset=first, row_limit=rows)
        read = len(next(iter(block.values()), ()))
        if read or not first:
            yield block
        if read < rows:
            return
        first += rows


def _catalogue(path: Path) -> Any:
    """The catalogue of labels beside a file of SAS; None if there is none."""
    beside = path.with_suffix(".sas7bcat")
    if path.suffix.lower() != ".sas7bdat" or not beside.is_file():
        return None
    return pyreadstat.read_sas7bcat(str(beside))[1]


def _labels(about: Any, catalogue: Any) -> dict[str, Labels]:
    """The dictionary of each column that has one."""
    sets = {} if catalogue is None else catalogue.value_labels
    texts = {name: sets[one] for name, one in about.variable_to_label.items() if one in sets}
    texts |= about.variable_value_labels
    found = {}
    for name in about.column_names:
        ranges = tuple((one["lo"], one["hi"]) for one in about.missing_ranges.get(name, ()))
        known = {_whole(code): str(text) for code, text in texts.get(name, {}).items()}
        # Of numbers, letters are Stata's and SAS's missing values.
        letters = about.readstat_variable_types.get(name) != "string"
        ranges += tuple((code, code) for code in known if letters and isinstance(code, str))
        measure = about.variable_measure.get(name) or "unknown"
        title = about.column_names_to_labels.get(name) or ""
        one = Labels(known, ranges, "" if measure == "unknown" else measure, title)
        if one != Labels():
            found[name] = one
    return found


def _kind(about: Any, name: str, labels: Labels | None) -> pa.DataType:
    """The type of a column, which the file declares."""
    declared, form = about.readstat_variable_types.get(name), about.original_variable_types.get(name) or ""
    if declared == "string" or _TIME.fullmatch(form) or (labels is not None and labels.categories):
        return pa.string()
    if _DATE.fullmatch(form):
        return pa.date32()
    if _TIMESTAMP.fullmatch(form):
        return pa.timestamp("us")
    return pa.int64() if declared in _WHOLE else pa.float64()


def _table(
    block: Mapping[str, Sequence[Any]], kinds: Mapping[str, pa.DataType], labels: Mapping[str, Labels]
) -> pa.Table:
    return pa.table(
        {name: _column(block[name], kind, labels.get(name, Labels())) for name, kind in kinds.items()}
    )


def _column(cells: Sequence[Any], kind: pa.DataType, labels: Labels) -> pa.Array:
    if labels.categories:
        known = {code: labels.categories.get(_whole(code)) for code in set(cells)}
        texts = {code: _code_text(code, labels) if text is None else text for code, text in known.items()}
        return pa.array([texts[cell] for cell in cells], kind)
    if labels.missing:
        missing = {cell for cell in set(cells) if cell is not None and labels.is_missing(_whole(cell))}
        cells = [None if cell in missing else cell for cell in cells]
    if pa.types.is_string(kind):
        return pa.array([None if cell in (None, "") else str(cell) for cell in cells], kind)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return pa.array([cell if isinstance(cell, (date, datetime)) else None for cell in cells], kind)
    # Letters of Stata and SAS are missing values, with a label or without.
    return pa.array([cell if isinstance(cell, (int, float)) else None for cell in cells], kind)


def _code_text(code: Any, labels: Labels) -> str | None:
    """What stands for a code without a label: its number, or nothing if it is one of a missing value."""
    if code is None or code == "" or labels.is_missing(_whole(code)):
        return None
    return f"{code:g}" if isinstance(code, float) else str(code)


def _whole(code: Any) -> Code:
    """A code, as a whole number if it is one: files hold 1.0 for 1."""
    found: Code = int(code) if isinstance(code, float) and code.is_integer() else code
    return found
