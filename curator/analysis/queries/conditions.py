"""Reads the conditions of a query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce

from sqlglot import exp

from ....common.data.attributes.date_parts import Part
from ....common.errors import DataError
from .language import Below, Both, Condition, Either, Equal, Like, Literal, Missing, Not, Surely
from .naming import Names, check_parts, unsupported_error

_FUNCTIONS: Mapping[type[exp.Expr], Part] = {
    exp.Year: Part.YEAR,
    exp.Quarter: Part.QUARTER,
    exp.Month: Part.MONTH,
    exp.Day: Part.DAY,
    exp.DayOfMonth: Part.DAY,
    exp.DayOfWeekIso: Part.WEEKDAY,
    exp.Hour: Part.HOUR,
}

_FIELDS: Mapping[str, Part] = {
    **{part.value: part for part in Part if part is not Part.WEEKDAY},
    "isodow": Part.WEEKDAY,
}
"""What EXTRACT calls them; `weekday` counts from Sundays."""

_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}


class Conditions(Names):
    """Reads conditions on the columns of a release."""

    def condition(self, asked: exp.Expr) -> Condition:
        """The condition that a node states."""
        match asked:
            case exp.Paren():
                return self.condition(asked.this)
            case exp.Not():
                return Not(self.condition(asked.this))
            case exp.And():
                return Both(self.condition(asked.this), self.condition(asked.expression))
            case exp.Or():
                return Either(self.condition(asked.this), self.condition(asked.expression))
            case exp.Column():
                return Equal(self.column(asked), True)
            case exp.Is():
                return self._is(asked)
            case exp.In() if asked.expressions:
                check_parts(asked, "this", "expressions")
                column, part = self._column_and_part(asked.this)
                return any_of(*(Equal(column, literal(value), part) for value in asked.expressions))
            case exp.Between():
                check_parts(asked, "this", "low", "high")
                column, part = self._column_and_part(asked.this)
                low, high = literal(asked.args["low"]), literal(asked.args["high"])
                return Both(Not(Below(column, low, False, part)), Below(column, high, True, part))
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._comparison(asked)
            case exp.Like() | exp.ILike():
                return self._like(asked, "")
            case exp.Escape(this=exp.Like() | exp.ILike(), expression=exp.Literal(is_string=True)):
                return self._like(asked.this, asked.expression.name)
        raise self.refusal_of(asked)

    def date_part(self, asked: exp.Expr) -> tuple[exp.Expr, Part] | None:
        """A column of dates and a part of them, if such a part is asked."""
        part, column = _FUNCTIONS.get(type(asked)), asked.args.get("this")
        if isinstance(asked, exp.Extract):
            part, column = _FIELDS.get(asked.this.name.lower()), asked.expression
        elif isinstance(asked, exp.Anonymous) and asked.name.lower() in ("date_part", "datepart"):
            if len(asked.expressions) == 2 and isinstance(asked.expressions[0], exp.Literal):
                part, column = _FIELDS.get(asked.expressions[0].name.lower()), asked.expressions[1]
        return None if part is None or not isinstance(column, exp.Expr) else (column, part)

    def _column_and_part(self, asked: exp.Expr) -> tuple[str, Part | None]:
        """A column, and which part of its dates is compared."""
        asked = asked.unnest()
        found = self.date_part(asked)
        return (self.column(asked), None) if found is None else (self.column(found[0]), found[1])

    def _is(self, asked: exp.Is) -> Condition:
        match asked.expression:
            case exp.Null():
                return Missing(self.column_name(asked.this))
            case exp.Boolean():
                return Surely(Equal(self.column(asked.this), bool(asked.expression.this)))
        raise self.refusal_of(asked)

    def _comparison(self, asked: exp.Binary) -> Condition:
        left, right = asked.this.unnest(), asked.expression.unnest()
        kind: type[exp.Expr] = type(asked)
        if not self._may_be_compared(left):
            left, right, kind = right, left, _MIRRORED.get(kind, kind)
        if not self._may_be_compared(left):
            raise self.refusal_of(asked)
        if isinstance(right, exp.Column):
            quoted = next((each for each in (left, right) if self.may_be_text(each)), None)
            if quoted is not None:
                raise DataError(f"no column is called {quoted.name!r}; text is written in single quotes")
            raise unsupported_error("a comparison of two columns")
        (column, part), value = self._column_and_part(left), literal(right)
        if kind is exp.EQ:
            return Equal(column, value, part)
        if kind is exp.NEQ:
            return Not(Equal(column, value, part))
        below = Below(column, value, kind in (exp.LTE, exp.GT), part)
        return below if kind in (exp.LT, exp.LTE) else Not(below)

    def _may_be_compared(self, asked: exp.Expr) -> bool:
        return self.is_column(asked) or self.date_part(asked) is not None

    def _like(self, asked: exp.Like | exp.ILike, escape: str) -> Condition:
        check_parts(asked, "this", "expression", "negate")
        wanted = literal(asked.expression)
        if not isinstance(wanted, str) or len(escape) > 1:
            raise DataError(
                "expected LIKE 'text with % and _', got another pattern; write it in single quotes"
            )
        flags = "is" if isinstance(asked, exp.ILike) else "s"
        found = Like(self.column(asked.this), wanted, f"(?{flags}){_pattern_of(wanted, escape)}")
        return Not(found) if asked.args.get("negate") else found


def any_of(first: Condition, *others: Condition) -> Condition:
    """The condition that one of these is true."""
    return reduce(Either, others, first)


def literal(value: exp.Expr) -> Literal:
    """The value that a node states."""
    match value.unnest():
        case exp.Boolean() as boolean:
            return bool(boolean.this)
        case exp.Literal() as stated if stated.is_string:
            return str(stated.this)
        case exp.Literal() as stated:
            return number(stated.name)
        case exp.Neg(this=exp.Literal() as stated) if not stated.is_string:
            return -number(stated.name)
        case exp.Cast(this=exp.Literal() as stated) as cast if cast.to.is_type(*exp.DataType.TEMPORAL_TYPES):
            return str(stated.this)
        case exp.Null():
            raise DataError("a comparison with NULL is never true; write IS NULL")
        case exp.Column() as column:
            raise DataError(f"expected a value, got the column {column.name!r}; write text in single quotes")
        case other:
            raise unsupported_error(other.sql(dialect="duckdb"))


def number(text: str) -> int | float:
    """The number in a text."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _pattern_of(wanted: str, escape: str) -> str:
    """The regular expression of a pattern of LIKE."""
    found, letters = "", iter(wanted)
    for letter in letters:
        if escape and letter == escape:
            found += re.escape(next(letters, letter))
        else:
            found += {"%": ".*", "_": "."}.get(letter) or re.escape(letter)
    return found
