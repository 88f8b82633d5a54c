"""The synthetic tables of a release of people as files, in each format."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ...common.bounded import json_of, read_bytes
from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.dates import bins_of
from ...common.data.attributes.unmodelled import WHOLE_NUMBERS, Unmodelled
from ...common.data.domain import Domain
from ...common.errors import DataError
from ...common.files.writing import told_if_unwritable, whole_file, write_text
from ...common.showing.formulas import as_text, is_formula
from ..results.columns.typed import typed_values
from ..results.csv_files import join_cells, write_csv
from ..results.other_files import read_other_rows, read_public, write_other_file
from ..results.outputs import PEOPLE, formula_note, warning_beside
from ..results.parquet_files import read_parquet
from ..results.raw_frames import values_in
from ..results.row_forms import header_of, text_cells
from ..results.row_values import DECODED_ROWS
from ..results.spreadsheets import columns_like_formulas, without_apostrophes
from ..results.table_format import TableFile, TableFormat
from .files import file_name
from .kin import Kin
from .shape import Family, number_name
from .tables import released_domain, shown_as_real

_FORMAT = "dpmosaic people 1"
_SAFE = "spreadsheet_safe"
_PUBLIC = "public"
_NO_FRAMES: Mapping[str, pd.DataFrame] = MappingProxyType({})


def write_table(path: Path, rows: pd.DataFrame, table_file: TableFile, domain: Domain | None) -> None:
    """Writes a table.

    Args:
        path: the file.
        rows: the table.
        table_file: how.
        domain: of its columns but keys; None if it has no others.

    Raises:
        DataError: the columns do not fit into such a file.
        MissingExtraError: the packages that write it are not installed.
    """
    match table_file.table_format:
        case TableFormat.CSV:
            safe = table_file.spreadsheet_safe
            write_csv(path, header_of([*map(str, rows.columns)], safe), lines_of(rows, domain, safe))
        case TableFormat.PARQUET:
            rows.to_parquet(path, index=False)
        case other:
            tables = [pa.Table.from_pandas(rows, preserve_index=False)]
            write_other_file(path, tables, other, domain, {})


def write_tables(
    folder: Path,
    family: Family,
    frames: Mapping[str, pd.DataFrame],
    table_file: TableFile,
    labels: Sequence[str] = (),
) -> None:
    """Writes tables into a new folder; each file has its name only when it is complete.

    Args:
        folder: it is made.
        family: what binds them.
        frames: the tables by name, with those that everybody may see.
        table_file: how they are written.
        labels: why they must not be released; they are written to a file beside the folder.

    Raises:
        DataError: they cannot be written, or the folder was made meanwhile.
    """
    with told_if_unwritable(folder):
        if labels:
            write_text(warning_beside(folder), "\n".join(labels) + "\n")
        folder.mkdir()
        for name, rows in frames.items():
            with whole_file(folder / f"{file_name(name)}.{table_file.table_format}") as draft:
                write_table(draft, rows, table_file, domain_written(family, name))


def domain_written(family: Family, table: str) -> Domain | None:
    """What is known of a table when it is written: nothing of one that everybody may see."""
    return released_domain(family, family[table]) if table in family else None


@dataclass(frozen=True)
class Description:
    """What the folder of a release says of its tables.

    Attributes:
        family: the synthetic tables.
        spreadsheet_safe: whether files have apostrophes before texts like formulas.
        public: names and columns of the tables that everybody may see.
    """

    family: Family
    spreadsheet_safe: bool = False
    public: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The description as JSON values."""
        form: dict[str, Any] = {"format": _FORMAT, "tables": [one.to_json() for one in self.family.tables]}
        form |= {_SAFE: True} if self.spreadsheet_safe else {}
        return form | (
            {_PUBLIC: {name: [*held] for name, held in self.public.items()}} if self.public else {}
        )

    @classmethod
    def read(cls, folder: Path) -> Description:
        """What a folder says.

        Raises:
            DataError: it holds no release of people, or its description is damaged.
        """
        try:
            form = dict(json_of(read_bytes(folder / PEOPLE)))
            family = Family(tuple(map(Kin.from_json, form["tables"])))
            public = {str(name): tuple(map(str, held)) for name, held in form.get(_PUBLIC, {}).items()}
            files = [file_name(name).casefold() for name in (*(one.name for one in family.tables), *public)]
            consistent = (_is_consistent(family, place) for place in range(max(1, len(family.tables))))
            joined = all({*one.columns} <= {*family[one.table].columns} for one in family.joined_keys())
            if all(consistent) and joined and len({*files}) == len(files):
                return cls(family, bool(form.get(_SAFE)), public)
        except (AttributeError, OSError, LookupError, TypeError, ValueError, DataError):
            pass
        raise not_described(folder)


