"""The forms of cells that the first step tells apart; public, and the same for every table.

A cell's form follows from its shape: the cell with every digit 1 to 9 written as 9. So 2019-03-20 has the
shape 9099-09-90, and the number 12.50 the shape 99.90.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ...common.forms.notation import APOSTROPHES, BLANKS
from ...party.drafting.profile import NOT_AVAILABLE
from .date_forms import DATES, OF_DIGITS, clock_in, clock_sql, date_in, digits_sql

MISSING, TEXT, SENTENCE, CODE = "missing", "text", "sentence", "code"
"""Forms of cells that hold nothing, none of the forms below, much, or digits and no blanks."""

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
"""How numbers are written; see `Notation`. Blanks and apostrophes stand for those that are typeset too."""

EITHER = "9,999"
"""In place of a notation: a comma before three digits, which may be of `{:,}` or of `{,}`."""

WORDS = tuple(
    spelled
    for word in (
        *("true", "false", "yes", "no", "y", "n", "t", "f", "m", "male", "female", "w", "ja", "nein", "j"),
        *("oui", "non", "o", "si", "sí", "sim", "não", "unknown", "other", "unsure", "none"),
    )
    for spelled in dict.fromkeys((word, word.capitalize(), word.upper()))
)
"""Words that are looked for by name, since everybody knows them."""


@dataclass(frozen=True)
class Form:
    """What a cell looks like.

    Attributes:
        family: "missing", "text", "sentence", "number", "code", "word" or "date".
        name: the notation of a number, the word, or the format of a date.
        detail: decimals of a number; of a date see `date_forms`.
    """

    family: str
    name: str = ""
    detail: int = 0


FORMS: tuple[Form, ...] = (
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
"""All forms, in the order of the cells of a vote."""

PLACES = {form: place for place, form in enumerate(FORMS)}

_BLANKS = frozenset(NOT_AVAILABLE)
_LONG = "\0"
_PLAIN = re.compile(r"[-+]?(?:(?:0|9[09]*)(?:\.([09]*))?|\.([09]+))")
_EXPONENT = re.compile(r"[-+]?[09]+(?:\.[09]*)?[eE][-+]?[09]+")
_AROUND = re.compile(r"-?([$€£]|[A-Z]{3} )?(-?[09](?:[09.,' ]*[09.,])?)( ?[%€]| (?:kg|cm|km|mg|[A-Z]{3}))?")
_GROUPED = re.compile(r"-?9[09]{0,2}(?:,[09]{3})+(?:\.([09]*))?")
_DECIMAL_COMMA = re.compile(r"-?(?:0|9[09]*|9[09]{0,2}(?:\.[09]{3})+),([09]+)")
_BY_MARKS = tuple(
    (re.compile(rf"-?9[09]{{0,2}}(?:{mark}[09]{{3}})+{decimals}"), notation)
    for mark, decimals, notation in (
        ("'", r"(?:\.([09]*))?", "{:'}"),
        (" ", r"(?:\.([09]*))?", "{: }"),
        (" ", ",([09]+)", "{ ,}"),
    )
)
_TYPESET = str.maketrans(dict.fromkeys(APOSTROPHES, "'") | dict.fromkeys(BLANKS, " "))
_LONGEST_CODE = 12
_CODE = re.compile(r"0[09]{1,15}|9[09]{15}")


def shape_sql(text: str) -> str:
    """The SQL expression of the shape of a cell.

    Args:
        text: expression of the cell's text without blanks around it.
    """
    return (
        f"CASE WHEN {text} IS NULL THEN '' "
        f"WHEN length({text}) > {LONGEST_WORD} THEN chr(0) {digits_sql(text)} {clock_sql(text)} "
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
        return Form("date", OF_DIGITS[shape])
    clock = clock_in(shape)
    if clock is not None:
        return Form("date", *clock)
    if shape == _LONG or shape.count(" ") >= 5:
        return Form(SENTENCE)
    if "9" not in shape and "0" not in shape:
        return Form("word", shape)
    if _CODE.fullmatch(shape):
        return Form(CODE)
    number = _number(shape)
    return number if number is not None else _date(shape)


def _number(shape: str) -> Form | None:
    plain = _PLAIN.fullmatch(shape)
    if plain is not None:
        return Form("number", "{}", _decimals(plain[1] or plain[2]))
    if shape.startswith("(") and shape.endswith(")"):
        return _in_parentheses(shape[1:-1])
    if _EXPONENT.fullmatch(shape):
        return Form("number", "{}", DECIMALS + 1)
    around = _AROUND.fullmatch(shape.translate(_TYPESET))
    if around is None:
        return None
    before, digits, after = (part or "" for part in around.groups())
    for pattern, mark in ((_PLAIN, "{}"), (_GROUPED, "{:,}"), (_DECIMAL_COMMA, "{,}"), *_BY_MARKS):
        match = pattern.fullmatch(digits)
        if match is None:
            continue
        if mark == "{:,}" and digits.count(",") == 1 and match[1] is None and not before + after:
            return Form("number", EITHER, 0)
        decimals = next((part for part in match.groups() if part is not None), None)
        return Form("number", f"{before}{mark}{after}", _decimals(decimals))
    return None


def _in_parentheses(shape: str) -> Form | None:
    """A number that is negative since it is in parentheses."""
    inside = None if shape[:1] in "(-+" else _number(shape)
    if inside is None or inside.name not in ("{}", "{:,}", EITHER):
        return None
    return Form("number", "{:(}" if inside.name == "{}" else "{:(,}", inside.detail)


def _decimals(digits: str | None) -> int:
    if not digits:
        return 0
    return POINT_ZERO if set(digits) == {"0"} and len(digits) == 1 else min(len(digits), DECIMALS + 1)


def _date(shape: str) -> Form:
    date = date_in(shape)
    if date is not None:
        return Form("date", *date)
    return Form(CODE if len(shape) <= _LONGEST_CODE and " " not in shape else TEXT)
