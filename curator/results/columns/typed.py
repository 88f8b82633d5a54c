"""Decoded columns as those of data frames, with types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ....common.data.attributes.boolean import BooleanAttribute
from ....common.data.attributes.categorical import CategoricalAttribute
from ....common.data.attributes.clock import NUMBERS, Clock
from ....common.data.attributes.dates import TimeAttribute
from ....common.data.attributes.moments import Moments
from ....common.data.attributes.numeric import NumericAttribute
from ....common.data.domain import Domain
from ....common.data.gaps import with_times
from ....common.data.values import text_of


def typed_values(domain: Domain, values: Mapping[str, NDArray[Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Decoded values with the types of their columns; see `frames.typed_frame`.

    Args:
        domain: domain of the table.
        values: of each column, shape (N,).
        columns: names of the columns, in order.
    """
    return pd.DataFrame({name: typed_column(domain, name, values[name]) for name in columns})


def typed_column(domain: Domain, name: str, values: NDArray[Any]) -> pd.Series:
    """Decoded values of a column with its type.

    Args:
        domain: of the table.
        name: of the column.
        values: as `Attribute.decode` gives them, or new identifiers; shape (N,).
    """
    match domain.description_of(name):
        case TimeAttribute() | NumericAttribute() as attribute if attribute.texts:
            return pd.Series(values, dtype=object)
        case TimeAttribute(moments=Clock(format=form)) as attribute:
            kind = object if form != NUMBERS else "Int64" if attribute.nullable else "int64"
            return pd.Series(attribute.moments.texts_of(values), dtype=kind)
        case TimeAttribute() as attribute:
            return _times(attribute.moments, values)
        case BooleanAttribute(nullable=True):
            return pd.Series(values, dtype="boolean")
        case NumericAttribute(integer=True) as attribute if attribute.nullable or values.dtype == object:
            return pd.Series(values, dtype="Int64")
        case CategoricalAttribute() as attribute:
            return _categories(attribute, values)
    return pd.Series(values)


def values_of_codes(domain: Domain, rows: int) -> dict[str, NDArray[Any]]:
    """Decoded values of the columns of a domain, of which each code comes in turn, shape (rows,) each."""
    rng = np.random.default_rng(0)
    columns = (*domain.attributes, *(one.attribute for one in domain.followers))
    return with_times(domain, {one.name: one.decode(np.arange(rows) % one.size, rng) for one in columns})


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
    if kinds == {str}:
        texts = values.copy()
        texts[texts == ""] = None
        if attribute.ordered:
            return pd.Series(pd.Categorical(texts, known, ordered=True))
        return pd.Series(texts, dtype=object)
    filled = [None if value == "" else value for value in values.tolist()]
    large = any(isinstance(category, int) and abs(category) >= 2**63 for category in known)
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) == 1 and kinds < set(_WITH_MISSING) and not large:
        return pd.Series(filled, dtype=_WITH_MISSING[kinds.pop()])
    return pd.Series([None if value is None else text_of(value) for value in filled], dtype=object)


_WITH_MISSING: dict[type, str] = {bool: "boolean", float: "float64", int: "Int64"}
