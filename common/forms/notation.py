"""How numbers are written as text: signs and units around them, marks between thousands, decimals."""

from __future__ import annotations

import re
from collections.abc import Collection
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

APOSTROPHES, BLANKS = "'\u2019", " \u00a0\u202f\u2009"
"""Marks between thousands beside commas and points, as typed and as typeset."""

SIGNS = ("(", "-", "+", "=", ")", "\u2212")
"""How signs are written where not by a minus before negative numbers: these in parentheses or with a minus
behind them, positive ones with a plus, negative ones with a minus between a currency and them, or in
parentheses there, or with the minus sign of typography."""

_MARKS, _SIGNS = APOSTROPHES + BLANKS, re.escape("".join(SIGNS))
_PATTERN = re.compile(
    r"(?![=+\-@\t\r\n])[^{}]*"
    rf"\{{(?:(?::(?=[^}}])(?P<sign>[{_SIGNS}]?)(?P<mark>,,|[,{_MARKS}]?)"
    rf"|(?P<or_sign>[{_SIGNS}]?)(?P<or_mark>[.{_MARKS}]?),)"
    r"(?:(?:\.(?P<digits>[0-9])(?P<trimmed>g(?=[Kk]))?)?(?P<exponent>[eEKk])|\.(?P<decimals>[0-9])f)?"
    r"|:0(?P<width>[2-9]|1[0-5])|:g"
    r"|:(?P<pointed>(?:\.(?P<behind>[0-9]))?p))?\}[^{}]*"
)
LAKHS = ",,"
"""In place of a mark: commas before the last three digits and every two before these, as in 12,34,567."""

CURRENCIES = "$£¥฿\u20a0-\u20c0"
"""Signs of currencies, as of a class of characters."""

SIGNED = re.compile(f"[A-Z]{{0,3}}[{CURRENCIES}]")
"""What a sign stands before: a currency, such as US$."""


SIGN_WORDS = (
    *(("CR", "DR"), ("Cr", "Dr"), ("cr", "dr"), ("Cr.", "Dr."), ("H", "S")),
    *(("Haben", "Soll"), ("Credit", "Debit"), ("credit", "debit")),
)
"""What stands behind amounts on the two sides of an account."""

_BY_WORDS = tuple(map("|".join, SIGN_WORDS))

OF_ONE_SIDE = tuple(word for pair in SIGN_WORDS[:4] for word in pair)
"""Words of one side, beside numbers of the other without any."""

FLAGS = (
    *(" HH", " LL", " H", " L", " hh", " ll", " h", " l", " AA", " A", " N"),
    *(" bp", " ep", " b", " c", " e", " f", " n", " p", " r", " u", " z"),
    *("***", "**", "*", "!", "#", "\u2020", "\u2021", "\u2191", "\u2193"),
    *(f"({flag})" for flag in ("H", "L", "A", "N", "b", "c", "e", "p", "r", "s", "u")),
)
"""What stands behind some of the numbers of a column and is no unit: that they are high, low, abnormal or
significant, as laboratories and programs write it, or provisional or estimated, as statistics offices do.
There may be a blank before each, and has to be before letters. What ends with another is before it."""

WITH_FLAGS = "[flag]"
"""In a pattern: one of these may stand behind a number."""


def is_flag(behind: str) -> bool:
    """Whether what stands behind a number is one of `FLAGS`; letters without a blank may be a unit."""
    text = behind.strip()
    return (f" {text}" in FLAGS and behind != text) if text.isalpha() else text in FLAGS


def tail_of(behind: Collection[str], *, beside: bool) -> str:
    """What stands behind numbers and says their sign, or nothing, as in a pattern; empty if it says else.

    Args:
        behind: what stands behind some.
        beside: whether nothing stands behind others.
    """
    found = {text.strip() for text in behind}
    blank = next((text[0] for text in behind if text.startswith(tuple(BLANKS))), "")
    for pair in SIGN_WORDS:
        if found == {*pair}:
            return blank + "|".join(pair)
    if beside and len(found) == 1 and found <= {*OF_ONE_SIDE}:
        return f"|{blank}{found.pop()}"
    return WITH_FLAGS if beside and found and all(map(is_flag, behind)) else ""


