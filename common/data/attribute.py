"""One column of a table as a finite set of codes: encoding of raw values, and decoding."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .values import LARGEST_WHOLE, RawColumn, read_numbers, read_texts, refuse_rows, text_of

Category = str | int | float | bool

ABSENT = "absent"
"""The category of people whom the party that holds an attribute does not have."""

LARGEST_SIZE = 2**24
"""Largest number of codes of an attribute."""


class Attribute(ABC):
    """A named column whose values are encoded as codes 0 to size - 1."""

    name: str

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of codes."""

    @abstractmethod
    def encode(self, values: RawColumn) -> NDArray[np.int64]:
        """The code of each raw value.

        Args:
            values: shape (N,): text or numbers; None, NaN, a masked cell or "" is a missing value.

        Raises:
            DataError: a value has no code; names the column and the row (from 1), never the value.
        """

    @abstractmethod
    def decode(self, codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[Any]:
        """A raw value for each code; encoding it gives the code again."""

    @abstractmethod
    def to_json(self) -> int | list[Category] | dict[str, Any]:
        """The entry of this attribute in a domain file."""

    @abstractmethod
    def with_absent(self) -> Attribute:
        """This attribute with one more code, the last, for people whom its party does not have.

        Raises:
            DataError: another value could not be told from it.
        """


@dataclass(frozen=True)
class CodedAttribute(Attribute):
    """A column that already holds codes 0 to n - 1."""

    name: str
    n: int

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_size(self.name, self.n, "codes")

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.n

    def encode(self, values: RawColumn) -> NDArray[np.int64]:
        """The codes, from whole numbers or their text; a missing value is refused."""
        numbers = read_numbers(self.name, values)
        refuse_rows(
            self.name,
            np.isnan(numbers),
            'expected a code, found a missing value; list categories with "" among them or fix the row',
        )
        refuse_rows(
            self.name,
            (numbers < 0) | (numbers > self.n - 1) | (numbers != np.floor(numbers)),
            f"expected a whole number from 0 to {self.n - 1}, found another; fix the row or the domain",
        )
        return numbers.astype(np.int64)

    def decode(self, codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[np.int64]:
        """The codes themselves."""
        return codes.astype(np.int64)

    def to_json(self) -> int:
        """The number of codes."""
        return self.n

    def with_absent(self) -> CodedAttribute:
        """Codes 0 to n, the last for absent people."""
        return CodedAttribute(self.name, self.n + 1)


@dataclass(frozen=True)
class CategoricalAttribute(Attribute):
    """A column that holds one of a list of categories; "" in the list stands for a missing value.

    A cell matches a category by its JSON text, so that "1" in a CSV is category 1; True and TRUE match
    JSON true; a number matches a number category of the same value however it is written.
    """

    name: str
    categories: tuple[Category, ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_size(self.name, len(self.categories), "categories")
        for category in self.categories:
            if not isinstance(category, (str, int, float)) or (
                isinstance(category, float) and not math.isfinite(category)
            ):
                raise DataError(
                    f"attribute {self.name!r}: expected categories that are text, finite numbers, true or "
                    'false; write a missing value as ""'
                )
        if len({text_of(category) for category in self.categories}) < len(self.categories):
            raise DataError(
                f'attribute {self.name!r}: a category is listed twice (1, 1.0 and "1" are the same); '
                "list each once"
            )

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.categories)

    def encode(self, values: RawColumn) -> NDArray[np.int64]:
        """The position of each value in the list; a missing value needs "" in the list."""
        texts, position = read_texts(self.name, values)
        known = np.array([self._code(text) for text in texts], dtype=np.int64)
        empty = np.array([text == "" for text in texts], dtype=np.bool_)
        codes: NDArray[np.int64] = known[position]
        refuse_rows(
            self.name,
            (codes < 0) & empty[position],
            'expected a category, found a missing value; add "" to the categories or fix the row',
        )
        refuse_rows(
            self.name,
            codes < 0,
            "expected one of the categories of the domain, found another value; "
            "add it to the categories or fix the row",
        )
        return codes

    def decode(self, codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[Any]:
        """The categories, as int64, float64 or bool where all are of that type, otherwise as objects."""
        types = {type(category) for category in self.categories}
        natural = types in ({int}, {float}, {bool})
        categories: NDArray[Any] = np.array(self.categories, dtype=None if natural else object)
        decoded: NDArray[Any] = categories[codes]
        return decoded

    def to_json(self) -> list[Category]:
        """The categories."""
        return list(self.categories)

    def with_absent(self) -> CategoricalAttribute:
        """The same categories and `ABSENT`."""
        if ABSENT in self._codes:
            raise DataError(
                f"attribute {self.name!r}: its category {ABSENT!r} would stand for people whom its party "
                'does not have; rename the category, or choose population = "everywhere"'
            )
        return CategoricalAttribute(self.name, (*self.categories, ABSENT))

    @cached_property
    def _codes(self) -> dict[str, int]:
        codes = {text_of(category): code for code, category in enumerate(self.categories)}
        for code, category in enumerate(self.categories):
            if isinstance(category, bool):
                codes.setdefault(str(category), code)
                codes.setdefault(str(category).upper(), code)
        return codes

    @cached_property
    def _number_codes(self) -> dict[float, int]:
        return {
            float(category): code
            for code, category in enumerate(self.categories)
            if isinstance(category, (int, float)) and not isinstance(category, bool)
        }

    def _code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None and self._number_codes:
            try:
                code = self._number_codes.get(float(text))
            except ValueError:
                code = None
        return -1 if code is None else code


@dataclass(frozen=True)
class NumericAttribute(Attribute):
    """A column of numbers from minimum to maximum, divided into bins; values outside are clipped.

    Integer bins divide minimum..maximum into runs of integers of nearly equal length; real bins are of equal
    width, closed below, and the maximum belongs to the last. A nullable attribute has one more code, the
    last, for a missing value. By default `integer` is true if each bin holds one integer.
    """

    name: str
    minimum: float
    maximum: float
    bins: int
    nullable: bool = False
    integer: bool | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        bounds = (self.minimum, self.maximum)
        if not all(_is_number(bound) and abs(bound) < 1e300 for bound in bounds):
            raise DataError(
                f"attribute {self.name!r}: expected finite numbers as min and max; fix the domain"
            )
        _check_size(self.name, self.bins, "bins")
        if not isinstance(self.nullable, bool) or not isinstance(self.integer, (bool, type(None))):
            raise DataError(
                f"attribute {self.name!r}: nullable and integer are true or false; fix the domain"
            )
        whole = all(float(bound).is_integer() and abs(bound) <= LARGEST_WHOLE for bound in bounds)
        integers = int(self.maximum) - int(self.minimum) + 1
        if self.integer is None:
            object.__setattr__(self, "integer", whole and self.bins == integers)
        if self.integer and not (whole and 1 <= self.bins <= integers):
            raise DataError(
                f"attribute {self.name!r}: integer bins need whole bounds, min <= max, and no more bins than "
                f"integers; got min {self.minimum}, max {self.maximum}, {self.bins} bins"
            )
        if not self.integer and self.minimum >= self.maximum:
            raise DataError(
                f"attribute {self.name!r}: expected min below max, got min {self.minimum}, max {self.maximum}"
            )
        if not np.all(np.diff(self._edges) > 0):
            raise DataError(f"attribute {self.name!r}: bins too narrow for float64; declare fewer bins")

    @property
    def size(self) -> int:
        """The number of bins, plus one for a missing value if nullable."""
        return self.bins + int(self.nullable)

    def encode(self, values: RawColumn) -> NDArray[np.int64]:
        """The bin of each number after clipping to the bounds; the last code for a missing value."""
        numbers = read_numbers(self.name, values)
        missing = np.isnan(numbers)
        if not self.nullable:
            refuse_rows(
                self.name,
                missing,
                "expected a number, found a missing value; declare the attribute nullable or fix the row",
            )
        if self.integer:
            refuse_rows(
                self.name,
                (numbers != np.floor(numbers)) & ~missing,
                'expected a whole number, found a fraction; declare "integer": false or fix the row',
            )
        codes = np.searchsorted(self._edges[1:-1], numbers, side="right").astype(np.int64)
        codes[missing] = self.bins
        return codes

    def decode(self, codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[Any]:
        """A uniform draw from each bin, int64 or float64; missing is None among integers, otherwise NaN."""
        missing = codes == self.bins
        bins = np.where(missing, 0, codes).astype(np.int64)
        low, high = self._edges[bins], self._edges[bins + 1]
        if self.integer:
            integers = rng.integers(low.astype(np.int64), high.astype(np.int64))
            if not self.nullable:
                return integers
            values = integers.astype(object)
            values[missing] = None
            return values
        numbers = np.clip(low + rng.random(len(bins)) * (high - low), low, np.nextafter(high, low))
        numbers[missing] = np.nan
        return numbers

    def to_json(self) -> dict[str, Any]:
        """Bounds, bins and flags, including defaults."""
        bounds = [
            int(b) if float(b).is_integer() and abs(b) <= LARGEST_WHOLE else float(b)
            for b in (self.minimum, self.maximum)
        ]
        return {
            "type": "numeric",
            "min": bounds[0],
            "max": bounds[1],
            "bins": self.bins,
            "nullable": self.nullable,
            "integer": bool(self.integer),
        }

    def with_absent(self) -> NumericAttribute:
        """The same bins and an empty cell."""
        if self.nullable:
            raise DataError(
                f"attribute {self.name!r}: its missing values could not be told from people whom its party "
                'does not have; declare categories, or choose population = "everywhere"'
            )
        return replace(self, nullable=True)

    @cached_property
    def _edges(self) -> NDArray[np.float64]:
        """Shape (bins + 1,): bin b is edges[b] <= value < edges[b + 1]."""
        if not self.integer:
            return np.linspace(self.minimum, self.maximum, self.bins + 1)
        run, longer = divmod(int(self.maximum) - int(self.minimum) + 1, self.bins)
        bins = np.arange(self.bins + 1, dtype=np.int64)
        return (int(self.minimum) + bins * run + np.minimum(bins, longer)).astype(np.float64)


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name:
        raise DataError("an attribute's name is text that is not empty; name the column")


def _check_size(name: str, size: int, what: str) -> None:
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= LARGEST_SIZE:
        raise DataError(f"attribute {name!r}: expected from 1 to {LARGEST_SIZE} {what}; fix the domain")


def _is_number(bound: object) -> bool:
    return isinstance(bound, (int, float)) and not isinstance(bound, bool) and math.isfinite(bound)
