"""Codes of a column as a SQL expression that gives what the attribute's encoder gives."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from sqlglot import exp

from ...common.data.attributes.attribute import REFUSED, Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ...common.data.attributes.clock import Clock
from ...common.data.attributes.dates import GapAttribute, TimeAttribute
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.values import compose
from ...common.forms.notation import LARGEST_WHOLE
from ..sources.cells import PLAIN_NUMBER
from .engines.kinds import Kind, NotExact
from .pieces import (
    UNCLEAR,
    outcome,
    outcomes,
    pieces_of_listed,
    pieces_of_numbers,
    pieces_of_spelled,
    pieces_of_times,
)
from .trees import case, code_of_number, code_of_text, code_of_time, double, text, whole

NO_NUMBER = "^[ -/:-~\u00a0-\u052f]*$"
"""Texts of scripts that share these digits, without any, which Python reads as no finite number."""

NOT_FINITE = "[Nn][Aa][Nn]|[Ii][Nn][Ff]"
"""Part of the texts without digits that Python reads as infinite, or as not a number."""

_NUMBERS = {Kind.WHOLE, Kind.SINGLE, Kind.DOUBLE, Kind.DECIMAL, Kind.BOOLEAN, Kind.TEXT}
_LARGEST = float(np.finfo(np.float64).max)


class Texts(Protocol):
    """What engines do differently with texts."""

    @property
    def composes(self) -> bool:
        """See `Engine`."""

    def text(self, value: exp.Expr) -> exp.Expr:
        """See `Engine`."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """The code of each row as an expression.

    Attributes:
        readings: names of columns of a subquery, and what they hold: the cells as a number, text or time.
        code: an expression over them; negative where there is no code, see `outcomes`.
    """

    readings: Mapping[str, exp.Expr]
    code: exp.Expr


def encoding_of(attribute: Attribute, kind: Kind, column: exp.Expr, name: str, sql: Texts) -> Encoding:
    """The codes of a column.

    Args:
        attribute: the attribute.
        kind: of the column.
        column: the column.
        name: begins the names of the readings.
        sql: the engine's texts.

    Raises:
        NotExact: SQL cannot give the same codes as Python.
    """
    match attribute:
        case NumericAttribute() | CodedAttribute() if kind in _NUMBERS:
            return _of_numbers(attribute, kind, column, name, sql)
        case CategoricalAttribute(prefixes=True):
            raise NotExact("its categories are beginnings of texts")
        case CategoricalAttribute(nearest=True):
            raise NotExact("its categories stand for the nearest texts")
        case CategoricalAttribute():
            return _of_listed(attribute, attribute, kind, column, name, sql)
        case BooleanAttribute():
            return _of_listed(attribute, attribute.spellings, kind, column, name, sql)
        case GapAttribute():
            raise NotExact(f"it is counted from the column {attribute.other!r}")
        case TimeAttribute(moments=Clock()):
            raise NotExact("its format says how hours and minutes are written")
        case TimeAttribute() if kind in (Kind.DATE, Kind.TIMESTAMP):
            return _of_times(attribute, column, name)
    raise NotExact(f"the column holds {kind.value}")


@cache
def decomposed_pattern() -> str:
    """A pattern of parts that a text may have before it is composed, and hardly any has afterwards."""
    changed: set[str] = set()
    marks = []
    # Hangul's syllables are composed by arithmetic.
    syllables = range(ord("가"), ord("힣") + 1)
    decomposed = (n for n in range(0x80, sys.maxunicode + 1) if n in syllables or _decomposes(chr(n)))
    for character in map(chr, decomposed):
        apart = unicodedata.normalize("NFD", character)
        changed.update(apart[1:] if compose(apart) == character else character)
        marks += [character] if unicodedata.combining(character) else []
    return f"[{_ranges(changed)}]|[{_ranges(marks)}]{{2}}"


def _decomposes(character: str) -> bool:
    return bool(unicodedata.decomposition(character) or unicodedata.combining(character))


def _ranges(characters: Iterable[str]) -> str:
    """The content of a class of characters in a regular expression."""
    ordered = np.array(sorted(map(ord, characters)))
    runs = np.split(ordered, np.flatnonzero(np.diff(ordered) > 1) + 1)
    return "".join(chr(run[0]) if len(run) == 1 else f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


def _unclear_if_decomposed(written: exp.Expr, unlisted: exp.Expr, sql: Texts) -> exp.Expr:
    """The code of a text that is not listed; unclear if it may be when it is composed."""
    if sql.composes:
        return unlisted
    return case([(_matches(written, decomposed_pattern()), whole(UNCLEAR))], unlisted)


def label_text(attribute: CategoricalAttribute, kind: Kind, column: exp.Expr, sql: Texts) -> exp.Expr:
    """The text of each cell of open categories, as labels state it; empty if it is missing.

    Raises:
        NotExact: Python writes the cells otherwise than SQL.
    """
    if kind is Kind.BOOLEAN:
        found = case(
            [(column, exp.Literal.string("true")), (exp.not_(column), exp.Literal.string("false"))],
            exp.null(),
        )
    elif kind in (Kind.TEXT, Kind.WHOLE, Kind.DECIMAL):
        found = column
    else:
        raise NotExact(f"the labels of {kind.value} are looked for")
    return exp.func("COALESCE", sql.text(found), exp.Literal.string(""))


def _of_numbers(
    attribute: NumericAttribute | CodedAttribute, kind: Kind, column: exp.Expr, name: str, sql: Texts
) -> Encoding:
    number, written = exp.column(f"{name}_number"), exp.column(f"{name}_text")
    missing = outcome(attribute, None)
    found = _code_of_number(attribute, kind, number)
    match kind:
        case Kind.WHOLE | Kind.SINGLE | Kind.DOUBLE:
            return Encoding(
                {number.name: exp.cast(column, "double")}, _finite(attribute, number, missing, found)
            )
        case Kind.BOOLEAN:
            read = case([(column, double(1)), (exp.not_(column.copy()), double(0))], exp.null())
            return Encoding({number.name: read}, _finite(attribute, number, missing, found))
    listed = (*attribute.missing, *attribute.texts) if isinstance(attribute, NumericAttribute) else ()
    if kind is Kind.TEXT and isinstance(attribute, NumericAttribute) and not attribute.format.plain:
        raise NotExact(
            'it holds text, and "format" in the domain says how numbers are written in it: cast it to a '
            "number, with a point before decimals"
        )
    readings = {number.name: _number_in(sql.text(column)), written.name: sql.text(column)}
    unreadable = exp.and_(_matches(written, NO_NUMBER), exp.not_(_matches(written, NOT_FINITE)))
    known = exp.not_(number.copy().is_(exp.null()))
    none = case([(unreadable, whole(outcome(attribute, "?")))], whole(UNCLEAR))
    codes = {one: outcome(attribute, one) for one in listed}
    other = _unclear_if_decomposed(written, none, sql) if codes else none
    return Encoding(readings, _blank(written, missing, codes, case([(known, found)], other)))


def _code_of_number(attribute: NumericAttribute | CodedAttribute, kind: Kind, number: exp.Expr) -> exp.Expr:
    """The code of a finite number."""
    fraction = whole(-1 - REFUSED.index("fraction"))
    if isinstance(attribute, CodedAttribute):
        outside = whole(-1 - REFUSED.index("outside"))
        within = exp.and_(number >= double(0), number <= double(attribute.n - 1))
        code = case([(_is_fraction(number), outside)], exp.cast(number.copy(), "bigint"))
        return case([(within, code)], outside)
    code = code_of_number(number, pieces_of_numbers(attribute, kind))
    if not attribute.integer or kind in (Kind.WHOLE, Kind.BOOLEAN):
        return code
    if attribute.multiple_of is not None:
        raise NotExact(
            "whole numbers that are multiples of another one are expected, and the column has fractions"
        )
    return case([(_is_fraction(number), fraction)], code)


def _is_fraction(number: exp.Expr) -> exp.Expr:
    # Larger ones are whole, and some engines have no floor of them.
    small = exp.and_(number > double(-LARGEST_WHOLE), number < double(LARGEST_WHOLE))
    return exp.and_(small, exp.NEQ(this=number.copy(), expression=exp.func("FLOOR", number.copy())))


def _number_in(written: exp.Expr) -> exp.Expr:
    """The number in a text that is plain; otherwise NULL."""
    return case(
        [
            (
                _matches(written, PLAIN_NUMBER),
                exp.TryCast(this=written.copy(), to=exp.DataType.build("double")),
            )
        ],
        exp.null(),
    )


def _matches(written: exp.Expr, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=written.copy(), expression=exp.Literal.string(pattern))


def _finite(attribute: Attribute, number: exp.Expr, missing: int, code: exp.Expr) -> exp.Expr:
    """The code of a number that may be missing, infinite or not a number, whatever order NaN has."""
    infinite = [
        (number.copy().eq(double(value)), whole(outcome(attribute, np.float64(value))))
        for value in (np.inf, -np.inf)
    ]
    finite = exp.and_(number >= double(-_LARGEST), number <= double(_LARGEST))
    return case([(number.copy().is_(exp.null()), whole(missing)), (finite, code), *infinite], whole(missing))


def _blank(written: exp.Expr, missing: int, listed: Mapping[str, int], otherwise: exp.Expr) -> exp.Expr:
    """The code of a text that may be missing or listed."""
    empty = exp.or_(written.copy().is_(exp.null()), written.copy().eq(text("")))
    return case([(empty, whole(missing))], code_of_text(written, listed, otherwise))


def _of_listed(
    attribute: Attribute,
    listing: CategoricalAttribute,
    kind: Kind,
    column: exp.Expr,
    name: str,
    sql: Texts,
) -> Encoding:
    missing = outcome(attribute, None)
    match kind:
        case Kind.WHOLE | Kind.SINGLE | Kind.DOUBLE:
            number = exp.column(f"{name}_number")
            code = code_of_number(number, pieces_of_listed(attribute, listing, kind))
            return Encoding(
                {number.name: exp.cast(column, "double")}, _finite(attribute, number, missing, code)
            )
        case Kind.BOOLEAN:
            flag = exp.column(f"{name}_flag")
            false, true = outcomes(attribute, np.array([False, True]))
            branches = [(flag, whole(true)), (exp.not_(flag.copy()), whole(false))]
            return Encoding({flag.name: column}, case(branches, whole(missing)))
        case Kind.TEXT | Kind.DECIMAL:
            return _of_texts(attribute, listing, column, name, sql, missing)
    raise NotExact(f"the column holds {kind.value}")


def _of_texts(
    attribute: Attribute,
    listing: CategoricalAttribute,
    column: exp.Expr,
    name: str,
    sql: Texts,
    missing: int,
) -> Encoding:
    written, number = exp.column(f"{name}_text"), exp.column(f"{name}_number")
    listed = [key for key in {*listing.codes, *listing.missing} if key]
    codes = dict(zip(listed, outcomes(attribute, np.array(listed, dtype=object)).tolist(), strict=True))
    unlisted_code = outcome(
        attribute, next("?" * n for n in range(1, len(listed) + 2) if "?" * n not in listed)
    )
    unlisted = _unclear_if_decomposed(written, whole(unlisted_code), sql)
    readings = {written.name: sql.text(column)}
    if not listing.number_codes:
        return Encoding(readings, _blank(written, missing, codes, unlisted))
    readings[number.name] = _number_in(sql.text(column))
    known = code_of_number(number, pieces_of_spelled(attribute, listing, unlisted_code))
    worded = _matches(written, NO_NUMBER)
    other = case([(exp.not_(number.copy().is_(exp.null())), known), (worded, unlisted)], whole(UNCLEAR))
    return Encoding(readings, _blank(written, missing, codes, other))


def _of_times(attribute: TimeAttribute, column: exp.Expr, name: str) -> Encoding:
    time = exp.column(f"{name}_time")
    missing = whole(outcome(attribute, np.datetime64("NaT", "us")))
    code = code_of_time(time, pieces_of_times(attribute))
    readings = {time.name: exp.cast(column, "timestampntz")}
    return Encoding(readings, case([(time.copy().is_(exp.null()), missing)], code))