@dataclass(frozen=True)
class Notation:
    """How numbers are written as text: around `{}`; `{:,}` with commas between thousands; `{,}` as 1,5.

    Thousands may be divided by an apostrophe or a blank: `{:'}` as 1'234.5, `{: }` as 1 234.5, `{ ,}` as
    1 234,5, `{.,}` as 1.234,5, and `{:,,}` as in India, 12,34,567. With `(`, such as `{:(,}` or `{(,}`,
    negative numbers are in parentheses, without a minus; with `-` their minus is behind them, as 5-; with
    `=` it is behind a currency, as $-5, and with `)` parentheses are, as $(5); with `\u2212` it is
    U+2212; with `+` positive numbers have a plus. With `.2f` before the closing brace, such as `{:.2f}`,
    `{:,.2f}` or `{,.2f}`, numbers have two decimals; with `.2e` or `.2E` they have an exponent too, as
    1.50e-03. With `.1K` or `.1k` they are thousands, millions and so on, as 1.5K and 2.0M, or 2M with
    `.1gK`. In `{:05}` whole numbers have five digits, with zeros in front; in `{:g}` they have no point,
    as 74 beside 79.5; in `{} CR|DR` numbers have the first word behind them, negative ones the second, and in
    `{}| CR` those from zero on none; in `{}[flag]` one of `FLAGS` may stand behind, which means nothing and
    is not written; in `{:p}` and `{:.3p}` those below one begin with theirs, as .184.

    Attributes:
        pattern: such as `{}%`, `${:,.2f}` or `{} kg`.
    """

    pattern: str = "{}"

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str) or not _PATTERN.fullmatch(self.pattern[: LONGEST_PATTERN + 1]):
            raise DataError(
                "format: expected text around {}, or {:,} with commas between thousands, or {,} with a "
                "decimal comma, perhaps with another mark between thousands, another sign and a number of "
                "decimals, such as {}%, ${:,.2f}, {,.1f}, {.,}, {:'} or {:(,}, that does not begin like a "
                "formula; fix the domain"
            )

    def texts_of(self, numbers: NDArray[np.float64]) -> NDArray[np.object_]:
        """The numbers in this notation, shape (N,)."""
        known, position = np.unique(numbers, return_inverse=True)
        return np.array([self._text_of(number) for number in known.tolist()], dtype=object)[position]

    def number_in(self, text: str) -> str:
        """The number in a text, without what the pattern has around it; a number alone stays."""
        before, after = self.around
        cell, sign = text.strip(), ""
        if self.has_flags:
            flag = next(filter(cell.endswith, FLAGS), "")
            return self._without_words.number_in(cell.removesuffix(flag))
        # One of the words may be none.
        for place, word in sorted(enumerate(self.sign_words), key=lambda one: -len(one[1])):
            if cell.endswith(word.strip()):
                return "-" * place + self._without_words.number_in(cell.removesuffix(word.strip()))
        if self.sign == "(" and cell.startswith("(") and cell.endswith(")"):
            cell, sign = cell[1:-1].strip(), "-"
        elif cell.startswith(("-", "+", "\u2212" if self.sign == "\u2212" else "-")):
            cell, sign = cell[1:], "" if cell[0] == "+" else "-"
        cell = cell.removeprefix(before.strip()).removesuffix(after.strip()).strip()
        if self.sign == ")" and cell.startswith("(") and cell.endswith(")") and not sign:
            cell, sign = cell[1:-1], "-"
        for power, letter in enumerate(self.magnitudes):
            cell = re.sub(f"(?<=[0-9.]){letter}$", f"e{3 * power}", cell) if letter else cell
        if self.sign == "-" and cell.endswith("-") and not sign:
            cell, sign = cell[:-1], "-"
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
    def sign(self) -> str:
        """How signs are written, one of `SIGNS`; empty for a minus before negative numbers."""
        return self._parts["sign"] or self._parts["or_sign"] or ""

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
        return alone and not (self.mark or self.decimal_comma or self.sign or self.width)

    @property
    def decimals(self) -> int | None:
        """The number of decimals that every number has; None for as many as it needs."""
        known = self._parts["decimals"] or self._parts["digits"] or self._parts["behind"]
        return None if known is None else int(known)

    @property
    def exponent(self) -> str:
        """What is written before an exponent, e or E, or for thousands; empty if numbers have none."""
        return self._parts["exponent"] or ""

    @property
    def magnitudes(self) -> tuple[str, ...]:
        """What stands behind numbers, thousands, millions and so on of them; empty if nothing does."""
        return ("", self.exponent, "M", "B", "T") if self.exponent and self.exponent in "Kk" else ()

    @property
    def has_bare_point(self) -> bool:
        """Whether numbers below one begin with their point, as .5."""
        return self._parts["pointed"] is not None

    @property
    def width(self) -> int:
        """The number of digits that numbers have at least, with zeros in front; 0 if they have none there."""
        return int(self._parts["width"] or 0)

    def with_decimals(self, decimals: int) -> Notation:
        """The same notation, in which every number has so many decimals."""
        last = self.exponent or "p" * self.has_bare_point
        end = f".{decimals}{last or 'f'}}}"
        return Notation(self.pattern.replace("{}", "{:}").replace(f"{last}}}", end))

    def without_zeros(self) -> Notation:
        """The same notation of thousands and so on of some decimals, without zeros at their end."""
        return Notation(self.pattern.replace(f"{self.exponent}}}", f"g{self.exponent}}}"))

    def round_as_written(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The numbers as they are written before an exponent of a number of decimals; others as they are."""
        if not self.exponent or self.decimals is None:
            return numbers
        if self.magnitudes:
            return np.array([float(self.number_in(self._text_of(number))) for number in numbers.tolist()])
        return np.array([float(f"{number:.{self.decimals}e}") for number in numbers.tolist()])

    def _text_of(self, number: float) -> str:
        if self.has_flags:
            return self._without_words._text_of(number)
        if self.sign_words:
            return self._without_words._text_of(abs(number)) + self.sign_words[number < 0]
        size = abs(number)
        plain = int(size) if size.is_integer() and size <= LARGEST_WHOLE else size
        grouped = "," if self.mark else ""
        if self.magnitudes:
            text = self._by_magnitude(size)
        elif self.exponent and self.decimals is None:
            text = np.format_float_scientific(size, trim="-", exp_digits=2)
        else:
            kind = "" if self.decimals is None else f".{self.decimals}{self.exponent or 'f'}"
            text = format(plain, f"{grouped}{kind}")
        text = text.replace("e", self.exponent or "e").zfill(self.width)
        text = text[1:] if self.has_bare_point and text.startswith("0.") else text
        if self.mark or self.decimal_comma:
            text = _in_lakhs(text) if self.mark == LAKHS else text
            text = text.translate({ord(","): self.mark[:1], ord("."): "," if self.decimal_comma else "."})
        first, last = self._signs(number)
        around = self.sign == "(" or (self.sign not in ("=", ")") and SIGNED.match(self.pattern))
        if not around or last == "-":
            text, first, last = f"{first}{text}{last}", "", ""
        return first + re.sub(r"\{.*\}", lambda _: text, self.pattern) + last

    def _by_magnitude(self, size: float) -> str:
        """A number of at least 0 as thousands, millions and so on."""
        decimals = self.decimals or 0
        texts = [
            (f"{size / 1000**power:.{decimals if power else 0}f}", letter)
            for power, letter in enumerate(self.magnitudes)
        ]
        text, letter = next((one for one in texts if float(one[0]) < 1000), texts[-1])
        return (text.rstrip("0").rstrip(".") if self._parts["trimmed"] and "." in text else text) + letter

    def _signs(self, number: float) -> tuple[str, str]:
        """What is written before and behind a number for its sign."""
        if number >= 0:
            return "+" if self.sign == "+" and number else "", ""
        signs = {"(": ("(", ")"), ")": ("(", ")"), "-": ("", "-"), "\u2212": ("\u2212", "")}
        return signs.get(self.sign, ("-", ""))

    @cached_property
    def _parts(self) -> dict[str, str | None]:
        match = _PATTERN.fullmatch(self.pattern)
        assert match is not None, "it was checked"
        return match.groupdict()

    @cached_property
    def sign_words(self) -> tuple[str, ...]:
        """What stands behind numbers from zero on, and behind negative ones; empty if nothing says it."""
        if self.around[1].startswith("|") and self.around[1][1:].strip() in OF_ONE_SIDE:
            return ("", self.around[1][1:])
        blank, words = re.fullmatch(f"([{BLANKS}]?)(.*)", self.around[1], re.DOTALL).groups()  # type: ignore[union-attr]
        return tuple(blank + word for word in words.split("|")) if words in _BY_WORDS else ()

    @property
    def has_flags(self) -> bool:
        """Whether one of `FLAGS` may stand behind a number."""
        return self.pattern.endswith(WITH_FLAGS)

    @cached_property
    def _without_words(self) -> Notation:
        return Notation(self.pattern.removesuffix(self.around[1]))

    @cached_property
    def around(self) -> tuple[str, str]:
        """What stands before the number, and behind it."""
        before, after = re.split(r"\{.*\}", self.pattern)
        return before, after

    @cached_property
    def _thousands(self) -> re.Pattern[str]:
        return re.compile(f"[{self.marks}]")

    @cached_property
    def _number_pattern(self) -> re.Pattern[str]:
        """A number in this notation, with marks between thousands if there are any."""
        thousands = rf"[0-9]{{1,3}}({self._thousands.pattern}[0-9]{{3}})+"
        if self.decimal_comma:
            return re.compile(rf"([0-9]+|{thousands})(,[0-9]*)?([eE][-+]?[0-9]+)?")
        if self.mark == LAKHS:
            thousands = "[0-9]{1,2}(,[0-9]{2})*,[0-9]{3}"
        return re.compile(rf"{thousands}(\.[0-9]*)?")


def _in_lakhs(text: str) -> str:
    """A number with commas between thousands, with commas as in India."""
    whole, point, decimals = text.replace(",", "").partition(".")
    pairs = re.sub("(?<=[0-9])(?=([0-9]{2})+$)", ",", whole[:-3])
    return f"{pairs}{',' if pairs else ''}{whole[-3:]}{point}{decimals}"


PLAIN = Notation()
"""Numbers alone."""