def columns_of(frames: Mapping[str, pd.DataFrame]) -> dict[str, tuple[str, ...]]:
    """The names of the columns of each table."""
    return {name: tuple(map(str, rows)) for name, rows in frames.items()}


def not_described(folder: Path) -> DataError:
    """The error that a folder describes no tables, or others than those in it."""
    return DataError(f"{folder / PEOPLE}: expected a description of its tables, found another; restore it")


def _is_consistent(family: Family, place: int) -> bool:
    """Whether a table belongs to one before it, the first to none, and speaks of columns that there are."""
    table, before = family.tables[place], [one.name for one in family.tables[:place]]
    own = {one.name: one.size for one in family.own(table.name)}
    keys = {one for one in (table.key, table.foreign, *table.counts, *table.repeats) if one}
    consistent = (
        (not table.columns or keys <= {*table.columns})
        and all(len(groups) == own[name] for name, groups in table.groups.items())
        and {above for above, _ in table.repeats.values()} <= {*before}
    )
    if not place:
        return consistent and not (table.parent or table.foreign)
    if table.parent not in before or not table.foreign:
        return False
    above = {one.name: one for one in family.own(table.parent)}
    number = bins_of(above[number_name(table.name)])
    shown = {one.name for one in family.shown_attributes(table.parent)}
    return consistent and number is not None and {*table.within, table.near} <= {"", *shown}


def lines_of(rows: pd.DataFrame, domain: Domain | None, spreadsheet_safe: bool) -> Iterator[memoryview]:
    """The lines of a table's CSV, spelled as those of one table are.

    Args:
        rows: the table.
        domain: of its columns but keys; None if it has no others.
        spreadsheet_safe: see `TableFile`.
    """
    for first in range(0, len(rows), DECODED_ROWS):
        block = rows.iloc[first : first + DECODED_ROWS]
        parts = []
        for name in map(str, block.columns):
            values = {} if domain is None else values_in(domain, block[[name]])
            cells = values[name] if name in values else _cells_of(block[name])
            parts.append(text_cells(domain, name, cells, spreadsheet_safe))
        yield join_cells(parts, alone=len(parts) == 1)


def _cells_of(cells: pd.Series) -> NDArray[Any]:
    """The cells of a column that no domain describes: times are no numbers, and all missing ones None."""
    plain = isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iufb"
    found: NDArray[Any] = (cells if plain else cells.astype(object).where(cells.notna(), None)).to_numpy()
    return found


def formula_warning(
    family: Family, table_file: TableFile, public: Mapping[str, pd.DataFrame] = _NO_FRAMES
) -> str | None:
    """The warning about columns that a spreadsheet would run as formulas; None without any.

    Args:
        family: the tables.
        table_file: how they are written.
        public: the tables that everybody may see, if they are written too.
    """
    if table_file.table_format is not TableFormat.CSV or table_file.spreadsheet_safe:
        return None
    names = [
        f"{table.name}.{name}"
        for table in family.tables
        if table.columns
        for name in columns_like_formulas(_columns(family, table))
    ]
    for table, rows in public.items():
        names += [f"{table}.{name}" for name in rows if _has_formulas(str(name), rows[name])]
    return formula_note(names, "use --spreadsheet-safe to write an apostrophe before it")


def _has_formulas(name: str, cells: pd.Series) -> bool:
    """Whether the name or a cell of a public column begins like a formula."""
    return is_formula(name) or any(is_formula(cell) for cell in cells.tolist() if isinstance(cell, str))


