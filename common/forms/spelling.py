"""How a text writes a number: what is read off one text, from which the notation of a column follows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from .notation import APOSTROPHES, BLANKS, CURRENCIES, LAKHS, SIGNED, SIGNS

_MARKS = APOSTROPHES + BLANKS
CODES_OF_CURRENCIES = "USD|EUR|GBP|CHF|AUD|CAD|NZD|JPY|CNY|INR|SEK|NOK|DKK|PLN|BRL|MXN|ZAR|IDR"
"""Those that may stand right before digits, as alternatives of a regular expression."""

_TEXT = re.compile(
    rf"(?P<open>\()?(?P<first>[-+{SIGNS[-1]}])?(?P<before>(?:{SIGNED.pattern}|(?:kr|Rs|Rp|RM|Fr)[.]?)[{BLANKS}]?"
    rf"|[A-Z]{{3}}[{BLANKS}]|(?:{CODES_OF_CURRENCIES}))?(?P<inner>-|(?P<within>\())?"
    rf"(?P<digits>[0-9](?:[0-9.,{_MARKS}]*[0-9.,])?|[.][0-9]+)(?P<last>(?<![.,])-)?(?(within)\))"
    rf"(?P<after>[{BLANKS}]?(?:[%‰{CURRENCIES}!#\u2020\u2021\u2191\u2193]|[*]{{1,3}}|[(][A-Za-z][)]|/-|[.,](?:--?|[\u2013\u2014])|[{CURRENCIES}]?"
    rf"(?:[^\W\d_]|[°℃℉/]|(?<=°) ){{1,12}}[.]?(?:[{BLANKS}](?:[{CURRENCIES}]|[^\W\d_]{{1,12}}[.]?))?)"
    rf"|[{BLANKS}](?:[^\W\d_]|[x×]?[0-9]{{2}}[\^*][0-9])(?:[^\W_]|[°/^*·.-]){{0,14}})?(?(open)\))"
)
"""A number with a sign, a currency, a percent sign or a unit, such as 34 years, or a dash for decimals.

