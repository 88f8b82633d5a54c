"""Attributes whose values are codes or categories."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..values import RawColumn, blank_texts, read_numbers, read_texts, text_of
from .attribute import ABSENT, Attribute, Reading, check_missing, check_name, check_size
from .several_numbers import form_of_numbers, numbers_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

Category = str | int | float | bool


@dataclass(frozen=True)
class CodedAttribute(Attribute):
    """A column that already holds codes 0 to n - 1."""

    name: str
    n: int
    reviewed: bool = True

    def __post_init__(self) -> None:
        check_name(self.name)
        check_size(self.name, self.n, "codes")

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.n

    def read(self, values: RawColumn) -> Reading:
        """The codes, from whole numbers or their text; a missing value is refused."""
        numbers, unreadable = read_numbers(self.name, values)
        empty = np.isnan(numbers) & ~unreadable
        known = (numbers >= 0) & (numbers <= self.n - 1) & (numbers == np.floor(numbers))
        return Reading(
            np.where(known, numbers, 0).astype(np.int64),
            refused={
                "unreadable": (unreadable, "expected a code, found text; fix the row or list categories"),
                "empty": (
                    empty,
                    'expected a code, found a missing value; list categories with "" among them or fix the '
                    "row",
                ),
                "outside": (
                    ~(known | unreadable | empty),
                    f"expected a whole number from 0 to {self.n - 1}, found another; fix the row or the "
                    "domain",
                ),
            },
        )

    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        counts: NDArray[np.integer[Any]] | None = None,
    ) -> NDArray[np.int64]:
        """The codes themselves."""
        return codes.astype(np.int64)

    def to_json(self) -> int | dict[str, Any]:
        """The number of codes."""
        return self.n if self.reviewed else {"type": "codes", "n": self.n, "reviewed": False}

    def with_absent(self) -> CodedAttribute:
        """Codes 0 to n, the last for absent people."""
        return replace(self, n=self.n + 1)


@dataclass(frozen=True)
class CategoricalAttribute(Attribute):
    """A column that holds one of a list of categories; "" in the list stands for a missing value.

    A cell matches a category by its JSON text, so that "1" in a CSV is category 1; True and TRUE match
    JSON true; a number matches a number category of the same value however it is written.

    Attributes:
        name: name of the column.
        categories: distinct, in the order of their codes.
        other: the category, one of `categories`, that stands for all values that are not listed; None to
            refuse them.
        ordered: whether the categories are in an order that has a meaning, such as sizes.
        open: whether a release chooses the categories by partition selection; `categories` are those that
            are known before.
        prefixes: whether a text that is not listed counts as the longest listed text with which it begins.
        nearest: whether a text of numbers, such as 128/79, that is not listed counts as the listed one with
            the same between its numbers, to which these are nearest.
        reviewed: see `Attribute`.
        missing: see `Attribute`.
    """

    name: str
    categories: tuple[Category, ...]
    other: str | None = field(default=None, kw_only=True)
    ordered: bool = field(default=False, kw_only=True)
    open: bool = field(default=False, kw_only=True)
    prefixes: bool = field(default=False, kw_only=True)
    nearest: bool = field(default=False, kw_only=True)
    reviewed: bool = field(default=True, kw_only=True)
    missing: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_size(self.name, len(self.categories), "categories")
        check_missing(self.name, self.missing)
        if {text_of(category) for category in self.categories}.intersection(self.missing):
            raise DataError(
                f"attribute {self.name!r}: a category stands among missing too; list it in one of the two"
            )
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
        if not all(
            isinstance(flag, bool)
            for flag in (self.ordered, self.open, self.prefixes, self.nearest, self.reviewed)
        ):
            raise DataError(
                f"attribute {self.name!r}: ordered, open, prefixes, nearest and reviewed are true or false; "
                "fix the domain"
            )
        if (self.other is not None and self.other not in self.categories) or (
            self.open and self.other is None
        ):
            raise DataError(
                f"attribute {self.name!r}: other names one of the categories, and open categories need it; "
                "fix the domain"
            )

    @property
    def size(self) -> int:
        """The number of categories."""
        return len(self.categories)

    def read(self, values: RawColumn) -> Reading:
        """The position of each value in the list; a missing value needs "" in the list."""
        texts, position = read_texts(self.name, blank_texts(values, self.missing))
        empty = np.array([text == "" for text in texts], dtype=np.bool_)
        known = np.array([self._code(text) for text in texts], dtype=np.int64)
        unlisted = (known < 0) & ~empty
        if self.other is not None:
            known[unlisted] = self.categories.index(self.other)
        codes, empty, unlisted = known[position], empty[position], unlisted[position]
        nothing = np.zeros(len(codes), dtype=np.bool_)
        taken = self.other is not None
        return Reading(
            codes,
            {"missing": empty & (codes >= 0), "other": unlisted if taken else nothing},
            {
                "empty": (
                    empty & (codes < 0),
                    'expected a category, found a missing value; add "" to the categories or fix the row',
                ),
                "unlisted": (
                    nothing if taken else unlisted,
                    "expected one of the categories of the domain, found another value; "
                    "add it to the categories or fix the row",
                ),
            },
        )

    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        counts: NDArray[np.integer[Any]] | None = None,
    ) -> NDArray[Any]:
        """The categories, as int64, float64 or bool where all are of that type, otherwise as objects."""
        types = {type(category) for category in self.categories}
        natural = types in ({int}, {float}, {bool})
        categories: NDArray[Any] = np.array(self.categories, dtype=None if natural else object)
        decoded: NDArray[Any] = categories[codes]
        return decoded

    def to_json(self) -> list[Category] | dict[str, Any]:
        """The categories, or an object where there is more to say."""
        more: dict[str, Any] = {} if self.other is None else {"other": self.other}
        more |= {key: True for key in ("ordered", "open", "prefixes", "nearest") if getattr(self, key)}
        more |= {"missing": list(self.missing)} if self.missing else {}
        more |= {} if self.reviewed else {"reviewed": False}
        listed = list(self.categories)
        return {"type": "categorical", "categories": listed} | more if more else listed

    def with_absent(self) -> CategoricalAttribute:
        """The same categories and `ABSENT`."""
        if ABSENT in self.codes:
            raise DataError(
                f"attribute {self.name!r}: its category {ABSENT!r} would stand for people whom its party "
                'does not have; rename the category, or choose population = "everywhere"'
            )
        return replace(self, categories=(*self.categories, ABSENT))

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each text that is listed, or that writes a listed boolean otherwise."""
        codes = {text_of(category): code for code, category in enumerate(self.categories)}
        for code, category in enumerate(self.categories):
            if isinstance(category, bool):
                codes.setdefault(str(category), code)
                codes.setdefault(str(category).upper(), code)
        return codes

    @cached_property
    def number_codes(self) -> dict[float, int]:
        """The code of each listed number; a text that is read as the number has it too."""
        return {
            float(category): code
            for code, category in enumerate(self.categories)
            if isinstance(category, (int, float)) and not isinstance(category, bool)
        }

    def _code(self, text: str) -> int:
        code = self._code_in_list(text)
        if code < 0 and self.prefixes:
            beginnings = (self.codes.get(text[:length], -1) for length in reversed(range(1, len(text))))
            return next((found for found in beginnings if found >= 0), -1)
        if code < 0 and self.nearest:
            numbers = numbers_in(text)
            alike = self._by_form.get(form_of_numbers(text), ()) if numbers else ()
            known = [(math.dist(numbers, listed), code) for listed, code in alike]
            return min(known, default=(0.0, -1))[1]
        return code

    @cached_property
    def _by_form(self) -> dict[str, list[tuple[tuple[float, ...], int]]]:
        """What is between the numbers of listed texts -> these numbers and the code of each."""
        found: dict[str, list[tuple[tuple[float, ...], int]]] = {}
        for text, code in self.codes.items():
            found.setdefault(form_of_numbers(text), []).append((numbers_in(text), code))
        return found

    def _code_in_list(self, text: str) -> int:
        code = self.codes.get(text)
        if code is None and self.number_codes and "_" not in text:
            try:
                code = self.number_codes.get(float(text))
            except ValueError:
                code = None
        return -1 if code is None else code
