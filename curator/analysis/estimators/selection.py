"""Which rows an estimate is about, and their values as numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....common.data.attributes.boolean import BooleanAttribute
from ....common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ....common.data.attributes.dates import TimeAttribute
from ....common.data.attributes.numeric import NumericAttribute
from ....common.data.domain import Clique, Domain
from ....common.data.values import text_of
from ....common.errors import DataError
from ...results.raw_frames import cells_of
from ..conditions import Condition, Where
from .places import Rows

Mask = NDArray[np.bool_]


class Selected(NamedTuple):
    """Rows that meet a condition.

    Attributes:
        rows: whether each row does, shape (rows,).
        columns: those of the condition.
    """

    rows: Mask
    columns: Clique


def rows_where(table: Rows, where: Where | None) -> Selected:
    """The rows that meet a condition; all without one.

    Raises:
        DataError: a column or a value does not exist, or a range is empty.
    """
    condition = Condition.of(table.domain, where)
    chosen = np.ones(table.rows.record_count, dtype=bool)
    for name, allowed in condition.allowed.items():
        numbers = table.domain[name].within(cells_of(table.domain, table.frame, name))
        if numbers is None:
            chosen &= allowed.codes[table.rows.column(name)]
        else:
            chosen &= condition.holds(name, numbers)
    return Selected(chosen, condition.clique)


def rows_with(table: Rows, name: str, wanted: Any) -> Mask:
    """The rows whose value of one column is wanted.

    Args:
        table: the rows.
        name: the column.
        wanted: a value, a list of values, a closed range (low, high), or None for missing values.

    Raises:
        DataError: the column or a value does not exist, or a range is empty.
    """
    return rows_where(table, {name: wanted}).rows


def rows_at(table: Rows, name: str, level: Any) -> Mask:
    """The rows with one of the values that occur in a column, see `levels_of`."""
    found: Mask = (table.frame[name] == level).to_numpy(dtype=bool, na_value=False)
    return found


def numbers_of(table: Rows, name: str) -> NDArray[np.float64]:
    """A column as numbers, shape (rows,): true is 1, false is 0, and what is missing NaN.

    Raises:
        DataError: the column does not exist, or holds no numbers.
    """
    attribute = table.domain[name]
    column = table.frame[name]
    numeric = isinstance(attribute, NumericAttribute | BooleanAttribute | CodedAttribute)
    if not numeric and not pd.api.types.is_numeric_dtype(column.dtype):
        raise DataError(
            f"column {name!r}: expected numbers or true and false, got {_kind(attribute)}; "
            "use proportion, or name a numeric column"
        )
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def bounds_of(domain: Domain, name: str) -> tuple[float, float]:
    """The smallest and largest number that `numbers_of` a column may have; infinite if it has none."""
    attribute = domain[name]
    if isinstance(attribute, NumericAttribute):
        return attribute.ends
    if isinstance(attribute, CodedAttribute):
        return 0.0, attribute.size - 1.0
    return (0.0, 1.0) if isinstance(attribute, BooleanAttribute) else (-math.inf, math.inf)


def levels_of(table: Rows, name: str) -> list[Any]:
    """The values of a column that occur in these rows, in the domain's order if it has one."""
    column = table.frame[name].dropna()
    found = list(pd.unique(column))
    attribute = table.domain[name]
    if isinstance(attribute, CategoricalAttribute):
        order = {text_of(value): place for place, value in enumerate(attribute.categories)}
        return sorted(found, key=lambda value: order.get(text_of(value), len(order)))
    return sorted(found)


def is_numeric(table: Rows, name: str) -> bool:
    """Whether a regression takes the column as a number rather than as categories."""
    if isinstance(table.domain[name], TimeAttribute):
        raise DataError(
            f"column {name!r}: expected numbers or categories, got dates; leave it out of the regression"
        )
    return isinstance(table.domain[name], NumericAttribute)


def _kind(attribute: object) -> str:
    return "dates" if isinstance(attribute, TimeAttribute) else "categories"
