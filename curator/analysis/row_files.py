"""Files of any number of rows, written block by block, and complete or absent."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TypeVar

import pandas as pd
import pyarrow as pa

from ...common.errors import DataError
from ...common.files.labels import Labels
from ...common.files.writing import told_if_unwritable, whole_file, write_text
from ..results.csv_files import write_csv
from ..results.other_files import write_other_file
from ..results.outputs import warning_beside
from ..results.parquet_files import write_parquet
from ..results.table_format import TableFile, TableFormat
from .drawing import Drawing

Part = TypeVar("Part")

Advanced = Callable[[int], None]
"""Called with the number of rows that are written."""


_TYPED_ROWS = 1000
"""Rows from which the types of a file's columns are described."""


def check_absent(path: Path) -> None:
    """Refuses a file that exists, before any work is done.

    Raises:
        DataError: it exists, or its warning does; or its folder does not.
    """
    for taken in (path, warning_beside(path)):
        if taken.exists():
            raise DataError(f"{taken} already exists; choose another file or remove it")
    if not path.absolute().parent.is_dir():
        raise DataError(f"expected an existing folder for {path}, found none; make it")


def write_rows(
    drawing: Drawing,
    path: Path,
    table_file: TableFile,
    labels: tuple[str, ...],
    advanced: Advanced,
    codes: Mapping[str, Labels] | None = None,
) -> None:
    """Writes rows to a file; the file has its name only when it is complete.

    Args:
        drawing: the rows.
        path: the file, checked by `check_absent`.
        table_file: its format.
        labels: why the rows must not be released; they are written to a file beside it.
        advanced: called after every block.
        codes: what the file of the real table says of the codes of its columns.

    Raises:
        DataError: the file cannot be written.
    """
    with told_if_unwritable(path), whole_file(path) as draft:
        match table_file.table_format:
            case TableFormat.PARQUET:
                _write_parquet(drawing, draft, advanced)
            case TableFormat.CSV:
                _write_csv(drawing, draft, table_file.spreadsheet_safe, advanced)
            case other:
                _write_other(drawing, draft, other, codes or {}, advanced)
        if labels:
            write_text(warning_beside(path), "\n".join(labels) + "\n")
        if path.exists():
            raise DataError(f"{path} was made meanwhile; choose another file or remove it")


def _write_csv(drawing: Drawing, path: Path, safe: bool, advanced: Advanced) -> None:
    forms = drawing.decoder.forms
    lines = drawing.made(lambda block: (block.table.record_count, forms.lines(block, safe)))
    write_csv(path, forms.header(safe), _count_rows(lines, advanced))


def _write_parquet(drawing: Drawing, path: Path, advanced: Advanced) -> None:
    forms = drawing.decoder.forms
    made = drawing.made(lambda block: (forms.arrow(block), block.head(_TYPED_ROWS)))
    first, head = next(made)
    metadata = _metadata(first.schema, forms.frame(head))
    tables = ((len(table), table) for table in chain([first], (table for table, _ in made)))
    write_parquet(path, _count_rows(tables, advanced), metadata, store_schema=False)


def _write_other(
    drawing: Drawing, path: Path, kind: TableFormat, codes: Mapping[str, Labels], advanced: Advanced
) -> None:
    forms = drawing.decoder.forms
    tables = drawing.made(lambda block: (block.table.record_count, forms.typed_arrow(block)))
    write_other_file(path, _count_rows(tables, advanced), kind, forms.domain, codes)


def _count_rows(parts: Iterable[tuple[int, Part]], advanced: Advanced) -> Iterator[Part]:
    """Parts of a file, each with its number of rows; tells how many rows are written."""
    written = 0
    for rows, part in parts:
        yield part
        written += rows
        advanced(written)


def _metadata(schema: pa.Schema, frame: pd.DataFrame) -> dict[str, str]:
    """What tells readers the types of the columns; texts are written as dictionaries but read as texts.

    Args:
        schema: as the rows are written.
        frame: some of them with the types of their columns.
    """
    fields = [
        pa.field(one.name, one.type.value_type) if _is_dictionary_of_texts(one.type) else one
        for one in schema
    ]
    pandas = pa.Schema.from_pandas(frame, preserve_index=False).metadata[b"pandas"]
    read = pa.schema(fields, {b"pandas": pandas})
    return {
        "ARROW:schema": base64.b64encode(read.serialize().to_pybytes()).decode(),
        "pandas": pandas.decode(),
    }


def _is_dictionary_of_texts(kind: pa.DataType) -> bool:
    return pa.types.is_dictionary(kind) and not kind.ordered
