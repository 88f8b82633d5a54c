"""The forms of cells that the first step tells apart; public, and the same for every table.

A cell's form follows from its shape: the cell with every digit 1 to 9 written as 9. So 2019-03-20 has the
shape 9099-09-90, and the number 12.50 the shape 99.90.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from ....common.data.attributes.several_numbers import SEVERAL_NUMBERS
from ....common.data.values import NOT_AVAILABLE
from ....common.forms.date_formats import date_in
from ....common.forms.spelling import POINTED, UNKNOWN, has_dash, spelling_of
from ....party.sources.sql import quote
from .date_forms import (
    DATES,
    LAST_DATES,
    LATE_DATES,
    NEWEST_DATES,
    OF_DIGITS,
    RARE_DATES,
    clock_in,
    clock_sql,
    digits_sql,
    part_of_year_sql,
)

MISSING, TEXT, SENTENCE, CODE = "missing", "text", "sentence", "code"
"""Forms of cells that hold nothing, none of the forms below, much, or digits and no blanks."""

SEVERAL, PAIRS = "several", "pairs"
"""The names of the forms of codes of several numbers, such as 2019/20, whose beginnings mean nothing, and of
two or three small numbers alone, such as 120/80, 4 x 5 x 12 mm, 4 yrs 2 mos or 1.5 (1.2-1.9), of two
coordinates, or an amount such as 65,- that is written for 65,00."""

LONGEST_WORD = 40
"""Cells of more characters are sentences."""

DECIMALS = 8
"""Numbers of more decimals count as any numbers."""

POINT_ZERO = -1
"""In place of decimals: a whole number that is written with a point and zeros, such as 1.0."""

NOTATIONS = (
    *("{}", "{:,}", "{,}", "{}%", "{} %", "{,}%", "{,} %", "{:,}%", "${}", "${:,}", "€{}", "€{:,}", "€{,}"),
    *("£{}", "£{:,}", "{} €", "{,} €", "{}€", "{,}€", "{:,} €", "{} kg", "{} cm", "{} km", "{} mg"),
    *(
        "CHF {}",
        "CHF {:,}",
        "EUR {}",
        "EUR {,}",
        "USD {}",
        "USD {:,}",
        "{} CHF",
        "{} EUR",
        "{,} EUR",
        "{} USD",
    ),
    # Each after those whose numbers it reads too.
    *("{:'}", "{: }", "{ ,}", "CHF {:'}", "{:'} CHF", "{: } €", "{ ,} €", "{:(}", "{:(,}"),
)
"""How numbers are written; see `Notation`."""

RARE_NOTATIONS = (
    *("{.,}", "{:\u2019}", "{:\u00a0}", "{:\u202f}", "{\u00a0,}", "{\u202f,}"),
    *(
        "{:-}",
        "{:-,}",
        "{-,}",
        "{-.,}",
        "{:+}",
        "{:+,}",
        "{+,}",
        "{:+}%",
        "{+,}%",
        "{:\u2212}",
        "{\u2212,}",
        "{\u2212\u00a0,}",
    ),
    *("${:(}", "${:(,}", "{}\u00a0%", "{,}\u00a0%", "{}\u202f%", "{,}\u202f%", "{} °C", "{}°C", "{,} °C"),
    *("{.,} €", "{,}\u00a0€", "{.,}\u00a0€", "{\u00a0,}\u00a0€", "{\u202f,}\u00a0€", "{\u202f,}\u202f€"),
    *("€ {}", "€ {:,}", "€ {,}", "€ {.,}", "€{.,}", "{.,} EUR", "EUR {.,}"),
    *("$ {}", "$ {:,}", "R$ {,}", "R$ {.,}", "¥{}", "¥{:,}", "{}円", "{:,}円"),
    *("{,} kr", "{ ,} kr", "{,} zł", "{ ,} zł"),
    *("${:=}", "${:=,}", "€{:=}", "€ {=,}", "€ {=.,}"),
    # Of a unit or a currency that is not listed.
    *("{}¤", "{:,}¤", "{,}¤", "{} ¤", "{:,} ¤", "{,} ¤", "{.,} ¤", "{: } ¤", "{ ,} ¤", "{:'} ¤"),
    *("¤{}¤", "¤{} ¤", "¤{:,} ¤"),
    *("¤{}", "¤{:,}", "¤{,}", "¤{.,}", "¤ {}", "¤ {:,}", "¤ {,}", "¤ {.,}", "¤ { ,}", "¤ {:'}"),
)
"""Other notations, of fewer details. A notation that is not listed counts as the next that reads its
numbers, such as with a typed blank for one that is typeset."""

LAST_NOTATIONS = (
    *("{:,,}", "¤{:,,}", "¤ {:,,}", "{-,} ¤", "{-.,} ¤"),
    *("{.,}€", "{.,}¤", "{ ,}€", "{ ,}¤", "{:'}¤", "¤ {}¤", "¤ {:'}¤"),
)
"""More: with commas as in India, a minus between a number and its unit, marks between thousands before
units without a blank, and a currency before amounts such as Fr. 25.-."""

NEWEST_NOTATIONS = ("${:)}", "${:),}", "¤{:,}¤")
"""Negative amounts in parentheses behind their currency, as spreadsheets write accounts, and amounts for a
unit, such as $63,818/yr."""

DASHED_NOTATIONS = ("{}¤", "{:,}¤", "{.,}¤", "{ ,}¤", "{:'}¤", "¤{}¤", "¤ {}¤", "¤ {:'}¤")
"""Notations of amounts with a dash in place of decimals, such as 25.- and Fr. 1'250.–, where all have one."""

