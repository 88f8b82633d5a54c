"""The numbers that codes stand for, and those of raw values, so that rules can compare them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ..attribute import Attribute
from ..categorical import CategoricalAttribute, CodedAttribute
from ..numeric import NumericAttribute
from ..values import RawColumn, read_numbers


def extent(attribute: Attribute) -> NDArray[np.float64]:
    """The least and the largest number of each code, shape (size, 2); NaN for codes without a number."""
    found = np.full((attribute.size, 2), np.nan)
    if isinstance(attribute, NumericAttribute):
        found[: len(attribute.cells)] = _reached(attribute)
    elif isinstance(attribute, CodedAttribute):
        found[:] = np.arange(attribute.size)[:, None]
    elif isinstance(attribute, CategoricalAttribute):
        numbers = [number_of(category) for category in attribute.categories]
        found[:] = np.array(numbers)[:, None]
    return found


def number_of(category: object) -> float:
    """The number that a category is; NaN for text, true and false."""
    number = isinstance(category, (int, float)) and not isinstance(category, bool)
    return float(category) if number else math.nan  # type: ignore[arg-type]


def numbers(name: str, values: RawColumn) -> NDArray[np.float64]:
    """The numbers of raw values, shape (N,): dates as seconds, NaN for missing values.

    Raises:
        DataError: a value is neither a number nor a date.
    """
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    try:
        if array.dtype.kind != "M":
            return read_numbers(name, array)[0]
        seconds = array.astype("datetime64[us]")
    except DataError as cause:
        texts = [None if value in ("", None) else value for value in array.tolist()]
        try:
            seconds = np.array(texts, dtype="datetime64[us]")
        except (TypeError, ValueError):
            raise cause from None
    found: NDArray[np.float64] = seconds.astype(np.int64) / 1e6
    found[np.isnat(seconds)] = np.nan
    return found


def _reached(attribute: NumericAttribute) -> NDArray[Any]:
    low, above = attribute.cells.T
    lattice = attribute.lattice
    if lattice is None:
        return np.stack([low, np.nextafter(above, low)], axis=1)
    multiples = lattice.first_from(low), lattice.first_from(above) - 1
    return np.stack([lattice.values(places) for places in multiples], axis=1)
