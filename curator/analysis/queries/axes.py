"""One column of a query: its codes, divided where conditions cut a bin, with the values of each piece."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.boolean import BooleanAttribute
from ....common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ....common.data.attributes.clock import Clock
from ....common.data.attributes.date_parts import Part
from ....common.data.attributes.dates import DateAttribute, bins_of
from ....common.data.attributes.inside_bins import Cut, Pieces, divide
from ....common.data.values import text_of
from ....common.errors import DataError
from .language import Below, Comparison, Equal, Like, Literal
from .naming import suggested
from .parts_of_dates import number_of, starts_of

Array = NDArray[np.float64]
Truth = NDArray[np.bool_]


class Axis(ABC):
    """The pieces of a column's codes, in the order of the codes.

    Attributes:
        name: of the column.
        codes: code of each piece, shape (p,), increasing.
        shares: share of its code that each piece has, shape (p,).
        missing: whether it is a missing value, shape (p,).
        no_number: whether it is no number of a column of numbers: a missing value, or a text beside them.
    """

    name: str
    codes: NDArray[np.int64]
    shares: Array
    missing: Truth

    @property
    def no_number(self) -> Truth:
        """See above."""
        return self.missing

    @abstractmethod
    def equal(self, value: Literal) -> Truth:
        """Which pieces have this value.

        Raises:
            DataError: the column cannot have it.
        """

    @abstractmethod
    def below(self, value: Literal, also: bool) -> Truth:
        """Which pieces are smaller than a value, or equal to it if `also`.

        Raises:
            DataError: the column has no order, or the value is of another kind.
        """

    def like(self, asked: Like) -> Truth:
        """Which pieces match a pattern.

        Raises:
            DataError: the column holds no categories, or none of them matches.
        """
        raise DataError(f"LIKE compares categories, and {self.name!r} has none; compare it with =, < or IN")

    def parts(self, part: Part) -> NDArray[np.int64]:
        """A part of the date of each piece, shape (p,); without meaning where it is missing.

        Raises:
            DataError: the column holds no dates, or their parts are not known.
        """
        raise DataError(f"the column {self.name!r} holds no dates; ask {part.upper()} of a column of dates")

    @property
    def order(self) -> NDArray[np.int64]:
        """The place of each code when the column is sorted; codes are in the order of the values."""
        return np.arange(int(self.codes.max()) + 1)

    @property
    @abstractmethod
    def numbers(self) -> Array:
        """The mean of each piece, shape (p,); without meaning where it is missing.

        Raises:
            DataError: the column holds no numbers.
        """

    @property
    def variances(self) -> Array:
        """The variance of the values of each piece, shape (p,)."""
        return np.zeros(len(self.codes))

    def number_at(self, piece: int, rank: float) -> float:
        """The value at a rank, from 0 to 1, among those of a piece."""
        return float(self.numbers[piece])

    def value_at(self, number: float) -> Any:
        """A number as a value of the column."""
        return number

    @abstractmethod
    def labels(self) -> list[Any]:
        """What each code stands for, as the key of a group; None for a missing value."""


class LabelAxis(Axis):
    """A column of categories, booleans or codes; each code is one piece."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self.name = attribute.name
        self.codes = np.arange(attribute.size)
        self.shares = np.ones(attribute.size)
        self.missing = np.array([label is None for label in self.labels()], dtype=np.bool_)

    def labels(self) -> list[Any]:
        """See `Axis`."""
        match self.attribute:
            case CategoricalAttribute(categories=categories):
                return [None if category == "" else category for category in categories]
            case BooleanAttribute(nullable=nullable):
                return [False, True, None] if nullable else [False, True]
        return list(range(self.attribute.size))

    def equal(self, value: Literal) -> Truth:
        """See `Axis`."""
        same: Truth = self.codes == self._code(value)
        return same

    def below(self, value: Literal, also: bool) -> Truth:
        """See `Axis`."""
        if not self._numeric:
            if not (isinstance(self.attribute, CategoricalAttribute) and self.attribute.ordered):
                raise DataError(
                    f"the categories of {self.name!r} have no order; compare them with = or IN, or "
                    'declare the attribute "ordered"'
                )
            code = self._code(value)
            return self.codes <= code if also else self.codes < code
        number = _number(self.name, value)
        return self.numbers <= number if also else self.numbers < number

    def like(self, asked: Like) -> Truth:
        """See `Axis`."""
        if self._numeric:
            return super().like(asked)
        known = [label for label in self.labels() if label is not None]
        matching = [label is not None and bool(re.fullmatch(asked.pattern, label)) for label in self.labels()]
        if not any(matching):
            raise DataError(
                f"no value of the column {self.name!r} is like {asked.asked!r}; "
                f"{suggested(asked.asked.strip('%'), known)}"
            )
        return np.array(matching, dtype=np.bool_)

    @property
    def order(self) -> NDArray[np.int64]:
        """See `Axis`; categories without an order are sorted as text."""
        if self._numeric or not isinstance(self.attribute, CategoricalAttribute) or self.attribute.ordered:
            return super().order
        place = np.argsort([label or "" for label in self.labels()], kind="stable")
        return np.argsort(place)

    @cached_property
    def numbers(self) -> Array:
        """See `Axis`."""
        if not self._numeric:
            raise DataError(
                f"the column {self.name!r} holds no numbers; ask for the share of a condition, such as "
                f"SHARE({self.name} = '...'), or for counts by groups"
            )
        return np.array([np.nan if label is None else label for label in self.labels()], dtype=np.float64)

    @property
    def _numeric(self) -> bool:
        return all(label is None or isinstance(label, (bool, int, float)) for label in self.labels())

    def _code(self, value: Literal) -> int:
        reading = self.attribute.read(np.array([text_of(value)], dtype=object))
        other = reading.counted.get("other")
        refused = any(rows[0] for rows, _ in reading.refused.values()) or (
            other is not None and bool(other[0])
        )
        if not refused:
            return int(reading.codes[0])
        known = [text_of(label) for label in self.labels() if label is not None]
        if isinstance(self.attribute, CodedAttribute):
            raise DataError(
                f"the column {self.name!r} holds the codes 0 to {self.attribute.size - 1}; compare with one"
            )
        among = (
            f"; records that have it count as {text_of(self.attribute.other)!r}"
            if isinstance(self.attribute, CategoricalAttribute) and self.attribute.other is not None
            else ""
        )
        raise DataError(
            f"the column {self.name!r} has no value {text_of(value)!r}{among}; "
            f"{suggested(text_of(value), known)}"
        )


