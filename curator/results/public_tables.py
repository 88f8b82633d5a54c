"""Tables that everybody may see: read as they are; the categories of other columns are their keys."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.errors import DataError, MosaicError
from ...common.forms.nearest import hint
from .keys import keys_as_texts
from .other_files import read_other_rows
from .table_format import TableFormat

_OTHER_THAN_NUMBERS = r"\s*[+-]?0[0-9]"
"""How texts begin that would lose something as numbers, such as 007."""


def with_types(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose columns of texts are of numbers or truths where all of these are written so."""
    found = {}
    for name, cells in rows.items():
        texts = [cell for cell in cells[cells.notna()].tolist() if isinstance(cell, str)]
        if len(texts) == cells.notna().sum() and not any(re.match(_OTHER_THAN_NUMBERS, one) for one in texts):
            written = io.StringIO(cells.astype(object).to_csv(index=False, header=["cell"]))
            options = {"keep_default_na": False, "na_values": [""], "skip_blank_lines": False}
            found[str(name)] = pd.read_csv(written, **options)["cell"].set_axis(cells.index)
    return rows.assign(**found)


def read_public(path: Path, columns: Sequence[str] = ()) -> pd.DataFrame:
    """A table that everybody may see, as a file in one of the formats of releases holds it.

    Args:
        path: the file.
        columns: their names, if the file may have others for them.

    Raises:
        DataError: there is no such file, or it is another one.
    """
    try:
        if path.suffix == f".{TableFormat.PARQUET}":
            return pd.read_parquet(path)
        if path.suffix == f".{TableFormat.CSV}":
            return with_types(pd.read_csv(path, dtype=object, keep_default_na=False, na_values=[""]))
        if path.is_file() and path.suffix[1:] in [*TableFormat]:
            rows = read_other_rows(path, columns)
            # Cells of a workbook are texts.
            return with_types(rows.astype(object)) if path.suffix == f".{TableFormat.XLSX}" else rows
    except MosaicError:
        raise
    except (OSError, ValueError, pd.errors.ParserError):
        pass
    kinds = ", ".join(f".{kind}" for kind in TableFormat)
    raise DataError(
        f"{path}: expected a public table in a file of {kinds}, found none; fix the path or the file"
    )


def check_keys(name: str, key: str, rows: pd.DataFrame) -> None:
    """Refuses a public table whose rows its key does not name.

    Args:
        name: of the table.
        key: its column of keys.
        rows: of the table.

    Raises:
        DataError: there is no such column, or a key is missing or stands twice.
    """
    if key not in rows.columns:
        raise DataError(
            f"{name}: expected the column {key!r}, found none{hint(key, map(str, rows.columns))}; fix the "
            "relations"
        )
    keys = keys_as_texts(rows[key])
    if keys.isna().any() or keys.duplicated().any():
        raise DataError(
            f"{name}: expected a key {key!r} in every row of a public table, and each once, found another; "
            "make it a table of one row a key"
        )


def reference_to(column: str, table: str, key: str, rows: pd.DataFrame) -> CategoricalAttribute:
    """A column that holds keys of a public table, which are its categories.

    Raises:
        DataError: see `check_keys`; or the table has fewer than two rows.
    """
    check_keys(table, key, rows)
    cells = rows[key].tolist()
    whole = all(isinstance(cell, float) and cell.is_integer() for cell in cells)
    return CategoricalAttribute(column, tuple(map(int, cells) if whole else cells))


def check_listed(where: str, attribute: Attribute, reference: CategoricalAttribute) -> CategoricalAttribute:
    """A column that refers to a public table as its domain describes it: by some of the keys.

    Args:
        where: of the domain, for messages.
        attribute: the column in the domain.
        reference: all keys as its categories.

    Raises:
        DataError: it has a category that is no key.
    """
    keys = {*keys_as_texts(pd.Series(reference.categories, dtype=object))}
    found = "other values"
    if isinstance(attribute, CategoricalAttribute) and attribute.other is None and not attribute.prefixes:
        listed = keys_as_texts(pd.Series(attribute.categories, dtype=object))
        if listed.isin(keys).all():
            return attribute
        found = repr(attribute.categories[int((~listed.isin(keys)).argmax())])
    raise DataError(
        f"{where}: expected keys of a public table as the categories of {attribute.name!r}, and no others, "
        f"found {found} in the domain; fix it, or the table"
    )