A unit behind a blank may have digits, as kg/m2 and 10^9/L have.
"""

_PLAIN = re.compile(r"(?:0|[1-9][0-9]*)(?:[.](?P<decimals>[0-9]*))?|[.](?P<only>[0-9]+)")
_THOUSANDS = "[1-9][0-9]{0,2}"
_BY_COMMAS = re.compile(rf"{_THOUSANDS}(?:,[0-9]{{3}})+(?:[.](?P<decimals>[0-9]*))?")
_BY_POINTS = re.compile(
    rf"{_THOUSANDS}(?:[.][0-9]{{3}}){{2,}}|{_THOUSANDS}(?:[.][0-9]{{3}})+,(?P<decimals>[0-9]+)"
)
_BY_LAKHS = re.compile(r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:[.](?P<decimals>[0-9]*))?")
_COMMA = re.compile(r"(?:0|[1-9][0-9]*),(?P<decimals>[0-9]+)")
_BY_MARKS = re.compile(
    rf"{_THOUSANDS}(?P<mark>[{_MARKS}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*(?:(?P<decimal>[.,])(?P<decimals>[0-9]*))?"
)


POINTED = "{:p}"
"""The notation of numbers of which those below one begin with their point, such as .184."""


@dataclass(frozen=True)
class Spelling:
    """How a text writes a number; see `Notation`.

    Attributes:
        before: what stands before the number.
        after: what stands behind it.
        mark: between thousands; see `Notation.mark`.
        decimal_comma: whether a comma divides whole numbers from fractions.
        sign: how a negative number is marked, or "+"; empty for a usual minus, and for none.
        decimals: digits of the fraction; None if there is neither point nor comma before them.
        pointed: whether nothing stands before its point.
        either: whether its comma before three digits may divide thousands or a fraction.
    """

    before: str = ""
    after: str = ""
    mark: str = ""
    decimal_comma: bool = False
    sign: str = ""
    decimals: str | None = None
    pointed: bool = False
    either: bool = False

    @property
    def pattern(self) -> str:
        """The notation."""
        if self.pointed and not self.before + self.after + self.sign:
            return POINTED
        marks = f"{self.mark}," if self.decimal_comma else self.mark
        colon = "" if self.decimal_comma or not self.sign + marks else ":"
        return f"{self.before}{{{colon}{self.sign}{marks}}}{self.after}"

    def simpler(self) -> Iterator[Spelling]:
        """This, then with less of what is only typeset, of any unit, without points or signs to spare."""
        if self.pointed:
            yield self
            yield from replace(self, pointed=False).simpler()
            return
        yield self
        typed = replace(
            self,
            mark=self.mark.translate(TYPED),
            before=self.before.translate(TYPED),
            after=self.after.translate(TYPED),
        )
        yield typed
        unknown = replace(
            typed,
            before=_WORD.sub(UNKNOWN, typed.before),
            after=_WORD.sub(UNKNOWN, typed.after),
        )
        yield unknown
        if typed.mark == ".":
            yield replace(typed, mark="")
            yield replace(unknown, mark="")
        if self.sign in ("+", "="):
            yield from replace(self, sign="").simpler()


def thousands_in(units: Collection[str], beside: bool) -> str:
    """What stands for thousands, if units behind numbers are thousands, millions and so on; empty if not.

    Args:
        units: what stands behind numbers.
        beside: whether there are numbers with nothing behind them, so that thousands alone are no unit.
    """
    found = {unit.strip() for unit in units}
    known = next((letter for letter in "Kk" if letter in found), "K")
    return (
        known if (len(found) > 1 or (beside and known in found)) and found <= {known, "M", "B", "T"} else ""
    )


_WHOLE_BY_POINTS = re.compile("[^0-9.,]*(0|[1-9][0-9]{0,2}(?P<more>([.][0-9]{3})*))[^0-9.,]*")


def by_points(texts: Collection[str]) -> bool:
    """Whether points divide thousands in all of some numbers, and no fraction.

    Smaller ones have no point, and some that have one end with a zero, which fractions of several lengths do
    not.
    """
    found = [_WHOLE_BY_POINTS.fullmatch(text) for text in texts]
    if not all(found):
        return False
    more = {match["more"] for match in found if match and match[1] != "0"}
    return "" in more and any(one.endswith("0") for one in more)


UNKNOWN = "¤"
"""In place of a unit or a currency."""

_WORD = re.compile("[^ ]+(?: [^ ]+)*")
TYPED = str.maketrans(dict.fromkeys(APOSTROPHES, "'") | dict.fromkeys(BLANKS, " "))
"""Marks and blanks that are typeset -> those of a keyboard."""


def has_dash(after: str) -> bool:
    """Whether a dash stands in place of decimals in what is behind a number, as in 25.- and 25,-- €."""
    return re.match("[.,][-\u2013\u2014]", after) is not None


def spelling_of(text: str) -> Spelling | None:
    """How a text writes a number, perhaps a plain one; None if it writes none, or in another way."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    signs = [sign for sign in (match["open"], match["first"], match["inner"], match["last"] and "-") if sign]
    if len(signs) > 1 or (match["within"] and not match["before"]):
        return None
    sign = match["open"] or match["last"] or (match["first"] or "").replace("-", "")
    if match["inner"] and SIGNED.match(match["before"] or ""):
        sign = ")" if match["within"] else "="
    digits = _digits(match["digits"])
    # Before a word, a point without decimals says first, second and so on, as in 1. HJ.
    if digits is None or (digits.decimals == "" and (match["before"] or match["after"])):
        return None
    spelled = replace(digits, before=match["before"] or "", after=match["after"] or "", sign=sign)
    alone = not spelled.before + spelled.after and sign != "("
    return replace(
        spelled,
        either=alone and re.fullmatch("[0-9]+,[0-9]{3}", match["digits"]) is not None and digits.mark == ",",
    )


def _digits(text: str) -> Spelling | None:
    """How digits are written, without what is around them."""
    for pattern, mark, comma in (
        (_PLAIN, "", False),
        (_BY_COMMAS, ",", False),
        (_BY_LAKHS, LAKHS, False),
        (_BY_POINTS, ".", True),
        (_COMMA, "", True),
    ):
        if match := pattern.fullmatch(text):
            return Spelling(
                mark=mark,
                decimal_comma=comma,
                decimals=next((one for one in match.groups() if one is not None), None),
                pointed=text.startswith("."),
            )
    if match := _BY_MARKS.fullmatch(text):
        return Spelling(mark=match["mark"], decimal_comma=match["decimal"] == ",", decimals=match["decimals"])
    return None
