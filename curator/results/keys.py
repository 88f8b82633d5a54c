"""Keys that bind tables together."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...common.data.values import text_of


def keys_as_texts(column: pd.Series) -> pd.Series:
    """The cells of a key, comparable between tables whatever their types; missing ones are None.

    What a cell becomes depends on this cell alone: a whole number is the same with and without a point.
    """
    if pd.api.types.is_object_dtype(column.dtype):
        return pd.Series([_text(cell) for cell in column.tolist()], index=column.index, dtype=object)
    # Of one kind, so that only equal cells are equal.
    places, different = pd.factorize(column)
    texts = np.array([*map(_text, different.tolist()), None], dtype=object)
    return pd.Series(texts[places], index=column.index, dtype=object)


def _text(cell: object) -> str | None:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    text = str(cell) if isinstance(cell, bool) else text_of(cell).strip()
    return text or None
