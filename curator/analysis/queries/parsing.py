"""Reads a query from a subset of SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import errors, exp, parse

from ....common.data.attributes.dates import GapAttribute
from ....common.errors import DataError
from ....common.forms.nearest import nearest
from .language import (
    SUPPORTED,
    Aggregate,
    Below,
    Both,
    Condition,
    Either,
    Equal,
    Kind,
    Literal,
    Missing,
    Not,
    Query,
)

LONGEST_QUERY = 10_000
"""Characters of the longest query."""

_SHARE = "SHARE"

_NO_GAPS: Mapping[str, GapAttribute] = {}


def parsed(text: str, names: Sequence[str], gaps: Mapping[str, GapAttribute] = _NO_GAPS) -> Query:
    """The query in a text.

    Args:
        text: one SELECT statement.
        names: columns of the release.
        gaps: those that come after others, by name; `died - admitted` asks for such a gap.

    Raises:
        DataError: it is no SQL, it asks for something that is not supported, or it names an unknown column.
    """
    if len(text) > LONGEST_QUERY or not text.split()[:1] or text.split()[0].upper() != "SELECT":
        raise DataError(
            f"expected a query that begins with SELECT, of at most {LONGEST_QUERY} characters; "
            f"ask {SUPPORTED}"
        )
    try:
        statements = parse(text, read="duckdb")
        if len(statements) != 1 or not isinstance(statements[0], exp.Select):
            raise _unsupported_error("more than one SELECT statement")
        return _Reader(names, gaps).query(statements[0])
    except errors.SqlglotError as cause:
        raise DataError(f"the query is no SQL: {_place(cause)}; ask {SUPPORTED}") from cause
    except RecursionError:
        raise DataError("the query has too many conditions within conditions; write fewer") from None


class _Reader:
    def __init__(self, names: Sequence[str], gaps: Mapping[str, GapAttribute]) -> None:
        self.names, self.gaps = names, gaps

    def query(self, select: exp.Select) -> Query:
        _only(select, "expressions", "from_", "where", "group")
        self._check_source(select.args.get("from_"))
        where = select.args.get("where")
        condition = None if where is None else self.condition(where.this)
        items = [self._item(item) for item in select.expressions]
        groups = self._groups(select.args.get("group"), items)
        for item in items:
            if isinstance(item, str) and item not in groups:
                raise DataError(f"the column {item!r} is selected without an aggregate; add GROUP BY {item}")
        taken = [item if isinstance(item, str) else item.name for item in items]
        if len(set(taken)) < len(taken):
            raise DataError("two columns of the answer have one name; name them apart with AS")
        if not any(isinstance(item, Aggregate) for item in items):
            raise DataError(f"the query has no aggregate; ask {SUPPORTED}")
        return Query(tuple(items), groups, condition)

    def _check_source(self, source: exp.Expr | None) -> None:
        if source is None:
            return
        if not isinstance(source.this, exp.Table):
            raise _unsupported_error("a FROM other than release")
        _only(source.this, "this")
        if source.this.name.lower() != "release":
            raise DataError(
                f"expected FROM release, got FROM {source.this.name}; a release has this one table"
            )

    def _groups(self, group: exp.Expr | None, items: Sequence[str | Aggregate]) -> tuple[str, ...]:
        if group is None:
            return ()
        if group.args.get("all"):
            _only(group, "all")
            return tuple(item for item in items if isinstance(item, str))
        _only(group, "expressions")
        found = []
        for key in group.expressions:
            if isinstance(key, exp.Literal) and not key.is_string and key.name.isdecimal():
                place = int(key.name) - 1
                item = items[place] if 0 <= place < len(items) else None
                if not isinstance(item, str):
                    raise DataError(f"GROUP BY {key.name} is no column of the SELECT; name the column")
                found.append(item)
            else:
                found.append(self.column(key))
        return tuple(dict.fromkeys(found))

    def _item(self, item: exp.Expr) -> str | Aggregate:
        if self._is_column(item):
            return self.column(item)
        alias, call = "", item
        if isinstance(item, exp.Alias):
            alias, call = item.alias, item.this
        if self._is_column(call):
            raise DataError("a column of a group keeps its name; leave out its AS")
        name, where = alias or call.sql(dialect="duckdb"), None
        if isinstance(call, exp.Filter):
            where = self.condition(call.expression.this)
            call = call.this
        kind, of, probability = self._aggregate(call)
        if kind is Kind.SHARE and where is not None:
            raise DataError(
                "SHARE() takes no FILTER; ask for SHARE(condition), or move the condition to WHERE"
            )
        return Aggregate(name, kind, of, where, probability)

    def _aggregate(self, call: exp.Expr) -> tuple[Kind, str | Condition | None, float]:
        match call:
            case exp.Count():
                _only(call, "this", "big_int")
                return (
                    Kind.COUNT,
                    None if isinstance(call.this, exp.Star) else self.column_name(call.this),
                    0.5,
                )
            case exp.CountIf():
                return Kind.COUNT, self.condition(call.this), 0.5
            case exp.Sum():
                measured = self._operand(call.this)
                return Kind.SUM if isinstance(measured, str) else Kind.COUNT, measured, 0.5
            case exp.Avg():
                return Kind.MEAN, self._operand(call.this), 0.5
            case exp.Median():
                return Kind.QUANTILE, self.column(call.this), 0.5
            case exp.Quantile():
                return Kind.QUANTILE, self.column(call.this), _probability(call.args.get("quantile"))
            case exp.Anonymous() if call.name.upper() == _SHARE:
                arguments = call.expressions
                if not arguments or (len(arguments) == 1 and isinstance(arguments[0], exp.Star)):
                    return Kind.SHARE, None, 0.5
                if len(arguments) == 1:
                    return Kind.MEAN, self.condition(arguments[0]), 0.5
        raise self._refusal_of(call)

    def _operand(self, measured: exp.Expr) -> str | Condition:
        inner = measured.unnest()
        return self.column(inner) if self._is_column(inner) else self.condition(inner)

    def condition(self, asked: exp.Expr) -> Condition:
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
                _only(asked, "this", "expressions")
                column = self.column(asked.this)
                found: Condition = Equal(column, _literal(asked.expressions[0]))
                for value in asked.expressions[1:]:
                    found = Either(found, Equal(column, _literal(value)))
                return found
            case exp.Between():
                _only(asked, "this", "low", "high")
                column = self.column(asked.this)
                low, high = _literal(asked.args["low"]), _literal(asked.args["high"])
                return Both(Not(Below(column, low, False)), Below(column, high, True))
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._comparison(asked)
        raise self._refusal_of(asked)

    def _is(self, asked: exp.Is) -> Condition:
        match asked.expression:
            case exp.Null():
                return Missing(self.column_name(asked.this))
            case exp.Boolean():
                column = self.column(asked.this)
                # Where the column is missing, this is false, not unknown.
                return Both(Not(Missing(column)), Equal(column, bool(asked.expression.this)))
        raise self._refusal_of(asked)

    def _comparison(self, asked: exp.Binary) -> Condition:
        left, right = asked.this.unnest(), asked.expression.unnest()
        kind: type[exp.Expr] = type(asked)
        if not self._is_column(left):
            left, right, kind = right, left, _MIRRORED.get(kind, kind)
        if not self._is_column(left):
            raise self._refusal_of(asked)
        if isinstance(right, exp.Column):
            quoted = next((each for each in (left, right) if _may_be_text(each, self.names)), None)
            if quoted is not None:
                raise DataError(f"no column is called {quoted.name!r}; text is written in single quotes")
            raise _unsupported_error("a comparison of two columns")
        column, value = self.column(left), _literal(right)
        if kind is exp.EQ:
            return Equal(column, value)
        if kind is exp.NEQ:
            return Not(Equal(column, value))
        below = Below(column, value, kind in (exp.LTE, exp.GT))
        return below if kind in (exp.LT, exp.LTE) else Not(below)

    def _gap(self, asked: exp.Expr) -> GapAttribute | None:
        """The column that comes after another, if their difference is asked."""
        if not isinstance(asked, exp.Sub):
            return None
        sides = [side.unnest().name.casefold() for side in (asked.this, asked.expression)]
        found = (gap for gap in self.gaps.values() if sides == [gap.name.casefold(), gap.other.casefold()])
        return next(found, None)

    def _is_column(self, asked: exp.Expr) -> bool:
        return isinstance(asked, exp.Column) or self._gap(asked) is not None

    def column(self, asked: exp.Expr) -> str:
        """A column of which values are asked; of one that comes after another, the gap."""
        name = self.column_name(asked)
        if isinstance(asked.unnest(), exp.Column) and (gap := self.gaps.get(name)):
            raise DataError(
                f"the column {name!r} comes after {gap.other!r}, and a release holds how many "
                f"{gap.unit_name} after: ask for {gap.difference} or COUNT({name}), or draw rows and compute "
                "with their dates"
            )
        return name

    def column_name(self, named: exp.Expr) -> str:
        """The name of a column, as the release has it."""
        named = named.unnest()
        if (gap := self._gap(named)) is not None:
            return gap.name
        if not isinstance(named, exp.Column) or isinstance(named.this, exp.Star):
            raise self._refusal_of(named)
        if named.args.get("table") is not None and (named.table.lower() != "release" or named.db):
            raise DataError(f"unknown table {named.table!r}; a release has one table; name the column alone")
        if named.name in self.names:
            return named.name
        alike = [name for name in self.names if name.casefold() == named.name.casefold()]
        if len(alike) == 1:
            return alike[0]
        raise DataError(f"unknown column {named.name!r}; {suggested(named.name, self.names)}")

    def _refusal_of(self, node: exp.Expr) -> DataError:
        """The error of a node that is not supported, or that is the name of a column without quotes."""
        text = node.sql(dialect="duckdb")
        for name in self.names:
            if not name.isidentifier() and "".join(name.split()) in "".join(text.split()):
                return DataError(f'the name of the column {name!r} needs double quotes: write "{name}"')
        return _unsupported_error(text)


_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}

_KNOWN_NAMED = 12


def suggested(text: str, known: Sequence[str]) -> str:
    """What there is instead, and what of it is most like the text."""
    near = nearest(text, known)
    listed = ", ".join(map(repr, known[:_KNOWN_NAMED])) + (
        f" and {len(known) - _KNOWN_NAMED} more" * (len(known) > _KNOWN_NAMED)
    )
    return ("" if near is None else f"did you mean {near!r}? ") + f"The release has {listed}"


def _literal(value: exp.Expr) -> Literal:
    match value.unnest():
        case exp.Boolean() as boolean:
            return bool(boolean.this)
        case exp.Literal() as literal if literal.is_string:
            return str(literal.this)
        case exp.Literal() as literal:
            return _number(literal.name)
        case exp.Neg(this=exp.Literal() as literal) if not literal.is_string:
            return -_number(literal.name)
        case exp.Cast(this=exp.Literal() as literal) as cast if cast.to.is_type(*exp.DataType.TEMPORAL_TYPES):
            return str(literal.this)
        case exp.Null():
            raise DataError("a comparison with NULL is never true; write IS NULL")
        case exp.Column() as column:
            raise DataError(f"expected a value, got the column {column.name!r}; write text in single quotes")
        case other:
            raise _unsupported_error(other.sql(dialect="duckdb"))


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _probability(asked: exp.Expr | None) -> float:
    value = None if asked is None else _literal(asked)
    if isinstance(value, (str, bool)) or value is None or not 0 < value < 1:
        raise DataError("expected a probability between 0 and 1 as in QUANTILE(x, 0.9); fix the query")
    return float(value)


def _may_be_text(column: exp.Expr, names: Sequence[str]) -> bool:
    alike = {name.casefold() for name in names}
    return isinstance(column, exp.Column) and column.this.quoted and column.name.casefold() not in alike


def _only(node: exp.Expr, *known: str) -> None:
    """Refuses a node with more parts than these."""
    more = [key for key, part in node.args.items() if part and key not in known]
    if more:
        raise _unsupported_error(more[0].strip("_").replace("_", " ").upper())


def _unsupported_error(what: str) -> DataError:
    return DataError(f"the query has {what}, which is not supported; ask {SUPPORTED}")


def _place(cause: errors.SqlglotError) -> str:
    found = cause.errors[0] if isinstance(cause, errors.ParseError) and cause.errors else {}
    if not found:
        return "a quote or a bracket is not closed"
    return f"{found['description'].rstrip('.')} at line {found['line']}, character {found['col']}"
