"""Codes as a function of a number or a time that is constant between thresholds.

The thresholds are found with the attribute's own encoder, so that whoever compares a value with them gives
the code that the encoder gives, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import REFUSED, Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.dates import TimeAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.values import RawColumn, text_of
from ...common.forms.notation import LARGEST_WHOLE
from .engines.kinds import Kind, NotExact

UNCLEAR = -1 - len(REFUSED)
"""In place of a code: SQL cannot tell what Python would read in the cell."""

_LARGEST = float(np.finfo(np.float64).max)
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_BITS: Mapping[np.dtype[Any], np.dtype[Any]] = {_DOUBLE: np.dtype(np.int64), _SINGLE: np.dtype(np.int32)}
_MOST: Mapping[np.dtype[Any], float] = {_DOUBLE: _LARGEST, _SINGLE: float(np.finfo(np.float32).max)}
_LEAST_BITS: Mapping[np.dtype[Any], int] = {_DOUBLE: np.iinfo(np.int64).min, _SINGLE: np.iinfo(np.int32).min}
_FIRST_DAY, _LAST_DAY = np.datetime64("0001-01-01", "us"), np.datetime64("9999-12-31", "us")


@dataclass(frozen=True, eq=False)
class Pieces:
    """A function of values that is constant from each start to the next.

    Attributes:
        starts: increasing, shape (pieces,); the first is the smallest possible value. Float64 or
            datetime64[us].
        codes: shape (pieces,): codes, or what `outcomes` gives where there is none.
        steps: whether the starts of adjacent whole numbers with adjacent codes may be replaced by arithmetic.
    """

    starts: NDArray[Any]
    codes: NDArray[np.int64]
    steps: bool = False


def outcomes(attribute: Attribute, values: RawColumn) -> NDArray[np.int64]:
    """The code of each value; where the domain refuses it, -1 minus the place of the reason in `REFUSED`."""
    reading = attribute.read(values)
    codes = reading.codes.copy()
    for key, (rows, _) in reading.refused.items():
        codes[rows] = -1 - REFUSED.index(key)
    return codes


def outcome(attribute: Attribute, value: object) -> int:
    """As `outcomes`, of one value."""
    return int(
        outcomes(attribute, np.array([value], dtype=None if isinstance(value, np.generic) else object))[0]
    )


def pieces_of_numbers(attribute: NumericAttribute, kind: Kind) -> Pieces:
    """The code of each finite number; whether integers are whole is not looked at.

    Args:
        attribute: bins and atoms.
        kind: SINGLE for numbers of 32 bits, which are read as they are written; otherwise of 64 bits.
    """
    cells, grid = attribute.cells, attribute.grid
    high = grid[-1] - (1 if attribute.integer else 0)
    atoms = np.array(attribute.atoms, dtype=np.float64)
    after = [np.nextafter(value, np.inf) for value in (np.array([high]), atoms)]
    marks = np.unique(np.concatenate([cells[:, 0], [grid[0], high], atoms, *after]))
    dtype = _SINGLE if kind is Kind.SINGLE else _DOUBLE
    lowest = np.array([-_MOST[dtype]], dtype=dtype)
    as_given = attribute.multiple_of is None and kind is not Kind.SINGLE
    reached = marks if as_given else _first_reaching(attribute.numbers, marks, dtype)
    starts = np.unique(np.concatenate([lowest, reached]))
    codes = _without_fractions(attribute, starts)
    return _merge_pieces(starts.astype(np.float64), codes, steps=bool(attribute.integer) and as_given)


def pieces_of_listed(attribute: Attribute, listing: CategoricalAttribute, kind: Kind) -> Pieces:
    """The code of each finite number in a column of numbers, where a domain lists categories.

    Args:
        attribute: categories, or ways to write true and false.
        listing: all that is listed.
        kind: of the column: whole numbers or floating-point numbers.

    Raises:
        NotExact: a listed number is too large to be told from its neighbours.
    """
    listed = {
        *listing.number_codes,
        *(number for number in map(_number, listing.codes) if number is not None),
    }
    if kind is Kind.WHOLE:
        listed = {number for number in listed if number.is_integer()}
        if any(abs(number) > LARGEST_WHOLE for number in listed):
            raise NotExact("it lists whole numbers above 2^53")
    dtype = _SINGLE if kind is Kind.SINGLE else _DOUBLE
    with np.errstate(over="ignore"):
        values = np.unique(np.array([n for n in listed if abs(n) < np.inf], dtype=np.float64).astype(dtype))
    values = values[np.isfinite(values)]
    starts = np.unique(np.concatenate([[-_MOST[dtype]], values, np.nextafter(values, dtype.type(np.inf))]))
    read = starts.astype(dtype)
    if kind is Kind.WHOLE:
        codes = np.full(len(starts), outcome(attribute, _number_not_in(listed)), dtype=np.int64)
        at = np.isin(starts, values)
        codes[at] = outcomes(attribute, starts[at].astype(np.int64))
    else:
        codes = outcomes(attribute, read)
    return _merge_pieces(starts.astype(np.float64), codes)


def pieces_of_spelled(attribute: Attribute, listing: CategoricalAttribute, unlisted: int) -> Pieces:
    """The code of each number that a text is read as, where a domain lists numbers.

    Args:
        attribute: categories, or ways to write true and false.
        listing: all that is listed.
        unlisted: what other numbers have.
    """
    values = np.array(sorted(listing.number_codes), dtype=np.float64)
    texts = [text_of(listing.categories[listing.number_codes[value]]) for value in values.tolist()]
    starts = np.unique(np.concatenate([[-_LARGEST], values, np.nextafter(values, np.inf)]))
    codes = np.full(len(starts), unlisted, dtype=np.int64)
    codes[np.isin(starts, values)] = outcomes(attribute, np.array(texts, dtype=object))
    return _merge_pieces(starts, codes)


def pieces_of_times(attribute: TimeAttribute) -> Pieces:
    """The code of each time without a time zone, from year 1 to 9999.

    Raises:
        NotExact: the bounds are outside these years.
    """
    moments = attribute.unit_moments
    units = np.ceil(pieces_of_numbers(attribute.units, Kind.DOUBLE).starts[1:])
    marks = np.unique(moments.at(units.astype(np.int64)).astype("datetime64[us]"))
    if marks[0] <= _FIRST_DAY or marks[-1] > _LAST_DAY:
        raise NotExact("its bounds are outside the years 1 to 9999")
    within = np.concatenate([[_FIRST_DAY], marks])
    found = outcomes(attribute, within)
    starts = np.concatenate([[np.datetime64("-290000-01-01", "us")], within, [_LAST_DAY]])
    return _merge_pieces(starts, np.concatenate([[UNCLEAR], found, [UNCLEAR]]))


def pieces_of_codes(labels: NDArray[np.int64]) -> Pieces:
    """The function from codes 0, 1, ... to labels."""
    return _merge_pieces(np.arange(len(labels), dtype=np.float64), labels, steps=True)


def as_datetime(time: np.datetime64) -> datetime:
    """A time of the years 1 to 9999."""
    found: datetime = time.astype("datetime64[us]").item()
    return found


def _first_reaching(
    read: Callable[[NDArray[Any]], NDArray[np.float64]], marks: NDArray[np.float64], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """The smallest float of a type that is read as at least each mark; `read` never decreases.

    Floats are bisected in their order as whole numbers.
    """
    low, high = (
        np.repeat(_in_float_order(np.array([bound], dtype=dtype)), len(marks))
        for bound in (-_MOST[dtype], _MOST[dtype])
    )
    while np.any(low < high):
        # Without an overflow of the sum of both.
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        reached = read(_float(middle, dtype)) >= marks
        high = np.where(reached, middle, high)
        low = np.where(reached, low, np.minimum(middle + 1, high))
    return _float(high, dtype)


def _in_float_order(floats: NDArray[Any]) -> NDArray[np.int64]:
    """Whole numbers in the order of the floats."""
    bits: NDArray[np.int64] = floats.view(_BITS[floats.dtype]).astype(np.int64)
    return np.where(bits < 0, _LEAST_BITS[floats.dtype] - bits, bits)


def _float(ordered: NDArray[np.int64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The floats at these places in their order."""
    bits = np.where(ordered < 0, _LEAST_BITS[dtype] - ordered, ordered)
    floats: NDArray[Any] = bits.astype(_BITS[dtype]).view(dtype)
    return floats


def _without_fractions(attribute: NumericAttribute, values: NDArray[Any]) -> NDArray[np.int64]:
    """As `outcomes`, of numbers that need not be whole."""
    reading = attribute.read(values)
    codes = reading.codes.copy()
    for key, (rows, _) in reading.refused.items():
        if key != "fraction":
            codes[rows] = -1 - REFUSED.index(key)
    return codes


def _merge_pieces(starts: NDArray[Any], codes: NDArray[np.int64], *, steps: bool = False) -> Pieces:
    """Pieces without those that go on as the one before."""
    kept = np.append(True, np.diff(codes) != 0)
    return Pieces(starts[kept], codes[kept], steps)


def _number_not_in(listed: set[float]) -> np.int64:
    """A whole number that is none of those."""
    return np.int64(next(number for number in range(len(listed) + 1) if float(number) not in listed))


def _number(text: str) -> float | None:
    """The number that a category's text is as a whole number or a float; None if there is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if text_of(number) == "" else number
