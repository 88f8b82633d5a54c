"""Reads what a query selects: keys of groups, and aggregates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ....common.errors import DataError
from .conditions import Conditions, any_of, literal
from .language import (
    Aggregate,
    Both,
    Cases,
    Condition,
    DatePart,
    Either,
    Equal,
    Key,
    Kind,
    Literal,
    Not,
    Surely,
)
from .naming import check_parts, unsupported_error

_SHARE = "SHARE"
_MEAN = "MEAN"
"""What other languages call AVG."""

_OF_NUMBERS: Mapping[type[exp.Expr], Kind] = {
    exp.Sum: Kind.SUM,
    exp.Avg: Kind.MEAN,
    exp.Stddev: Kind.DEVIATION,
    exp.StddevSamp: Kind.DEVIATION,
    exp.Variance: Kind.VARIANCE,
    exp.Median: Kind.QUANTILE,
}

_CONDITIONS = (exp.Predicate, exp.Connector, exp.Not, exp.Escape)


@dataclass(frozen=True)
class _Branch:
    """What a CASE gives where a condition holds, which is never unknown: a column, a constant, or NULL."""

    condition: Condition
    column: str | None = None
    constant: Literal | None = None


class Items(Conditions):
    """Reads keys of groups, and aggregates."""

    def item(self, asked: exp.Expr) -> Key | Aggregate:
        """A column of the answer."""
        if isinstance(asked, exp.Star):
            raise DataError(
                "a query asks for numbers, such as COUNT(*); rows are in the table of the release, and "
                "`dpmosaic generate` draws more"
            )
        alias, call = (asked.alias, asked.this) if isinstance(asked, exp.Alias) else ("", asked)
        if alias and self.is_column(call):
            raise DataError("a column of a group keeps its name; leave out its AS")
        counts = call.find(exp.AggFunc) is not None
        if not counts and (call.name.upper() != _SHARE or not isinstance(call, (exp.Anonymous, exp.Filter))):
            key = self.key(call, alias)
            if key is not None:
                return key
        return self._aggregate(alias or call.sql(dialect="duckdb"), call)

    def key(self, asked: exp.Expr, name: str = "") -> Key | None:
        """By what rows are grouped; None if a node states no such thing."""
        asked, name = asked.unnest(), name or asked.sql(dialect="duckdb")
        if self.is_column(asked):
            return self.column(asked)
        if (found := self.date_part(asked)) is not None:
            return DatePart(name, self.column(found[0]), found[1])
        if isinstance(asked, (exp.Case, exp.If)):
            return Cases(name, _by_value(self._branches(asked)))
        if isinstance(asked, _CONDITIONS):
            condition = self.condition(asked)
            true, false = Surely(condition), Surely(Not(condition))
            return Cases(name, ((False, false), (True, true), (None, Both(Not(true), Not(false)))))
        return None

    def _aggregate(self, name: str, call: exp.Expr) -> Aggregate:
        where = None
        if isinstance(call, exp.Filter):
            where, call = self.condition(call.expression.this), call.this
        if isinstance(call, exp.Count) and isinstance(call.this, exp.Distinct):
            (column,) = call.this.expressions[:1]
            check_parts(call.this, "expressions")
            if len(call.this.expressions) > 1:
                raise unsupported_error("COUNT(DISTINCT) of several columns")
            return Aggregate(name, Kind.DISTINCT, self.column(column), where)
        if isinstance(call, (exp.Count, exp.Sum, exp.Avg)) and isinstance(
            call.this.unnest(), (exp.Case, exp.If)
        ):
            return self._of_cases(name, call, self._branches(call.this.unnest()), where)
        if isinstance(call, exp.Anonymous) and call.name.upper() == _MEAN and len(call.expressions) == 1:
            call = exp.Avg(this=call.expressions[0])
        kind, of, probability = self._call(call)
        if kind is Kind.SHARE and where is not None:
            raise DataError(
                "SHARE() takes no FILTER; ask for SHARE(condition), or move the condition to WHERE"
            )
        return Aggregate(name, kind, of, where, probability)

    def _call(self, call: exp.Expr) -> tuple[Kind, str | Condition | None, float]:
        match call:
            case exp.Count():
                check_parts(call, "this", "big_int")
                of = None if isinstance(call.this, exp.Star) else self.column_name(call.this)
                return Kind.COUNT, of, 0.5
            case exp.CountIf():
                return Kind.COUNT, self.condition(call.this), 0.5
            case exp.Sum() | exp.Avg():
                kind, inner = _OF_NUMBERS[type(call)], call.this.unnest()
                if self.is_column(inner):
                    return kind, self.column(inner), 0.5
                return Kind.COUNT if kind is Kind.SUM else kind, self.condition(inner), 0.5
            case exp.Median() | exp.Stddev() | exp.StddevSamp() | exp.Variance():
                return _OF_NUMBERS[type(call)], self.column(call.this), 0.5
            case exp.Quantile():
                return Kind.QUANTILE, self.column(call.this), _probability(call.args.get("quantile"))
            case exp.Anonymous() if call.name.upper() == _SHARE:
                arguments = call.expressions
                if not arguments or (len(arguments) == 1 and isinstance(arguments[0], exp.Star)):
                    return Kind.SHARE, None, 0.5
                if len(arguments) == 1:
                    return Kind.MEAN, self.condition(arguments[0]), 0.5
        raise self.refusal_of(call)

    def _branches(self, asked: exp.Expr) -> list[_Branch]:
        """What a CASE or an IF gives where; without an ELSE it gives NULL in the rest."""
        branches, before = list[_Branch](), list[Condition]()
        for one in asked.args.get("ifs") or [asked]:
            stated = one.this
            if isinstance(asked, exp.Case) and asked.this is not None:
                condition: Condition = Equal(self.column(asked.this), literal(stated))
            else:
                condition = self.condition(stated)
            here: Condition = Surely(condition)
            alone = Both(here, Not(any_of(*before))) if before else here
            branches.append(self._branch(one.args["true"], alone))
            before.append(here)
        rest = asked.args.get("default") or asked.args.get("false")
        return [*branches, self._branch(rest, Not(any_of(*before)))]

    def _branch(self, value: exp.Expr | None, condition: Condition) -> _Branch:
        inner = None if value is None else value.unnest()
        if inner is None or isinstance(inner, exp.Null):
            return _Branch(condition)
        if self.is_column(inner):
            return _Branch(condition, column=self.column(inner))
        return _Branch(condition, constant=literal(inner))

    def _of_cases(
        self, name: str, call: exp.Expr, branches: Sequence[_Branch], where: Condition | None
    ) -> Aggregate:
        """COUNT, SUM or AVG of what a CASE gives: of 0 and 1, or of one column."""
        kind = Kind.COUNT if isinstance(call, exp.Count) else _OF_NUMBERS[type(call)]
        stated = [one for one in branches if one.constant is not None]
        measured = [one for one in branches if one.column is not None]
        columns = {one.column for one in measured}
        zeros = {one.constant for one in stated} <= ({0} if kind is Kind.SUM else set())
        if len(columns) == 1 and zeros:
            return Aggregate(name, kind, columns.pop(), _also(where, _any(measured)))
        if stated and not columns and kind is Kind.COUNT:
            return Aggregate(name, kind, None, _also(where, _any(stated)))
        ones = [one for one in stated if one.constant == 1]
        if ones and not columns and all(one.constant in (0, 1) for one in stated):
            kind = Kind.COUNT if kind is Kind.SUM else kind
            return Aggregate(name, kind, _any(ones), _also(where, _any(stated)))
        raise unsupported_error("a CASE in an aggregate that gives other values than 0 and 1, or one column")


def _by_value(branches: Sequence[_Branch]) -> tuple[tuple[Literal | None, Condition], ...]:
    found: dict[Literal | None, Condition] = {}
    for one in branches:
        if one.column is not None:
            raise unsupported_error("groups by a CASE that gives a column")
        known = found.get(one.constant)
        found[one.constant] = one.condition if known is None else Either(known, one.condition)
    return tuple(found.items())


def _any(branches: Sequence[_Branch]) -> Condition:
    """One of these branches is taken."""
    return any_of(*(one.condition for one in branches))


def _also(where: Condition | None, condition: Condition) -> Condition:
    return condition if where is None else Both(where, condition)


def _probability(asked: exp.Expr | None) -> float:
    value = None if asked is None else literal(asked)
    if isinstance(value, (str, bool)) or value is None or not 0 < value < 1:
        raise DataError("expected a probability between 0 and 1 as in QUANTILE(x, 0.9); fix the query")
    return float(value)