EXPONENTS = ("{:e}", "{:E}", "{,e}", "{,E}")
"""Notations with exponents."""

PADDED = {width: f"{{:0{width}}}" for width in range(2, 16)}
"""Digits -> the notation of whole numbers with zeros in front up to so many, such as postal codes."""

RARE_DETAILS = (0, 1, 2, 3, DECIMALS + 1)
"""Decimals of rare notations: more of them count as any."""

EITHER = "9,999"
"""In place of a notation: a comma before three digits, which may be of `{:,}` or of `{,}`."""

LATE_DETAILS = {notation: (4, 5, 6) for notation in ("{}¤", "{,}¤", "{} ¤", "{,} ¤")}
"""More decimals of some, such as of coordinates in degrees."""

WORDS = tuple(
    spelled
    for word in (
        *("true", "false", "yes", "no", "y", "n", "t", "f", "m", "male", "female", "w", "ja", "nein", "j"),
        *("oui", "non", "o", "si", "sí", "sim", "não", "unknown", "other", "unsure", "none"),
    )
    for spelled in dict.fromkeys((word, word.capitalize(), word.upper()))
)
"""Words that are looked for by name, since everybody knows them."""


NEGATIVE = "negative"
"""The family of forms of numbers alone with a minus before them, by notation, and of `CODES`."""

CODES = tuple(
    map(str, (*range(-9, 0), *range(-99, -95), -88, -77, -66, *range(-999, -994), -888, -777, -666, -9999))
)
"""Negative numbers that stand for answers that there are not, such as refused; each has a form."""


COMPARED = "compared"
"""The family of the form of numbers that others are below or above, such as <5."""

DASHED = "dashed"
"""The family of forms of amounts with a dash in place of decimals, by notation."""

BY_POINT, BY_POINT_ZERO = "by point", "by point, zero last"
"""The families of forms of numbers with a point before three digits, which may divide thousands as in 1.234,
and of those whose last digit is zero, by notation."""


@dataclass(frozen=True)
class Form:
    """What a cell looks like.

    Attributes:
        family: "missing", "text", "sentence", "number", "negative", "compared", "code", "word", "date", or
            one of numbers with a point before three digits.
        name: the notation of a number, the word, or the format of a date.
        detail: decimals of a number; of a date see `date_forms`.
    """

    family: str
    name: str = ""
    detail: int = 0


_FIRST_FORMS: tuple[Form, ...] = (
    Form(MISSING),
    Form(TEXT),
    Form(SENTENCE),
    *(Form("word", word) for word in WORDS),
    Form(CODE),
    *(
        Form("number", notation, decimals)
        for notation in (*NOTATIONS, EITHER)
        for decimals in range(POINT_ZERO, DECIMALS + 2)
    ),
    *(Form("date", form, detail) for form, detail in DATES),
)

THOUSANDS_BY_POINT = {
    notation: known[0]
    for notation in (*NOTATIONS, *RARE_NOTATIONS)
    if "{}" in notation
    if (
        known := [
            one
            for one in (notation.replace("{}", "{.,}"), notation.replace("{}", "{,}"))
            if one in NOTATIONS or one in RARE_NOTATIONS
        ]
    )
}
"""Notation -> the one of the same numbers if points divide thousands."""

