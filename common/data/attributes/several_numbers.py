"""Texts of several numbers, such as 120/80 and 4 yrs 2 mos: what is between these, and rounded ones."""

from __future__ import annotations

import re

NUMBER = re.compile("[0-9]{1,9}(?:[.,][0-9]{1,9})?")
"""One of several numbers in a text, perhaps with decimals."""

ROUNDED_TO = (1, 2, 5, 10, 20, 50, 100)
"""To multiples of what several numbers in a text are rounded, in units of their last digits."""

_QUARTER = 4
"""A number is rounded to multiples of at most a quarter of it, so that small ones keep a meaning."""

_SMALL = "[0-9]{1,3}([.,][0-9]{1,2})?"
_UNIT, _DEGREES = r" ?[^\W\d_]{1,12}[.]?", "[-+]?[0-9]{1,3}[.][0-9]{2,8}"
SEVERAL_NUMBERS = re.compile(
    rf"(?!0x){_SMALL}(( ?[/:x×*+±] ?| by | of | out of ){_SMALL}){{1,2}}( ?[^\W\d_]{{1,3}})?"
    rf"|{_SMALL}{_UNIT}(,? {_SMALL}{_UNIT}){{1,2}}"
    rf"|-?{_SMALL} ?[(\[]-?{_SMALL}( ?[-\u2013,;] ?| to )-?{_SMALL}[)\]]"
    rf"|[(]?{_DEGREES}[,; ] ?{_DEGREES}[)]?"
)
"""Two or three small numbers, an estimate with an interval, or two coordinates."""

NAMES_OF_PAIRS = re.compile("({[^{}]*}[/:]?)+")
"""A pattern of several numbers that name a row, such as 018/123; others measure something."""


def numbers_in(text: str) -> tuple[float, ...]:
    """The numbers in a text."""
    return tuple(float(number.replace(",", ".")) for number in NUMBER.findall(text))


def form_of_numbers(text: str) -> str:
    """What is between the numbers of a text."""
    return NUMBER.sub("0", text)


def round_numbers(text: str, step: int) -> str:
    """The text with its numbers rounded to one of `ROUNDED_TO`, small ones to a smaller one."""

    def nearest(run: re.Match[str]) -> str:
        digits = re.sub("[.,]", "", run[0])
        number = int(digits)
        unit = max(one for one in ROUNDED_TO if one <= max(1, min(step, number // _QUARTER)))
        rounded = str(round(number / unit) * unit)
        mark = re.search("[.,]", run[0])
        if mark is None:
            return rounded
        decimals = len(run[0]) - mark.end()
        rounded = rounded.zfill(decimals + 1)
        return f"{rounded[:-decimals]}{mark[0]}{rounded[-decimals:]}"

    return NUMBER.sub(nearest, text) if step > 1 else text
