"""In which order rows of one parent are."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.values import read_numbers, text_of
from ...common.errors import DataError

_NANOSECONDS = re.compile(r"([.,][0-9]{6})[0-9]+")
"""Digits beyond microseconds: pandas reads a whole column with the digits of one cell, and then few years."""

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
    keys, present = _read(rows[order])
    if not present.all():
        raise DataError(
            f"{name}: expected a number, date or timestamp of the order {order!r} in every row, found a row "
            "without; leave such rows out by drop_incomplete, or order by another column"
        )
    return np.lexsort((*keys, parent))


def has_order(column: pd.Series) -> NDArray[np.bool_]:
    """Whether each row has a value of the order, shape (N,)."""
    return _read(column)[1]


def holds_numbers(column: pd.Series) -> bool:
    """Whether the column of an order holds numbers, and no dates."""
    if _is_written(column):
        return bool(np.isfinite(_numbers_in(_texts(column))).all())
    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def _read(column: pd.Series) -> tuple[tuple[NDArray[Any], ...], NDArray[np.bool_]]:
    """What rows are in order by, as for `lexsort`, and whether each row has it.

    A written cell is a number, or else a date, so that no cell decides how others are read.
    """
    if not _is_written(column):
        return (column.to_numpy(),), column.notna().to_numpy()
    texts = _texts(column)
    numbers = _numbers_in(texts)
    dates = (_NANOSECONDS.sub(r"\1", text) for text in texts)
    others = [text if np.isnan(number) else "" for text, number in zip(dates, numbers, strict=True)]
    times = pd.to_datetime(others, errors="coerce", format="mixed", utc=True).tz_localize(None)
    known = times.to_numpy(dtype="datetime64[us]")
    return (known, numbers), ~(np.isnan(numbers) & np.isnat(known))


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
