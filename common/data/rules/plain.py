"""Values of different kinds of attributes in the forms that rules compare: numbers and texts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from ...forms.notation import PLAIN
from ...later import np
from ..attributes.attribute import ABSENT, Attribute
from ..attributes.boolean import BooleanAttribute
from ..attributes.categorical import CategoricalAttribute
from ..attributes.date_parts import DatePartsAttribute
from ..attributes.dates import DateAttribute, GapAttribute, TimeAttribute
from ..attributes.moments import Moments, Times
from ..attributes.numeric import NumericAttribute
from ..values import RawColumn, read_numbers, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"
Mask: TypeAlias = "NDArray[np.bool_]"

_UNREADABLE = "\uffff"
"""In place of a value without a code; no category equals it."""


def plain(attribute: Attribute, values: RawColumn) -> NDArray[Any]:
    """Raw values as rules compare them, shape (N,).

    Numbers and gaps are float64, and so are dates and timestamps, as microseconds in UTC since 1970; NaN is a
    missing value. Of other attributes it is the text of the category, as an object, empty if it is missing.
    """
    if isinstance(attribute, GapAttribute):
        return attribute.units.numbers(values)
    if isinstance(attribute, NumericAttribute):
        return attribute.numbers(values)
    if isinstance(attribute, TimeAttribute):
        return plain_dates(attribute, values)
    reading = attribute.read(values)
    found: NDArray[Any] = np.array(texts(attribute), dtype=object)[reading.codes]
    for refused, _ in reading.refused.values():
        found[refused] = _UNREADABLE
    return found


def plain_dates(attribute: Attribute, values: RawColumn) -> NDArray[Any]:
    """As `plain`, but of a column that comes after another one for its dates and not for the gaps."""
    if not isinstance(attribute, TimeAttribute):
        return plain(attribute, values)
    times, _ = attribute.moments.read(attribute.name, values)
    return _microseconds(attribute.moments, times)


def texts(attribute: Attribute) -> list[str]:
    """The text of each code that stands for one value; empty for a missing value and for bins."""
    if isinstance(attribute, CategoricalAttribute):
        return list(map(text_of, attribute.categories))
    if isinstance(attribute, BooleanAttribute):
        return ["false", "true", ""][: attribute.size]
    return [text_of(low) if low == high else "" for low, high in extent(attribute).tolist()]


def extent(attribute: Attribute) -> Array:
    """The least and the largest number of each code, shape (size, 2); NaN for codes without a number."""
    found = np.full((attribute.size, 2), math.nan)
    if isinstance(attribute, NumericAttribute | GapAttribute):
        numbers = attribute if isinstance(attribute, NumericAttribute) else attribute.units
        found[: len(numbers.cells)] = _reach_of_cells(numbers)
    elif isinstance(attribute, DateAttribute):
        units = _reach_of_cells(attribute.units).astype(np.int64)
        times = [_microseconds(attribute.moments, attribute.moments.at(side)) for side in units.T]
        found[: len(units)] = np.stack(times, axis=1)
    elif isinstance(attribute, CategoricalAttribute):
        found[:] = np.array([number_of(category) for category in attribute.categories])[:, None]
    elif not isinstance(attribute, (BooleanAttribute, DatePartsAttribute)):
        found[:] = np.arange(attribute.size)[:, None]
    return found


def nearest_codes(
    attribute: Attribute, codes: NDArray[np.integer[Any]], low: Array, high: Array
) -> NDArray[np.integer[Any]]:
    """Codes of numbers, each moved to the nearest that lies between two numbers, shape (N,).

    Args:
        attribute: of the codes.
        codes: shape (N,); those of no number stay.
        low: the least numbers, NaN where any code may stay, shape (N,).
        high: the largest ones, shape (N,).
    """
    reached = extent(attribute)
    numbered = np.flatnonzero(~np.isnan(reached[:, 0]))
    first = np.minimum(np.searchsorted(reached[numbered, 1], low), len(numbered) - 1)
    last = np.maximum(np.searchsorted(reached[numbered, 0], high, side="right") - 1, 0)
    nearest = numbered[np.clip(np.searchsorted(numbered, codes), first, np.maximum(first, last))]
    return np.where(np.isnan(low) | np.isnan(reached[codes, 0]), codes, nearest)


def with_numbers(attribute: Attribute, values: NDArray[Any], where: Mask, numbers: Array) -> NDArray[Any]:
    """Decoded values, some of them replaced by numbers, or by the earliest time that is not before one.

    Args:
        attribute: of the values.
        values: shape (N,).
        where: rows to replace.
        numbers: as `plain` gives them, shape (N,).
    """
    if not where.any():
        return values
    new: NDArray[Any] = numbers[where]
    if isinstance(attribute, DateAttribute):
        new = _at_least(attribute.moments, new)
    if isinstance(attribute, NumericAttribute) and attribute.format != PLAIN:
        new = attribute.format.texts_of(new)
    elif values.dtype.kind in "iuO" and np.array_equal(new, np.floor(new)):
        new = new.astype(np.int64)
    changed = values.copy() if values.dtype.kind in "OM" else values.astype(np.result_type(values, new))
    changed[where] = new
    return changed


def absent_codes(attribute: Attribute) -> Mask:
    """The codes that stand for people whom the party of the attribute does not have."""
    found = np.zeros(attribute.size, dtype=np.bool_)
    if isinstance(attribute, CategoricalAttribute):
        found[-1] = attribute.categories[-1] == ABSENT
    return found


def numbers(values: NDArray[Any]) -> Array:
    """Plain values as numbers, shape (N,): of texts the numbers that they are, otherwise NaN."""
    if values.dtype.kind == "f":
        return values
    known, position = np.unique(values.astype(str), return_inverse=True)
    found, _ = read_numbers("", known)
    return np.asarray(found[position])


def round_to_unit(attribute: Attribute, numbers: Array) -> Array:
    """Numbers that are multiples of the unit up to errors of arithmetic, without these."""
    lattice = attribute.lattice if isinstance(attribute, NumericAttribute) else None
    if lattice is None:
        return numbers
    held = lattice.holds(numbers)
    return np.where(held, lattice.values(lattice.nearest(np.where(held, numbers, 0.0))), numbers)


def nearest_unit(attribute: Attribute, numbers: Array) -> Array:
    """For each number the nearest multiple of the unit; itself if there is none."""
    lattice = attribute.lattice if isinstance(attribute, NumericAttribute) else None
    if lattice is None:
        return numbers
    known = ~np.isnan(numbers)
    return np.where(known, lattice.values(lattice.nearest(np.where(known, numbers, 0.0))), np.nan)


def unit_of(attribute: Attribute) -> float:
    """What the numbers of an attribute are multiples of; 0 if of nothing."""
    lattice = attribute.lattice if isinstance(attribute, NumericAttribute) else None
    return 0.0 if lattice is None else float(lattice.unit)


def not_below(attribute: Attribute, numbers: Array) -> Array:
    """For each number the least multiple of the unit that is not below it."""
    lattice = attribute.lattice if isinstance(attribute, NumericAttribute) else None
    known = ~np.isnan(numbers)
    if lattice is None:
        return numbers
    return np.where(known, lattice.values(lattice.first_from(np.where(known, numbers, 0.0))), np.nan)


def number_of(category: object) -> float:
    """The number that a category is; NaN for text, true and false."""
    number = isinstance(category, (int, float)) and not isinstance(category, bool)
    return float(category) if number else math.nan  # type: ignore[arg-type]


def on_lattice(attribute: Attribute) -> bool:
    """Whether the numbers of an attribute are multiples of a unit, or categories."""
    return not isinstance(attribute, NumericAttribute) or attribute.lattice is not None


def _reach_of_cells(attribute: NumericAttribute) -> Array:
    """The least and the largest number of each bin and atom."""
    low, above = attribute.cells.T
    if attribute.lattice is None:
        return np.stack([low, np.nextafter(above, low)], axis=1)
    first, beyond = (attribute.lattice.first_from(side) for side in (low, above))
    reached = attribute.lattice.values(np.stack([first, beyond - 1], axis=1))
    return np.asarray(np.where(attribute.alone[:, None], low[:, None], reached))


def _microseconds(moments: Moments, times: Times) -> Array:
    instants = moments.instants(times).astype("datetime64[us]")
    found: Array = instants.astype(np.int64).astype(np.float64)
    found[np.isnat(instants)] = np.nan
    return found


def _at_least(moments: Moments, numbers: Array) -> Times:
    """The earliest local times of whole units that are not before these."""
    local = moments.local(numbers.astype(np.int64).astype("datetime64[us]"))
    units = moments.unit_numbers(local)
    return moments.at(units + (moments.at(units) < local))
