"""Keys that bind tables together, and columns whose categories are keys of a public table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

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


BETWEEN = "\x1f"
"""What is between the parts of a key of several columns."""


class Joined(NamedTuple):
    """A column of keys that is made of several.

    Attributes:
        table: that holds it.
        made: its name, that of one of the columns or a new one.
        columns: of which it is made.
    """

    table: str
    made: str
    columns: Sequence[str]


def with_joined_keys(frames: Mapping[str, pd.DataFrame], keys: Iterable[Joined]) -> dict[str, pd.DataFrame]:
    """Tables with the keys that are made of several columns, as texts; missing where a part is.

    Args:
        frames: by name.
        keys: those that are made.

    Raises:
        DataError: a table lacks such a column.
    """
    found = dict(frames)
    for name, made, columns in keys:
        held = [*map(str, frames[name].columns)]
        if lacking := [column for column in columns if column not in held]:
            raise DataError(
                f"{name}: expected the column {lacking[0]!r}, which holds a key with others, found none"
                f"{hint(lacking[0], held)}; fix the relations"
            )
        found[name] = found[name].assign(**{made: _one_key(frames[name], columns)})
    return found


def _one_key(rows: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """The cells of several columns as those of one key."""
    parts = [keys_as_texts(rows[column]) for column in columns]
    lacking = np.logical_or.reduce([part.isna() for part in parts])
    found = parts[0].where(~lacking, "")
    for part in parts[1:]:
        found = found + BETWEEN + part.where(~lacking, "")
    return found.astype(object).where(~lacking, None)


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