FORMS = (
    *_FIRST_FORMS,
    *(Form("number", notation, decimals) for notation in RARE_NOTATIONS for decimals in RARE_DETAILS),
    *(Form("number", notation, decimals) for notation in EXPONENTS for decimals in range(DECIMALS + 2)),
    *(Form(CODE, notation) for notation in PADDED.values()),
    *(Form("date", form, detail) for form, detail in RARE_DATES),
    Form(CODE, SEVERAL),
    *(Form("date", form, detail) for form, detail in LATE_DATES),
    *(Form("number", notation, decimals) for notation, more in LATE_DETAILS.items() for decimals in more),
    *(
        Form(NEGATIVE, notation, decimals)
        for notation in ("{}", "{,}")
        for decimals in range(POINT_ZERO, DECIMALS + 2)
    ),
    Form(CODE, PAIRS),
    *(Form(NEGATIVE, code, decimals) for code in CODES for decimals in (0, POINT_ZERO)),
    *(Form(family, notation) for notation in THOUSANDS_BY_POINT for family in (BY_POINT, BY_POINT_ZERO)),
    *(Form("date", form, detail) for form, detail in LAST_DATES),
    *(Form("number", notation, decimals) for notation in LAST_NOTATIONS for decimals in RARE_DETAILS),
    Form(COMPARED),
    *(Form(DASHED, notation) for notation in DASHED_NOTATIONS),
    *(Form("date", form, detail) for form, detail in NEWEST_DATES),
    *(Form("number", POINTED, decimals) for decimals in range(1, DECIMALS + 2)),
    *(Form("number", notation, decimals) for notation in NEWEST_NOTATIONS for decimals in RARE_DETAILS),
)
"""All forms, in the order of the cells of a vote. New ones come last: see `FIRST`."""

FIRST = len(_FIRST_FORMS)
"""Noise of so many forms is drawn alone, so that what a seed draws for these stays when there are more."""

PLACES = {form: place for place, form in enumerate(FORMS)}

WITHOUT_DASH = {
    place: PLACES[Form("number", form.name)] for form, place in PLACES.items() if form.family == DASHED
}
"""Place of a form of amounts with a dash -> that of numbers with a unit."""

WITHOUT_SIGN = {
    place: PLACES[Form("number", "{}" if form.name in CODES else form.name, form.detail)]
    for form, place in PLACES.items()
    if form.family == NEGATIVE
}
"""Place of a form of negative numbers -> that of the form of others."""

_BLANKS = frozenset(NOT_AVAILABLE)
_LONG = "\0"
_EXPONENT = re.compile(r"[-+]?[09]+(?:(?P<mark>[.,])(?P<decimals>[09]*))?(?P<exponent>[eE])[-+]?[09]+")
_LONGEST_CODE = 12
_OF_CODE = "\x0e"
"""What the shape of one of `CODES` begins with."""

_FAR, _FAR_DIGITS = "\5", "[-+]?([2-9][0-9]{18}|[0-9]{20,40})([.]0)?|[2-9][0-9]{15}"
"""The shape of whole numbers that are keys, such as of cards, or digests beyond all grids; and these."""

_CODE_PATTERN = rf"({'|'.join(CODES)})([.]0)?"
_CODE = re.compile(r"0[09]{1,15}")
_BY_POINT = re.compile("(?!-)[^09]*9[09]{0,2}[.][09]{2}(?P<last>[09])[^09]*")
_COMPARED = re.compile("([<>]=?|[\u2264\u2265~\u2248]) ?")
_SEVERAL = re.compile("[09][/:x×*+°][09]")
_DASHED = re.compile("[09]{1,6}[.,](--?|\u2013)")


def shape_sql(text: str) -> str:
    """The SQL expression of the shape of a cell.

    Args:
        text: expression of the cell's text without blanks around it.
    """
    return (
        f"CASE WHEN {text} IS NULL THEN '' "
        f"WHEN starts_with({text}, '-') AND regexp_full_match({text}, {quote(_CODE_PATTERN)}) "
        f"THEN chr({ord(_OF_CODE)}) || {text} "
        f"WHEN length({text}) > {LONGEST_WORD} THEN chr(0) {digits_sql(text)} {clock_sql(text)} "
        f"{part_of_year_sql(text)} "
        f"WHEN length({text}) > 15 AND regexp_full_match({text}, {quote(_FAR_DIGITS)}) "
        f"THEN chr({ord(_FAR)}) "
        f"WHEN regexp_matches({text}, '[0-9]') THEN translate({text}, '123456789', '999999999') "
        f"WHEN length({text}) <= 12 THEN {text} ELSE '~' END"
    )


