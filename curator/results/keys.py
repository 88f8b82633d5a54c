"""Keys that bind tables together, and columns whose categories are keys of a public table."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.values import text_of
from ...common.errors import DataError
from ...common.forms.nearest import hint

_WITH_A_POINT = re.compile(r"^(-?[0-9]+)\.0+$")
"""See `as_key`, which reads the same in SQL."""


def keys_as_texts(column: pd.Series) -> pd.Series:
    """The cells of a key, comparable between tables whatever their types; missing ones are None.

    What a cell becomes depends on this cell alone: a whole number is the same with and without a point, as
    a text too. Missing cells make numbers with points of a column of whole ones, and files of texts of them.
    """
    if pd.api.types.is_object_dtype(column.dtype):
        return pd.Series([_text(cell) for cell in column.tolist()], index=column.index, dtype=object)
    # Of one kind, so that only equal cells are equal.
    places, different = pd.factorize(column)
    texts = np.array([*map(_text, different.tolist()), None], dtype=object)
    return pd.Series(texts[places], index=column.index, dtype=object)


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
    """A column that refers to a public table as its domain describes it: by some of the keys, and a blank.

    Args:
        where: of the domain, for messages.
        attribute: the column in the domain.
        reference: all keys as its categories.

    Raises:
        DataError: it has a category that is no key.
    """
    keys = {*keys_as_texts(pd.Series(reference.categories, dtype=object))}
    found = "other values"
    if (
        isinstance(attribute, CategoricalAttribute)
        and attribute.other is None
        and not (attribute.prefixes or attribute.nearest)
    ):
        listed = keys_as_texts(pd.Series(attribute.categories, dtype=object))
        # Rows with a blank refer to nothing.
        other = ~listed.isin(keys) & listed.notna()
        if not other.any():
            return attribute
        found = repr(attribute.categories[int(other.argmax())])
    raise DataError(
        f"{where}: expected keys of a public table as the categories of {attribute.name!r}, and no others, "
        f"found {found} in the domain; fix it, or the table"
    )


def _text(cell: object) -> str | None:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    text = str(cell) if isinstance(cell, bool) else text_of(cell).strip()
    return _WITH_A_POINT.sub(r"\1", text) or None
