"""Which rows of a synthetic table an estimate is about, and their values as numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....common.data.boolean import BooleanAttribute
from ....common.data.categorical import CategoricalAttribute, CodedAttribute
from ....common.data.dates import TimeAttribute
from ....common.data.domain import Domain
from ....common.data.numeric import NumericAttribute
from ....common.data.values import text_of
from ....common.errors import DataError
from ..published import Published

Where = Mapping[str, Any]
"""Column -> a value, a collection of values, a closed range (low, high), or None for missing values."""

Mask = NDArray[np.bool_]


def rows_where(published: Published, where: Where | None) -> Mask:
    """The rows of the synthetic table that satisfy all conditions.

    Raises:
        DataError: a column or a category does not exist, or a range is none.
    """
    chosen = np.ones(len(published.frame), dtype=bool)
    for name, wanted in (where or {}).items():
        chosen &= rows_with(published, name, wanted)
    return chosen


def rows_with(published: Published, name: str, wanted: Any) -> Mask:
    """The rows whose value of one column is wanted.

    Args:
        published: the release.
        name: the column.
        wanted: a value, a collection of values, a closed range (low, high) of numbers or times, or None for
            missing values.

    Raises:
        DataError: the column or a category does not exist, or a range is none.
    """
    published.domain.position(name)
    column = published.frame[name]
    if wanted is None:
        return _plain(column.isna())
    if isinstance(wanted, tuple):
        return _between(published.domain, name, column, wanted)
    values = list(wanted) if isinstance(wanted, Collection) and not isinstance(wanted, str) else [wanted]
    chosen = np.zeros(len(column), dtype=bool)
    for value in values:
        _check_category(published.domain, name, value)
        chosen |= _plain(column.isna() if value is None else column == value)
    return chosen


def numbers_of(published: Published, name: str) -> NDArray[np.float64]:
    """A column as numbers, shape (rows,): true is 1, false is 0, and what is missing NaN.

    Raises:
        DataError: the column does not exist, or holds no numbers.
    """
    attribute = published.domain[name]
    column = published.frame[name]
    numeric = isinstance(attribute, NumericAttribute | BooleanAttribute | CodedAttribute)
    if not numeric and not pd.api.types.is_numeric_dtype(column.dtype):
        raise DataError(
            f"column {name!r}: expected numbers or true and false, got {_kind(attribute)}; "
            "use proportion, or name a numeric column"
        )
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def levels_of(published: Published, name: str) -> list[Any]:
    """The values of a column that occur in the synthetic table, in the domain's order if it has one."""
    column = published.frame[name].dropna()
    found = list(pd.unique(column))
    attribute = published.domain[name]
    if isinstance(attribute, CategoricalAttribute):
        order = {text_of(value): place for place, value in enumerate(attribute.categories)}
        return sorted(found, key=lambda value: order.get(text_of(value), len(order)))
    return sorted(found)


def is_numeric(published: Published, name: str) -> bool:
    """Whether a regression takes the column as a number rather than as categories."""
    if isinstance(published.domain[name], TimeAttribute):
        raise DataError(
            f"column {name!r}: expected numbers or categories, got dates; leave it out of the regression"
        )
    return isinstance(published.domain[name], NumericAttribute)


def _between(domain: Domain, name: str, column: pd.Series, wanted: tuple[Any, ...]) -> Mask:
    if len(wanted) != 2 or isinstance(domain[name], CategoricalAttribute | BooleanAttribute):
        raise DataError(
            f"column {name!r}: expected a tuple (low, high) of a numeric column, got another; "
            "give categories as a list"
        )
    low, high = wanted
    if isinstance(domain[name], TimeAttribute):
        column, low, high = (
            pd.to_datetime(column.astype(str), utc=True, errors="coerce"),
            pd.Timestamp(low),
            pd.Timestamp(high),
        )
        low, high = (t.tz_localize("UTC") if t.tzinfo is None else t.tz_convert("UTC") for t in (low, high))
    if not low <= high:
        raise DataError(f"column {name!r}: expected low <= high, got a range that is empty; swap its ends")
    return _plain((column >= low) & (column <= high))


def _check_category(domain: Domain, name: str, value: Any) -> None:
    attribute = domain[name]
    if value is None or not isinstance(attribute, CategoricalAttribute):
        return
    known = list(map(text_of, attribute.categories))
    if text_of(value) not in known:
        shown = ", ".join(map(repr, known[:20])) + (", ..." if len(known) > 20 else "")
        raise DataError(f"column {name!r}: expected one of {shown}; got {value!r}, which is none of them")


def _plain(mask: pd.Series) -> Mask:
    """A mask without missing values: a missing value satisfies nothing."""
    found: Mask = mask.to_numpy(dtype=bool, na_value=False)
    return found


def _kind(attribute: object) -> str:
    return "dates" if isinstance(attribute, TimeAttribute) else "categories"
