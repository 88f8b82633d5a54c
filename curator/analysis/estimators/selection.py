"""Which rows of a synthetic table an estimate is about, and their values as numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ....common.data.attributes.boolean import BooleanAttribute
from ....common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ....common.data.attributes.dates import TimeAttribute
from ....common.data.attributes.numeric import NumericAttribute
from ....common.data.domain import Clique
from ....common.data.values import text_of
from ....common.errors import DataError
from ...results.raw_frames import cells_of
from ..conditions import Condition, Where
from ..published import Published

Mask = NDArray[np.bool_]


class Selected(NamedTuple):
    """Rows that meet a condition.

    Attributes:
        rows: whether each row of the synthetic table does, shape (rows,).
        columns: those of the condition.
    """

    rows: Mask
    columns: Clique


def rows_where(published: Published, where: Where | None) -> Selected:
    """The rows of the synthetic table that meet a condition; all without one.

    Raises:
        DataError: a column or a value does not exist, or a range is empty.
    """
    condition = Condition.of(published.domain, where)
    chosen = np.ones(published.rows.record_count, dtype=bool)
    for name, allowed in condition.allowed.items():
        numbers = published.domain[name].within(cells_of(published.domain, published.frame, name))
        if numbers is None:
            chosen &= allowed.codes[published.rows.column(name)]
        else:
            chosen &= condition.holds(name, numbers)
    return Selected(chosen, condition.clique)


def rows_with(published: Published, name: str, wanted: Any) -> Mask:
    """The rows whose value of one column is wanted.

    Args:
        published: the release.
        name: the column.
        wanted: a value, a list of values, a closed range (low, high), or None for missing values.

    Raises:
        DataError: the column or a value does not exist, or a range is empty.
    """
    return rows_where(published, {name: wanted}).rows


def rows_at(published: Published, name: str, level: Any) -> Mask:
    """The rows with one of the values that occur in a column, see `levels_of`."""
    found: Mask = (published.frame[name] == level).to_numpy(dtype=bool, na_value=False)
    return found


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


def _kind(attribute: object) -> str:
    return "dates" if isinstance(attribute, TimeAttribute) else "categories"
