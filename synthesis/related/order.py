"""In which order rows of one parent are: as the domain reads it, and without one as it may be meant."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.dates import TimeAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Domain
from ...common.data.related.steps import orders
from ...common.data.values import blank_texts, read_numbers, text_of
from ...common.errors import DataError
from ...party.drafting.date_formats import looks_like_a_date

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
    known: Domain | None = None,
) -> NDArray[np.intp]:
    """Places of the rows, those of one parent beside each other in their order, or in a random one.

    Args:
        name: of the table.
        rows: the table.
        parent: of each row, shape (N,).
        order: of the rows; None if it means nothing.
        rng: puts rows without an order into one.
        known: what the columns hold, if it is known.

    Raises:
        DataError: a row has no value of the order.
    """
    if order is None:
        return np.lexsort((rng.permutation(len(rows)), parent))
    if order is True:
        return np.argsort(parent, kind="stable")
    keys, present = _read(rows[order], _attribute(order, known))
    if not present.all():
        raise DataError(
            f"{name}: expected a number, date or timestamp of the order {order!r} in every row, found a row "
            "without; leave such rows out by drop_incomplete, or order by another column"
        )
    return np.lexsort((*keys, parent))


def in_counted_order(rows: pd.DataFrame, counts: str) -> pd.DataFrame:
    """Rows in the order of the column that counts those of each parent, theirs at equal times, too.

    Raises:
        DataError: it is a column of another type than numbers or texts.
    """
    column = rows[counts]
    written = _is_written(column)
    if not written and not pd.api.types.is_numeric_dtype(column.dtype):
        raise DataError(
            f"counts: expected a column of whole numbers, got {column.dtype} in {counts!r}; leave it out"
        )
    numbers = _numbers_in(_texts(column)) if written else column.to_numpy(np.float64, na_value=np.nan)
    return rows.iloc[np.argsort(numbers, kind="stable")].reset_index(drop=True)


def has_order(rows: pd.DataFrame, order: str, known: Domain | None = None) -> NDArray[np.bool_]:
    """Whether each row has a value of the order, shape (N,); see `places_in_order`."""
    return _read(rows[order], _attribute(order, known))[1]


def holds_numbers(column: pd.Series, order: str, known: Domain | None = None) -> bool:
    """Whether the column of an order holds numbers, by its domain or its type: no cell decides it."""
    attribute = _attribute(order, known)
    if attribute is not None:
        return isinstance(attribute, NumericAttribute)
    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def _attribute(order: str, known: Domain | None) -> Attribute | None:
    """What the column of an order holds; None where nobody knows, or it is none of an order."""
    return known[order] if known is not None and order in known.names and orders(known[order]) else None


def _read(
    column: pd.Series, attribute: Attribute | None
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.bool_]]:
    """What rows are in order by, as for `lexsort`, and whether each row has it.

    Where nothing is known of the column, a written cell is a number, or else a date, so that no cell decides
    how others are read; of dates that may be meant in several ways one is taken until the column is learned.
    """
    if isinstance(attribute, TimeAttribute):
        cells = blank_texts(column.to_numpy(), attribute.missing)
        times, unread = attribute.moments.read(attribute.name, cells)
        return (times,), ~(np.isnat(times) | unread)
    if isinstance(attribute, NumericAttribute):
        numbers = attribute.numbers(column.to_numpy())
        return (numbers,), np.isfinite(numbers)
    if not _is_written(column):
        return (column.to_numpy(),), column.notna().to_numpy()
    texts = _texts(column)
    numbers = _numbers_in(texts)
    dates = (_NANOSECONDS.sub(r"\1", text) for text in texts)
    others = [text if np.isnan(number) else "" for text, number in zip(dates, numbers, strict=True)]
    times = pd.to_datetime(others, errors="coerce", format="mixed", utc=True).tz_localize(None)
    known = times.to_numpy(dtype="datetime64[us]")
    dated = [looks_like_a_date(text) for text in others]
    return (known, numbers), ~(np.isnan(numbers) & np.isnat(known)) | np.array(dated, dtype=np.bool_)


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
