"""Synthetic tables as files of SPSS, Stata and SAS, with the codes and labels of the real table's file."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat

from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.domain import Domain
from ...common.data.values import text_of
from ...common.files.labels import Code, Labels
from .table_format import TableFormat

_MOST_CODES = 3
"""Codes of missing values that a column of SPSS may have."""


@dataclass(frozen=True, eq=False)
class _Written:
    """A column as it is written.

    Attributes:
        cells: shape (N,), numbers or objects.
        texts: code -> label.
        missing: codes that stand for a missing value; of Stata letters.
    """

    cells: Any
    texts: Mapping[Code, str] = field(default_factory=dict)
    missing: Sequence[Any] = ()


def write_survey(
    path: Path,
    rows: pa.Table,
    names: Mapping[str, str],
    table_format: TableFormat,
    domain: Domain | None,
    labels: Mapping[str, Labels],
) -> None:
    """Writes a table; of SAS with the labels in place of codes, as only SAS writes a catalogue of labels.

    Args:
        path: the file.
        rows: the table, as of `RowForms.typed_arrow`.
        names: those that the three programs take, by the names of the columns.
        table_format: sav, dta or xpt.
        domain: of its columns that have one.
        labels: dictionary of the columns that have one.
    """
    written = {
        names[name]: _column(domain, name, rows[name], labels.get(name, Labels()), table_format)
        for name in rows.column_names
    }
    frame = pd.DataFrame({name: one.cells for name, one in written.items()}, copy=False)
    titles = {names[name]: one.title for name, one in labels.items() if name in names and one.title}
    titles = {new: old for old, new in names.items() if new != old} | titles
    texts = {name: dict(one.texts) for name, one in written.items() if one.texts}
    missing = {name: list(one.missing) for name, one in written.items() if one.missing}
    match table_format:
        case TableFormat.SAV:
            measures = {
                names[name]: one.measure for name, one in labels.items() if name in names and one.measure
            }
            pyreadstat.write_sav(
                frame,
                str(path),
                column_labels=titles,
                variable_value_labels=texts,
                missing_ranges=missing,
                variable_measure=measures,
            )
        case TableFormat.DTA:
            pyreadstat.write_dta(
                frame,
                str(path),
                column_labels=titles,
                variable_value_labels=texts,
                missing_user_values=missing,
            )
        case _:
            pyreadstat.write_xport(frame, str(path), column_labels=titles, table_name="SYNTH")


def _column(
    domain: Domain | None, name: str, cells: pa.ChunkedArray, labels: Labels, table_format: TableFormat
) -> _Written:
    attribute = None if domain is None else domain.description_of(name)
    kind, coded = cells.type, table_format is not TableFormat.XPT
    if pa.types.is_boolean(kind):
        words = ("False", "True")
        if isinstance(attribute, BooleanAttribute):
            words = (text_of(attribute.false[0]), text_of(attribute.true[0]))
            if coded:
                return _Written(_numbers(cells), dict(enumerate(words)))
        return _Written(_objects("" if cell is None else words[cell] for cell in cells.to_pylist()))
    if isinstance(attribute, CategoricalAttribute) and labels.categories and coded:
        return _code_labels(attribute, cells.to_pylist(), labels, table_format)
    if pa.types.is_date(kind):
        return _Written(_objects(cells.to_pylist()))
    if pa.types.is_timestamp(kind):
        times = cells.cast(pa.timestamp("us", kind.tz)).to_pandas()
        return _Written((times.dt.tz_localize(None) if kind.tz else times).to_numpy())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        if table_format is not TableFormat.SAV:
            return _Written(_numbers(cells))
        known: dict[Code, str] = {
            code: text for code, text in labels.texts.items() if not isinstance(code, str)
        }
        return _Written(_beside_missing(_numbers(cells), labels), known, _ranges(labels))
    return _Written(_objects("" if cell is None else str(cell) for cell in cells.to_pylist()))


def _code_labels(
    attribute: CategoricalAttribute, cells: Sequence[Any], labels: Labels, table_format: TableFormat
) -> _Written:
    """A column of labels as its codes; `other` has the next one, if no label is called so."""
    if table_format is TableFormat.DTA:
        labels = _of_stata(labels)
    strings = all(isinstance(code, str) for code in labels.categories)
    codes = _codes(labels, table_format, strings)
    texts = {text: codes[code] for code, text in labels.categories.items()}
    if attribute.other is not None and attribute.other not in texts:
        texts[attribute.other] = attribute.other if strings else _next(texts.values())
    missing = [codes[code] for code in labels.categories if labels.is_missing(code)]
    written = [texts.get(text) for text in cells]
    if strings:
        column = _objects("" if code is None else code for code in written)
    elif table_format is TableFormat.DTA and missing:
        column = _objects(written)
    else:
        column = np.array([np.nan if code is None else float(code) for code in written])
    if table_format is TableFormat.SAV and not strings:
        ranges = [low for low, _ in labels.missing]
        missing = _ranges(labels) if not any(isinstance(low, str) for low in ranges) else _as_ranges(missing)
    # Codes between the labels of a scale have none.
    named = {codes[code]: text for code, text in labels.texts.items()}
    more = {code: text for text, code in texts.items() if text == attribute.other and code not in named}
    return _Written(column, named | more, missing)


def _of_stata(labels: Labels) -> Labels:
    """The same labels; Stata has none for texts, whose labels get the numbers from 1 on."""
    if not all(isinstance(code, str) for code in labels.categories):
        return labels
    numbers: dict[Code, Code] = {code: number for number, code in enumerate(labels.texts, 1)}
    missing = tuple((number, number) for code, number in numbers.items() if labels.is_missing(code))
    return Labels({numbers[code]: text for code, text in labels.texts.items()}, missing)


def _codes(labels: Labels, table_format: TableFormat, strings: bool) -> dict[Code, Code]:
    """The code that is written for each: missing values of Stata are letters, and those of SPSS numbers."""
    found: dict[Code, Code] = {}
    numbers = [code for code in labels.categories if not isinstance(code, str)]
    letters = iter(string.ascii_lowercase)
    for code in labels.categories:
        if strings or not labels.is_missing(code):
            found[code] = code
        elif table_format is TableFormat.DTA:
            found[code] = code if isinstance(code, str) else next(letters)
        else:
            found[code] = _next([*numbers, *found.values()]) if isinstance(code, str) else code
    return found


def _next(codes: Iterable[Code]) -> int:
    """The whole number after all codes that are numbers."""
    return int(max(float(code) for code in codes if not isinstance(code, str))) + 1


def _ranges(labels: Labels) -> list[Any]:
    """The missing values of numbers, as SPSS declares them: single codes, and ranges."""
    numbers = [(low, high) for low, high in labels.missing if not isinstance(low, str)]
    return [low if low == high else {"lo": low, "hi": high} for low, high in numbers]


def _beside_missing(numbers: Any, labels: Labels) -> Any:
    """Numbers with the one after each range of missing values in place of those within: they are none."""
    for low, high in labels.missing:
        if not isinstance(low, str) and not isinstance(high, str):
            numbers = np.where((numbers >= low) & (numbers <= high), np.floor(high) + 1, numbers)
    return numbers


def _as_ranges(codes: Sequence[Any]) -> list[Any]:
    """Codes that follow each other, of which SPSS takes no more than three by themselves."""
    return list(codes) if len(codes) <= _MOST_CODES else [{"lo": min(codes), "hi": max(codes)}]


def _objects(cells: Iterable[Any]) -> Any:
    found = list(cells)
    made = np.empty(len(found), dtype=object)
    made[:] = found
    return made


def _numbers(cells: pa.ChunkedArray) -> Any:
    """Numbers, with NaN for a missing value."""
    whole = not cells.null_count and not pa.types.is_floating(cells.type)
    return cells.cast(pa.int64() if whole else pa.float64()).to_numpy()