class NumberAxis(Axis):
    """A column of numbers or dates; bins are divided where a comparison cuts them."""

    def __init__(self, attribute: Attribute, counts: Array, compared: Sequence[Comparison]) -> None:
        bins = bins_of(attribute)
        if bins is None:
            raise TypeError(f"{attribute.name} has no bins")
        self.attribute, self.bins = attribute, bins
        self.name, self.counts = attribute.name, counts
        cuts: set[Cut] = set()
        for comparison in compared:
            part = getattr(comparison, "part", None)
            if part is not None:
                cuts |= {Cut(float(start), False) for start in starts_of(attribute, part)}
            elif isinstance(comparison, Equal) and text_of(comparison.value) in bins.texts:
                continue
            elif isinstance(comparison, Equal):
                cuts |= {self._cut(comparison.value, also) for also in (False, True)}
            elif isinstance(comparison, Below):
                cuts.add(self._cut(comparison.value, comparison.also))
        self.cuts = sorted(cuts)
        self.pieces: Pieces = divide(bins, counts, self.cuts)
        self.codes = np.append(self.pieces.codes, range(bins.text_codes.start, bins.size))
        self.shares = np.append(self.pieces.shares, np.ones(bins.others))
        self.missing = self.codes >= bins.text_codes.stop

    @property
    def no_number(self) -> Truth:
        """See `Axis`."""
        return self.codes >= self.bins.text_codes.start

    def equal(self, value: Literal) -> Truth:
        """See `Axis`."""
        if (text := text_of(value)) in self.bins.texts:
            same: Truth = self.codes == self.bins.text_codes[self.bins.texts.index(text)]
            return same
        return self.below(value, True) & ~self.below(value, False)

    def below(self, value: Literal, also: bool) -> Truth:
        """See `Axis`."""
        place = self.cuts.index(self._cut(value, also))
        return self._with_missing(self.pieces.intervals <= place, False)

    def parts(self, part: Part) -> NDArray[np.int64]:
        """See `Axis`."""
        if not isinstance(self.attribute, DateAttribute):
            return super().parts(part)
        times = self.attribute.moments.at(np.floor(self.pieces.means).astype(np.int64))
        return self._with_missing(number_of(part, times), -1)

    @property
    def numbers(self) -> Array:
        """See `Axis`."""
        return self._with_missing(self.pieces.means, np.nan)

    @property
    def variances(self) -> Array:
        """See `Axis`."""
        return self._with_missing(self.pieces.variances, 0.0)

    def number_at(self, piece: int, rank: float) -> float:
        """See `Axis`."""
        first, last = self.pieces.ranks[piece]
        place = np.array([first + rank * (last - first)])
        return float(
            self.bins.spread.at(
                self.pieces.codes[piece : piece + 1], self.counts[: len(self.bins.cells)], place
            )[0]
        )

    def value_at(self, number: float) -> Any:
        """See `Axis`."""
        match self.attribute:
            case DateAttribute(moments=Clock() as clock):
                return clock.bound_text(int(np.floor(number)))
            case DateAttribute(moments=moments):
                return moments.at(np.array([np.floor(number)]).astype(np.int64))[0]
        return float(self.bins.written(np.array([number]))[0])

    def labels(self) -> list[Any]:
        """See `Axis`."""
        spans = [self._span(*bounds) for bounds in self.bins.written(self.bins.reach).tolist()]
        return [*spans, *self.bins.texts, *[None] * int(self.bins.nullable)]

    def _span(self, least: float, most: float) -> Any:
        match self.attribute:
            case DateAttribute(moments=moments):
                first, last = moments.bound_text(int(least)), moments.bound_text(int(most))
                return first if first == last else f"{first} to {last}"
        if self.bins.integer:
            return int(least) if least == most else f"{int(least)} to {int(most)}"
        return least if least == most else f"{least:.12g} to {most:.12g}"

    def _cut(self, value: Literal, also: bool) -> Cut:
        match self.attribute:
            case DateAttribute(moments=moments):
                plain = replace(moments, format="")
                for reader in (moments, plain):
                    times, unreadable = reader.read(self.name, np.array([text_of(value)], dtype=object))
                    if not unreadable[0] and not np.isnat(times[0]):
                        unit = moments.unit_numbers(times)
                        begins = moments.at(unit)[0] == times[0]
                        return Cut(float(unit[0]), also or not begins)
                timed = isinstance(moments, Clock)
                held, such = (
                    ("times of day", "a time such as '08:30'")
                    if timed
                    else ("dates", "a date such as '2020-12-31'")
                )
                raise DataError(
                    f"the column {self.name!r} holds {held}; expected {such}, got {text_of(value)!r}; "
                    "fix the query"
                )
        return Cut(_number(self.name, value, self.bins.values_named), also)

    def _with_missing(self, values: NDArray[Any], missing: Any) -> NDArray[Any]:
        return np.append(values, np.full(self.bins.others, missing, dtype=values.dtype))


def _number(name: str, value: Literal, expected: str = "a number") -> float:
    try:
        number = float(value) if not isinstance(value, bool) else np.nan
    except ValueError:
        number = np.nan
    if np.isnan(number):
        raise DataError(
            f"the column {name!r} holds numbers; expected {expected}, got {text_of(value)!r}; fix the query"
        )
    return number
