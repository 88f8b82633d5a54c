"""How numbers are written as text: signs and units around them, marks between thousands, decimals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import DataError
from ..later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_WHOLE = 2**53
"""Every whole number up to this is exact as a float64."""

LONGEST_PATTERN = 200
"""Characters of a format: each value of a column may be written in it."""

APOSTROPHES, BLANKS = "'\u2019", " \u00a0\u202f"
"""Marks between thousands beside commas and points, as typed and as typeset."""

_MARKS = APOSTROPHES + BLANKS
_PATTERN = re.compile(
    r"(?![=+\-@\t\r\n])[^{}]*"
    rf"\{{(?:(?::(?=[^}}])(?P<negative>\(?)(?P<mark>[,{_MARKS}]?)|(?P<or_negative>\(?)(?P<or_mark>[{_MARKS}]?),)"
    r"(?:\.(?P<decimals>[0-9])f)?)?\}[^{}]*"
)
_CURRENCIES = ("$", "€", "£", "¥")
"""A minus stands before these."""


@dataclass(frozen=True)
class Notation:
    """How numbers are written as text: around `{}`; `{:,}` with commas between thousands; `{,}` as 1,5.

    Thousands may be divided by an apostrophe or a blank: `{:'}` as 1'234.5, `{: }` as 1 234.5, `{ ,}` as
    1 234,5. With `(`, such as `{:(,}` or `{(,}`, negative numbers are in parentheses, without a minus. With
    `.2f` before the closing brace, such as `{:.2f}`, `{:,.2f}` or `{,.2f}`, numbers have two decimals.

    Attributes:
        pattern: such as `{}%`, `${:,.2f}` or `{} kg`.
    """

    pattern: str = "{}"

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str) or not _PATTERN.fullmatch(self.pattern[: LONGEST_PATTERN + 1]):
            raise DataError(
                "format: expected text around {}, or {:,} with commas between thousands, or {,} with a "
                "decimal comma, perhaps with another mark between thousands, parentheses for a minus and a "
                "number of decimals, such as {}%, ${:,.2f}, {,.1f}, {:'} or {:(,}, that does not begin like "
                "a formula; fix the domain"
            )

    def texts_of(self, numbers: NDArray[np.float64]) -> NDArray[np.object_]:
        """The numbers in this notation, shape (N,)."""
        known, position = np.unique(numbers, return_inverse=True)
        return np.array([self._text_of(number) for number in known.tolist()], dtype=object)[position]

    def number_in(self, text: str) -> str:
        """The number in a text, without what the pattern has around it; a number alone stays."""
        before, after = self._around
        cell, sign = text.strip(), ""
        if self.in_parentheses and cell.startswith("(") and cell.endswith(")"):
            cell, sign = cell[1:-1].strip(), "-"
        elif before and cell.startswith("-"):
            cell, sign = cell[1:], "-"
        cell = cell.removeprefix(before).removesuffix(after).strip()
        if self.decimal_comma and cell:
            plain = self._thousands.sub("", cell).replace(",", ".")
            return sign + plain if self._number_pattern.fullmatch(cell.removeprefix("-")) else "?"
        if self.mark and self._number_pattern.fullmatch(cell.removeprefix("-")):
            cell = self._thousands.sub("", cell)
        return sign + cell if cell else text

    @property
    def decimal_comma(self) -> bool:
        """Whether a comma divides whole numbers from fractions; points may stand between thousands."""
        return self._parts["or_mark"] is not None

    @property
    def in_parentheses(self) -> bool:
        """Whether negative numbers are in parentheses."""
        return bool(self._parts["negative"] or self._parts["or_negative"])

    @property
    def mark(self) -> str:
        """What is written between thousands; empty for nothing."""
        return self._parts["mark"] or self._parts["or_mark"] or ""

    @property
    def marks(self) -> str:
        """What is read between thousands: whatever looks like the mark, and points before a decimal comma."""
        alike = next(
            (marks for marks in (APOSTROPHES, BLANKS) if self.mark and self.mark in marks), self.mark
        )
        return alike + "." * self.decimal_comma

    @property
    def plain(self) -> bool:
        """Whether texts in this notation are numbers to every reader, such as 12.50."""
        alone = self.pattern.startswith("{") and self.pattern.endswith("}")
        return alone and not self.mark and not self.decimal_comma and not self.in_parentheses

    @property
    def decimals(self) -> int | None:
        """The number of decimals that every number has; None for as many as it needs."""
        known = self._parts["decimals"]
        return None if known is None else int(known)

    def with_decimals(self, decimals: int) -> Notation:
        """The same notation, in which every number has so many decimals."""
        return Notation(self.pattern.replace("{}", "{:}").replace("}", f".{decimals}f}}"))

    def _text_of(self, number: float) -> str:
        if number < 0 and self.in_parentheses:
            return f"({self._text_of(-number)})"
        if number < 0 and self.pattern.startswith(_CURRENCIES):
            return f"-{self._text_of(-number)}"
        plain = int(number) if number.is_integer() and abs(number) <= LARGEST_WHOLE else number
        grouped = "," if self.mark else ""
        text = format(plain, grouped if self.decimals is None else f"{grouped}.{self.decimals}f")
        if self.mark or self.decimal_comma:
            text = text.translate({ord(","): self.mark, ord("."): "," if self.decimal_comma else "."})
        return re.sub(r"\{.*\}", lambda _: text, self.pattern)

    @cached_property
    def _parts(self) -> dict[str, str | None]:
        match = _PATTERN.fullmatch(self.pattern)
        assert match is not None, "it was checked"
        return match.groupdict()

    @cached_property
    def _around(self) -> tuple[str, str]:
        before, after = re.split(r"\{.*\}", self.pattern)
        return before.strip(), after.strip()

    @cached_property
    def _thousands(self) -> re.Pattern[str]:
        return re.compile(f"[{self.marks}]")

    @cached_property
    def _number_pattern(self) -> re.Pattern[str]:
        """A number in this notation, with marks between thousands if there are any."""
        thousands = rf"[0-9]{{1,3}}({self._thousands.pattern}[0-9]{{3}})+"
        if self.decimal_comma:
            return re.compile(rf"([0-9]+|{thousands})(,[0-9]*)?([eE][-+]?[0-9]+)?")
        return re.compile(rf"{thousands}(\.[0-9]*)?")


PLAIN = Notation()
"""Numbers alone."""