@lru_cache(maxsize=1 << 16)
def place_of(shape: str) -> int:
    """The place in `FORMS` of the form of cells of a shape."""
    return PLACES.get(_form(shape), PLACES[Form(TEXT)])


def _form(shape: str) -> Form:
    if shape in _BLANKS or shape == "":
        return Form(MISSING)
    if shape in OF_DIGITS:
        return Form("date", *OF_DIGITS[shape])
    if shape[0] == _OF_CODE:
        return Form(NEGATIVE, shape[1:].removesuffix(".0"), POINT_ZERO if shape.endswith(".0") else 0)
    clock = clock_in(shape)
    if clock is not None:
        return Form("date", *clock)
    sentence = shape.count(" ") >= 5 and date_in(shape) is None and not SEVERAL_NUMBERS.fullmatch(shape)
    if shape == _LONG or sentence:
        return Form(SENTENCE)
    if shape == _FAR:
        return Form(CODE)
    if "9" not in shape and "0" not in shape:
        return Form("word", shape)
    if _CODE.fullmatch(shape):
        return Form(CODE, PADDED.get(len(shape), ""))
    compared = _COMPARED.match(shape)
    if compared is not None and spelling_of(shape[compared.end() :]) is not None:
        return Form(COMPARED)
    number = _number(shape)
    # The name of a month may stand where units do.
    if number is None or (UNKNOWN in number.name and date_in(shape) is not None):
        return _date(shape)
    return number


def _number(shape: str) -> Form | None:
    if match := _EXPONENT.fullmatch(shape):
        first = "," if match["mark"] == "," else ":"
        decimals = min(len(match["decimals"] or ""), DECIMALS + 1)
        return Form("number", f"{{{first}{match['exponent']}}}", decimals)
    spelled = spelling_of(shape)
    if spelled is None:
        return None
    if spelled.either and spelled.decimals is None:
        return Form("number", EITHER, 0)
    decimals = _decimals(spelled.decimals)
    ways = list(spelled.simpler())
    if has_dash(spelled.after):
        # Where there are no decimals, points divide thousands.
        by_points = [replace(way, mark=".", decimal_comma=True) for way in ways if decimals]
        dashed = [way.pattern for way in by_points or ways if way.pattern in DASHED_NOTATIONS]
        return Form(DASHED, dashed[0]) if dashed and decimals in (0, 3) else None
    # Where only fractions have a notation, such as of R$ 5,00, whole numbers are in it.
    commas = [replace(way, decimal_comma=way.decimal_comma or not decimals) for way in ways]
    for way in (one for pair in zip(ways, commas, strict=True) for one in pair):
        if decimals == 3 and way.pattern in THOUSANDS_BY_POINT and (match := _BY_POINT.fullmatch(shape)):
            return Form(BY_POINT_ZERO if match["last"] == "0" else BY_POINT, way.pattern)
        if way.pattern in RARE_NOTATIONS or way.pattern in (*LAST_NOTATIONS, *NEWEST_NOTATIONS):
            known = (*RARE_DETAILS, *LATE_DETAILS.get(way.pattern, ()))
            rare = abs(decimals) if abs(decimals) in known else RARE_DETAILS[-1]
            return Form("number", way.pattern, rare)
        if way.pattern in ("{}", "{,}") and shape[0] == "-":
            return Form(NEGATIVE, way.pattern, decimals)
        if way.pattern in NOTATIONS or way.pattern == POINTED:
            return Form("number", way.pattern, decimals)
    return None


def _decimals(digits: str | None) -> int:
    if not digits:
        return 0
    return POINT_ZERO if digits == "0" else min(len(digits), DECIMALS + 1)


def _date(shape: str) -> Form:
    date = date_in(shape)
    if date is not None:
        return Form("date", *date)
    if SEVERAL_NUMBERS.fullmatch(shape) or _DASHED.fullmatch(shape):
        return Form(CODE, PAIRS)
    if len(shape) > _LONGEST_CODE or " " in shape:
        return Form(TEXT)
    return Form(CODE, SEVERAL if _SEVERAL.search(shape) else "")
