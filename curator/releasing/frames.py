"""A synthetic table as a data frame: with the types of its columns, or as a CSV holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ...common.data.boolean import BooleanAttribute
from ...common.data.categorical import CategoricalAttribute
from ...common.data.dates import TimeAttribute
from ...common.data.domain import Domain
from ...common.data.moments import Moments
from ...common.data.numeric import NumericAttribute
from ...common.data.table import Table, decode_table
from ...common.data.unmodelled import Identifier
from ...common.data.values import text_of


def typed(table: Table, columns: Sequence[str], rng: np.random.Generator) -> pd.DataFrame:
    """A synthetic table with the types of its columns.

    Numbers, booleans, dates and timestamps have types that can be missing where a value can be, and ordered
    categories of text are a Categorical. Categories of several types are text.

    Args:
        table: the table, coded.
        columns: names of the columns, in order.
        rng: draws values inside bins.
    """
    return typed_values(table.domain, decoded(table, rng), columns)


def typed_values(domain: Domain, values: Mapping[str, NDArray[Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Decoded values with the types of their columns; see `typed`.

    Args:
        domain: domain of the table.
        values: of each column, shape (N,).
        columns: names of the columns, in order.
    """
    return pd.DataFrame({name: typed_column(domain, name, values[name]) for name in columns})


def spelled_values(
    domain: Domain, values: Mapping[str, NDArray[Any]], columns: Sequence[str]
) -> pd.DataFrame:
    """Decoded values as a file of text holds them: dates and booleans as their domain writes them.

    Args:
        domain: domain of the table.
        values: of each column, shape (N,).
        columns: names of the columns, in order.
    """
    written = {name: spelled_column(domain, name, values[name]) for name in columns}
    return pd.DataFrame(written, copy=False)


def decoded(table: Table, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """The values of each column, and new identifiers, shape (N,) each.

    Args:
        table: the table, coded.
        rng: draws values inside bins.
    """
    identifiers = [column for column in table.domain.unmodelled if isinstance(column, Identifier)]
    drawn = {column.name: column.drawn(table.record_count) for column in identifiers}
    return drawn | decode_table(table, rng)


def typed_column(domain: Domain, name: str, values: NDArray[Any]) -> pd.Series:
    """Decoded values of a column with its type.

    Args:
        domain: of the table.
        name: of the column.
        values: as `Attribute.decode` gives them, or new identifiers; shape (N,).
    """
    match domain[name] if name in domain.names else None:
        case TimeAttribute() as attribute:
            return _times(attribute.moments, values)
        case BooleanAttribute(nullable=True):
            return pd.Series(values, dtype="boolean")
        case NumericAttribute(integer=True, nullable=True):
            return pd.Series(values, dtype="Int64")
        case CategoricalAttribute() as attribute:
            return _categories(attribute, values)
    return pd.Series(values)


def spelled_column(domain: Domain, name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Decoded values of a column as a file of text holds them; see `typed_column`."""
    return domain[name].spelled(values) if name in domain.names else values


def _times(moments: Moments, values: NDArray[Any]) -> pd.Series:
    if not moments.timed:
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values)))
    if not moments.timezone:
        return pd.Series(values)
    return pd.Series(moments.instants(values)).dt.tz_localize("UTC").dt.tz_convert(moments.timezone)


def _categories(attribute: CategoricalAttribute, values: NDArray[Any]) -> pd.Series:
    if values.dtype != object:
        return pd.Series(values)
    known = [category for category in attribute.categories if category != ""]
    kinds = set(map(type, known))
    filled = [None if value == "" else value for value in values.tolist()]
    if kinds == {str} and attribute.ordered:
        return pd.Series(pd.Categorical(filled, known, ordered=True))
    large = any(isinstance(category, int) and abs(category) >= 2**63 for category in known)
    if len(kinds) == 1 and kinds < set(_WITH_MISSING) and not large:
        return pd.Series(filled, dtype=_WITH_MISSING[kinds.pop()])
    return pd.Series([None if value is None else text_of(value) for value in filled], dtype=object)


_WITH_MISSING: dict[type, str] = {bool: "boolean", float: "float64", int: "Int64"}
