"""Conditions on the values of rows: from Python, from text, and as weights of codes.

As text a condition is `age=30..39,sex=F|M,income='>50K'`: attributes with values, and rows meet all of them.
`|` divides alternatives. `a..b` is a range with both ends, `a..` and `..b` have one. Names and values with
commas, bars, equals signs, dots or spaces at an end are quoted; a quotation mark within quotes is doubled.
Nothing stands for a missing value: `income=` is where income is missing, and `income!=` where it is not. Of a
date that comes after another, the gap can be named: `died - admitted=0..30`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ...common.data.attributes.clock import Clock
from ...common.data.attributes.dates import DateAttribute, GapAttribute, TimeAttribute, bins_of
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.domain import Clique, Domain
from ...common.data.gaps import gaps_of
from ...common.data.rules.plain import number_of
from ...common.data.values import RawColumn, read_numbers, text_of
from ...common.errors import DataError
from ...common.forms.nearest import hint
from .condition_text import read_condition

Where = Mapping[str, Any] | str
"""A condition as users state it: attribute -> value, list of values or range; or as text."""

NOT_MISSING = (None, None)
"""The condition that a value is not missing: a range with both ends open."""

Mask = NDArray[np.bool_]

_CATEGORIES_NAMED = 12
"""Most categories that an error names."""


class Range(NamedTuple):
    """A range of values with both ends; None at an open end."""

    low: Any
    high: Any


@dataclass(frozen=True, eq=False)
class Allowed:
    """What a condition allows of one attribute.

    Attributes:
        codes: codes that are allowed whole, shape (size,); of numbers and dates only texts beside them and
            missing values.
        ranges: of numbers, or of dates as units since 1970: closed ranges, increasing, without overlaps.
    """

    codes: Mask
    ranges: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Condition:
    """Attributes with the values that rows may have; rows meet all of it.

    Attributes:
        domain: domain of the rows.
        allowed: what is allowed of each attribute of the condition.
    """

    domain: Domain
    allowed: Mapping[str, Allowed]

    @classmethod
    def of(cls, domain: Domain, where: Where | None) -> Condition:
        """Reads a condition.

        Args:
            domain: domain of the rows.
            where: attribute -> a value, None for a missing one, a list of alternatives, or a range: a tuple
                (low, high) with both ends, None at an open one, or Python's `range`; `NOT_MISSING` is all
                values but a missing one. Or text (see above).

        Raises:
            DataError: an attribute or a value is unknown, a value is outside the domain, or a range is empty.
        """
        given = read_condition(where) if isinstance(where, str) else dict(where or {})
        gaps = {one.difference: one for one in gaps_of(domain).values()}
        allowed: dict[str, Allowed] = {}
        for name, value in given.items():
            if name not in domain.names and name not in gaps:
                raise DataError(
                    f"a condition on {name!r}: expected an attribute of the release, which has "
                    f"{', '.join(domain.names)}{hint(str(name), domain.names)}; fix the name"
                )
            attribute = gaps[name] if name in gaps else domain[name]
            if attribute.name in allowed:
                raise _error(attribute, f"expected one, got another as {name!r}; join them")
            if name not in gaps and isinstance(attribute, GapAttribute):
                _check_missing(attribute, value)
            allowed[attribute.name] = _allowed_values(attribute, value)
        return cls(domain, allowed)

    @property
    def clique(self) -> Clique:
        """Its attributes, in domain order."""
        return self.domain.canonical(self.allowed)

    def weights(self, name: str, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The share of each code's values that is allowed, shape (size,).

        Args:
            name: an attribute of the condition.
            counts: records of each code, by which values are spread within bins; shape (size,).
        """
        allowed = self.allowed[name]
        weights = allowed.codes.astype(np.float64)
        for first, last in self.ranks(name, counts):
            weights[: len(first)] += last - first
        return np.minimum(weights, 1.0)

    def ranks(
        self, name: str, counts: NDArray[np.int64]
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """For each range, which part of each bin's and atom's values it has; see `Spread.ranks`."""
        bins = bins_of(self.domain[name])
        if bins is None:
            return []
        spread = bins.spread
        return [spread.ranks(counts[: spread.size], *found) for found in self.allowed[name].ranges]

    def holds(self, name: str, numbers: NDArray[np.float64]) -> Mask:
        """Which numbers, or units since 1970, of an attribute are allowed; NaN is a missing value."""
        allowed = self.allowed[name]
        held = np.isnan(numbers) & bool(allowed.codes[-1])
        for low, high in allowed.ranges:
            held |= (numbers >= low) & (numbers <= high)
        return held


def _allowed_values(attribute: Attribute, given: object) -> Allowed:
    """What is allowed of an attribute."""
    if isinstance(given, (list, set, frozenset)):
        alternatives = list(given)
    elif isinstance(given, range):
        alternatives = [Range(given[0], given[-1])] if given and given.step == 1 else list(given)
    else:
        alternatives = [given]
    if not alternatives:
        raise _error(attribute, "expected at least one value, got none; name a value, or leave it out")
    codes, ranges = np.zeros(attribute.size, dtype=np.bool_), []
    for value in alternatives:
        found = _range_of(value)
        if found is None and _missing(attribute, value):
            codes[_code(attribute, None)] = True
        elif bins := bins_of(attribute):
            if found is None and text_of(value) in bins.texts:
                codes[bins.text_codes[bins.texts.index(text_of(value))]] = True
                continue
            if found == NOT_MISSING:
                codes[list(bins.text_codes)] = True
            ranges.append(_numbers(attribute, bins, found or Range(value, value)))
        elif found == NOT_MISSING:
            codes |= _present(attribute)
        elif isinstance(attribute, TimeAttribute):
            raise _error(
                attribute,
                "expected that it is missing, or not, got a date, of which the release models parts; draw "
                "rows without it and select among them",
            )
        elif found is None:
            codes[_code(attribute, value)] = True
        else:
            codes |= _between(attribute, found)
    return Allowed(codes, _disjoint(ranges))


def _check_missing(attribute: GapAttribute, given: object) -> None:
    """Refuses values of a column of which a release only knows how long after another they come."""
    for value in given if isinstance(given, list | set | frozenset) else [given]:
        if _range_of(value) != NOT_MISSING and not _missing(attribute, value):
            raise _error(
                attribute,
                "expected that it is missing, or not, got a value, of which a release holds how many "
                f"{attribute.unit_name} after {attribute.other!r} it is; name {attribute.difference!r} with "
                "a number or a range, or draw rows without it and select among them",
            )


def _range_of(value: object) -> Range | None:
    """The range that a value of a condition is; None for a single value."""
    if isinstance(value, range):
        return Range(value.start, value.stop - 1)
    if not isinstance(value, tuple):
        return None
    if len(value) != 2:
        raise DataError("a range of a condition: expected (low, high), got another tuple; fix it")
    return Range(*value)


def _missing(attribute: Attribute, value: object) -> bool:
    return text_of(value) in ("", *attribute.missing)


def _present(attribute: Attribute) -> Mask:
    """The codes of all values but a missing one."""
    reading = attribute.read(np.array([None], dtype=object))
    held = np.ones(attribute.size, dtype=np.bool_)
    if not any(rows[0] for rows, _ in reading.refused.values()):
        held[reading.codes[0]] = False
    if not held.any():
        raise _error(attribute, "expected that it is missing, which it always is; leave it out")
    return held


def _code(attribute: Attribute, value: object) -> int:
    """The code of one value of an attribute without bins; or of a missing value."""
    column = np.array([None], dtype=object)
    column[0] = value
    reading = attribute.read(column)
    if value is None and any(rows[0] for rows, _ in reading.refused.values()):
        raise _error(attribute, "expected a value, got a missing one, of which it has none; name a value")
    other = reading.counted.get("other")
    if any(rows[0] for rows, _ in reading.refused.values()) or (other is not None and other[0]):
        meant = hint(text_of(value), map(text_of, getattr(attribute, "categories", ())))
        raise _error(attribute, f"expected {_labels(attribute)}, got another value{meant}; fix it")
    return int(reading.codes[0])


def _labels(attribute: Attribute) -> str:
    """What values an attribute without bins has."""
    match attribute:
        case CategoricalAttribute():
            shown = [repr(text_of(category)) for category in attribute.categories[:_CATEGORIES_NAMED]]
            more = len(attribute.categories) - len(shown)
            return f"one of {', '.join(shown)}" + (f" and {more} more of the domain" if more else "")
        case BooleanAttribute():
            return "true or false"
        case _:
            return f"a code from 0 to {attribute.size - 1}"


def _between(attribute: Attribute, found: Range) -> Mask:
    """The codes of a range of codes, of ordered categories, or of categories that are numbers."""
    match attribute:
        case CategoricalAttribute(ordered=False):
            places = np.array([number_of(category) for category in attribute.categories])
            low, high = (_number(attribute, end) for end in found)
            if np.isnan(places).all():
                raise _error(
                    attribute,
                    "expected categories, got a range, which categories without an order do not have; list "
                    "them, or quote a category with dots",
                )
        case CategoricalAttribute() | CodedAttribute():
            places = np.arange(attribute.size, dtype=np.float64)
            low, high = (None if end is None else float(_code(attribute, end)) for end in found)
        case _:
            raise _error(attribute, f"expected {_labels(attribute)}, got a range; name a value")
    held: Mask = ~np.isnan(places) & _present(attribute)
    held &= np.ones_like(held) if low is None else places >= low
    held &= np.ones_like(held) if high is None else places <= high
    if not held.any():
        raise _error(attribute, "expected a range from a lower to a higher value, got an empty one; fix it")
    return held


def _number(attribute: Attribute, end: object) -> float | None:
    """The number at an end of a range of categories; NaN if it is none."""
    if end is None:
        return None
    numbers, unreadable = read_numbers(attribute.name, np.array([end], dtype=object))
    return math.nan if unreadable[0] else float(numbers[0])


def _numbers(attribute: Attribute, bins: NumericAttribute, found: Range) -> tuple[float, float]:
    """A range of numbers or units, cut to what the attribute holds."""
    least, most = bins.ends
    low = least if found.low is None else _end(attribute, bins, found.low, last=False)
    high = most if found.high is None else _end(attribute, bins, found.high, last=True)
    if low > high:
        raise _error(attribute, "expected a range from a lower to a higher value, got an empty one; fix it")
    low_shown, high_shown = (_bound_text(attribute, bound) for bound in (least, most))
    if high < least or low > most:
        raise _error(attribute, f"expected values from {low_shown} to {high_shown}, got others; fix them")
    for given, bound in zip(found, (low, high), strict=True):
        if given is not None and not least <= bound <= most:
            raise _error(
                attribute,
                f"expected values from {low_shown} to {high_shown}, got one outside; fix it, or leave an end "
                "of the range open",
            )
    first, last = bins.spread.ranks(np.ones(len(bins.cells), dtype=np.int64), low, high)
    if not np.any(last > first):
        raise _error(
            attribute,
            "expected values that the release has, got none; widen the range, above all where any real "
            "number is a value",
        )
    return low, high


def _end(attribute: Attribute, bins: NumericAttribute, value: object, last: bool) -> float:
    """The number or unit at an end of a range; of a day without a time its first or last unit."""
    column: RawColumn = np.array([value], dtype=object)
    if isinstance(attribute, DateAttribute):
        times, unreadable = attribute.moments.read(attribute.name, column)
        if unreadable[0] or np.isnat(times[0]):
            raise _error(attribute, f"expected {_time_form(attribute)}, got something else; fix it")
        timed = attribute.moments.timed and not isinstance(attribute.moments, Clock)
        if last and timed and _is_day(value):
            times = times + np.timedelta64(1, "D") - np.timedelta64(1, "us")
        return float(attribute.moments.unit_numbers(times)[0])
    number = float(bins.numbers(column)[0])
    if not math.isfinite(number):
        raise _error(attribute, f"expected {bins.values_named}, got something else; fix it")
    return number


def _is_day(value: object) -> bool:
    if isinstance(value, str):
        return len(value.strip()) <= len("2020-12-31")
    return isinstance(value, date) and not isinstance(value, datetime)


def _time_form(attribute: DateAttribute) -> str:
    if isinstance(attribute.moments, Clock):
        return f"a time in the format {attribute.moments.format}"
    kind = "a timestamp" if attribute.moments.timed else "a date"
    return (
        f"{kind} in the format {attribute.moments.format!r}"
        if attribute.moments.format
        else f"{kind} in ISO 8601"
    )


def _bound_text(attribute: Attribute, number: float) -> str:
    if isinstance(attribute, DateAttribute):
        return attribute.moments.bound_text(int(number))
    return text_of(number)


def _disjoint(ranges: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The union of closed ranges as increasing ranges that do not overlap."""
    found: list[tuple[float, float]] = []
    for low, high in sorted(ranges):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return tuple(found)


def _error(attribute: Attribute, problem: str) -> DataError:
    return DataError(f"a condition on {attribute.name!r}: {problem}")
