"""In which order rows of one parent are."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.values import read_numbers, text_of
from ...common.errors import DataError

Ordered = str | Literal[True]
"""A column by which rows of a person are in order, or True for the order of the table."""


def places_in_order(
    name: str,
    rows: pd.DataFrame,
    parent: NDArray[np.int64],
    order: Ordered | None,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Places of the rows, those of one parent beside each other in their order, or in a random one."""
    if order is None:
        return np.lexsort((rng.permutation(len(rows)), parent))
    if order is True:
        return np.argsort(parent, kind="stable")
    values = rows[order]
    written = _is_written(values)
    texts = _texts(values) if written else []
    if "" in texts or (not written and values.isna().any()):
        raise DataError(
            f"{name}: expected a value of the order {order!r} in every row, found a row without; leave such "
            "rows out by drop_incomplete, or order by another column"
        )
    if written:
        numbers = _numbers_in(texts)
        none = np.isnan(numbers)
        # Not what most cells are: a single one may not decide how others are read.
        mixed = none.any() and not none.all()
        values = pd.Series(numbers)
        if none.all():
            values = pd.Series(pd.to_datetime(texts, errors="coerce", format="mixed", utc=True))
        if mixed or values.isna().any():
            raise DataError(
                f"{name}: expected numbers, dates or timestamps in the order {order!r}, found others; order "
                "by another column"
            )
    return np.lexsort((values.to_numpy(), parent))


def has_order(column: pd.Series) -> NDArray[np.bool_]:
    """Whether each row has a value of the order, shape (N,)."""
    if _is_written(column):
        return np.array([bool(text) for text in _texts(column)], dtype=bool)
    found: NDArray[np.bool_] = column.notna().to_numpy()
    return found


def holds_numbers(column: pd.Series) -> bool:
    """Whether the column of an order holds numbers, and no dates."""
    if _is_written(column):
        return bool(np.isfinite(_numbers_in(_texts(column))).all())
    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def _is_written(column: pd.Series) -> bool:
    """Whether cells are texts, or may be."""
    kind = column.dtype
    held = (pd.api.types.is_object_dtype, pd.api.types.is_string_dtype)
    return isinstance(kind, pd.CategoricalDtype) or any(is_of(kind) for is_of in held)


def _texts(column: pd.Series) -> list[str]:
    """The cells as texts that UTF-8 can hold; "" for a missing value."""
    return [text_of(cell).strip().encode(errors="replace").decode() for cell in column.tolist()]


def _numbers_in(texts: list[str]) -> NDArray[np.float64]:
    """The numbers that texts are, NaN where one is none."""
    return read_numbers("order", np.array(texts, dtype=object))[0]