def added_to(table_file: TableFile, safe_before: bool | None) -> TableFile:
    """The file of one of several releases, to which later ones add rows.

    Args:
        table_file: as it is asked for.
        safe_before: whether the release before was spreadsheet-safe, which this one is too;
            None of a first one.

    Raises:
        DataError: it is no CSV, or would have apostrophes where the rows before have none.
    """
    if table_file.table_format is not TableFormat.CSV:
        raise DataError(
            "format: expected csv of one of several releases, whose rows are added to a file, got "
            "another; save it as csv"
        )
    if safe_before is False and table_file.spreadsheet_safe:
        raise DataError(
            "--spreadsheet-safe: expected the choice of the release that is continued, whose rows have no "
            "apostrophes, got another; leave it out"
        )
    return table_file if safe_before is None else replace(table_file, spreadsheet_safe=safe_before)


def read_table(folder: Path, family: Family, table: Kin, spreadsheet_safe: bool = False) -> pd.DataFrame:
    """A table as its file holds it, with the types of its columns.

    Args:
        folder: of the tables.
        family: all tables.
        table: the one that is read.
        spreadsheet_safe: whether it was written so, if it is a CSV.

    Raises:
        DataError: there is no such file, or it is another one.
    """
    path = _file_of(folder, file_name(table.name))
    with _told_if_another(path):
        rows = _read(path, family, table, spreadsheet_safe)
        if table.key in table.columns and not rows[table.key].is_unique:
            raise ValueError("a key stands twice")
        return rows


@contextlib.contextmanager
def _told_if_another(path: Path) -> Iterator[None]:
    """Says in one sentence that a file is not the table of a release, whatever is wrong with it."""
    try:
        with np.errstate(invalid="raise", over="raise"):
            yield
    except DataError:
        raise
    # Whatever the content of a table makes pandas or pyarrow raise.
    except Exception:
        raise DataError(f"{path}: expected a table of this release, found another; restore it") from None


def _read(path: Path, family: Family, table: Kin, spreadsheet_safe: bool) -> pd.DataFrame:
    if path.suffix == f".{TableFormat.PARQUET}":
        return read_parquet(path)
    if path.suffix == f".{TableFormat.CSV}":
        rows = pd.read_csv(path, dtype=object, keep_default_na=False)
        if spreadsheet_safe:
            rows = without_apostrophes(rows)
    else:
        rows = read_other_rows(path, table.columns)
    domain = released_domain(family, table)
    wanted = {*family.key_columns(table.name), *(() if domain is None else domain.columns)}
    if not wanted <= {*map(str, rows.columns)}:
        raise ValueError("columns are missing")
    parts: dict[str, Any] = {}
    if domain is not None:
        parts |= dict(typed_values(domain, values_in(domain, rows), domain.columns).items())
    for key, names in family.key_columns(table.name).items():
        parts[key] = rows[key].astype("int64" if names.pattern == WHOLE_NUMBERS else "str")
    return shown_as_real(family, table, parts)


def read_public_of(
    folder: Path, name: str, columns: Sequence[str], spreadsheet_safe: bool = False
) -> pd.DataFrame:
    """A table that everybody may see, as the folder of the tables holds it.

    Args:
        folder: of the tables.
        name: of the table.
        columns: their names.
        spreadsheet_safe: see `read_table`.

    Raises:
        DataError: there is no such file, or it is another one.
    """
    path = _file_of(folder, file_name(name))
    with _told_if_another(path):
        rows = read_public(path, columns)
        if [*map(str, rows.columns)] != [as_text(one) if spreadsheet_safe else one for one in columns]:
            raise ValueError("it has other columns")
        return without_apostrophes(rows).set_axis([*columns], axis=1) if spreadsheet_safe else rows


def _columns(family: Family, table: Kin) -> tuple[Attribute | Unmodelled, ...]:
    """The columns of a table, those of keys among them."""
    domain = released_domain(family, table)
    own = () if domain is None else (*domain.unmodelled, *domain.attributes)
    return (*family.key_columns(table.name).values(), *own)


def _file_of(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.{kind}" for kind in TableFormat):
        if path.is_file():
            return path
    raise DataError(f"{folder / name}: expected a table in one of the known formats, found none; restore it")
