"""Reads a query from a subset of SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import errors, exp, parse

from ....common.data.attributes.dates import GapAttribute
from ....common.errors import DataError
from .items import Items
from .language import SUPPORTED, Aggregate, Key, Order, Query, name_of
from .naming import check_parts, unsupported_error

LONGEST_QUERY = 10_000
"""Characters of the longest query."""

_NO_GAPS: Mapping[str, GapAttribute] = {}
_NO_FOLLOWERS: Mapping[str, exp.Expr] = {}


def parsed(
    text: str,
    names: Sequence[str],
    gaps: Mapping[str, GapAttribute] = _NO_GAPS,
    followers: Mapping[str, exp.Expr] = _NO_FOLLOWERS,
) -> Query:
    """The query in a text.

    Args:
        text: one SELECT statement.
        names: columns of the release.
        gaps: those that come after others, by name; `died - admitted` asks for such a gap.
        followers: expressions of columns that are computed, by name; they stand for these.

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
            raise unsupported_error("more than one SELECT statement")
        _name_what_is_computed(statements[0], followers)
        return _Reader(names, gaps).query(statements[0])
    except errors.SqlglotError as cause:
        raise DataError(f"the query is no SQL: {_place(cause)}; ask {SUPPORTED}") from cause
    except RecursionError:
        raise DataError("the query has too many conditions within conditions; write fewer") from None


def _name_what_is_computed(select: exp.Select, followers: Mapping[str, exp.Expr]) -> None:
    """Puts expressions in the place of the columns that they compute; days between dates are differences."""
    known = {name.casefold(): name for name in followers}

    def find_computed(tree: exp.Expr) -> exp.Column | None:
        return next((one for one in tree.find_all(exp.Column) if one.name.casefold() in known), None)

    for item in select.expressions:
        if find_computed(item) is not None and not isinstance(item, exp.Alias):
            text = item.name if isinstance(item, exp.Column) else item.sql(dialect="duckdb")
            item.replace(exp.alias_(item.copy(), text, quoted=True))
    while (column := find_computed(select)) is not None:
        column.replace(followers[known[column.name.casefold()]].copy())
    for gap in [*select.find_all(exp.DateDiff)]:
        if gap.text("unit").lower() == "day":
            gap.replace(exp.Sub(this=gap.this, expression=gap.expression))


class _Reader(Items):
    def query(self, select: exp.Select) -> Query:
        check_parts(select, "expressions", "from_", "where", "group", "order", "limit", "offset")
        self._check_source(select.args.get("from_"))
        where = select.args.get("where")
        condition = None if where is None else self.condition(where.this)
        items = [self.item(item) for item in select.expressions]
        groups = self._groups(select.args.get("group"), items)
        for item in items:
            if not isinstance(item, Aggregate) and item not in groups:
                name = name_of(item)
                raise DataError(f"the column {name!r} is selected without an aggregate; add GROUP BY {name}")
        taken = list(map(name_of, items))
        if len(set(taken)) < len(taken):
            raise DataError("two columns of the answer have one name; name them apart with AS")
        if not any(isinstance(item, Aggregate) for item in items):
            raise DataError(f"the query has no aggregate; ask {SUPPORTED}")
        order = select.args.get("order")
        limit, skipped = (_count(select.args.get(key)) for key in ("limit", "offset"))
        keys = [] if order is None else [self._order(one, items, groups) for one in order.expressions]
        return Query(tuple(items), groups, condition, tuple(keys), limit, skipped or 0)

    def _check_source(self, source: exp.Expr | None) -> None:
        if source is None:
            return
        if not isinstance(source.this, exp.Table):
            raise unsupported_error("a FROM other than release")
        check_parts(source.this, "this")
        if source.this.name.lower() != "release":
            raise DataError(
                f"expected FROM release, got FROM {source.this.name}; a release has this one table"
            )

    def _groups(self, group: exp.Expr | None, items: Sequence[Key | Aggregate]) -> tuple[Key, ...]:
        if group is None:
            return ()
        if group.args.get("all"):
            check_parts(group, "all")
            return tuple(item for item in items if not isinstance(item, Aggregate))
        check_parts(group, "expressions")
        found = []
        for asked in group.expressions:
            item = self._item_named(asked, items, "GROUP BY")
            if item is None:
                key = self.key(asked)
                if key is None:
                    raise self.refusal_of(asked)
                item = next((one for one in items if _same(one, key)), key)
            if isinstance(item, Aggregate):
                raise DataError(f"GROUP BY {asked.name} is no column of the SELECT; name the column")
            found.append(item)
        return tuple(dict.fromkeys(found))

    def _order(self, ordered: exp.Expr, items: Sequence[Key | Aggregate], groups: Sequence[Key]) -> Order:
        check_parts(ordered, "this", "desc", "nulls_first")
        asked = ordered.this
        found = self._item_named(asked, items, "ORDER BY")
        if found is None:
            wanted = self.item(asked)
            found = next((one for one in (*items, *groups) if _same(one, wanted)), None)
        if found is None:
            text = asked.sql(dialect="duckdb")
            raise DataError(f"ORDER BY {text}: expected something that is selected, got another; select it")
        return Order(found, bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first")))

    def _item_named(
        self, asked: exp.Expr, items: Sequence[Key | Aggregate], clause: str
    ) -> Key | Aggregate | None:
        """What is selected at a position, or under a name that no column has; None if neither is named."""
        if isinstance(asked, exp.Literal) and not asked.is_string and asked.name.isdecimal():
            place = int(asked.name) - 1
            if not 0 <= place < len(items):
                raise DataError(f"{clause} {asked.name} is no column of the SELECT; name the column")
            return items[place]
        if not isinstance(asked, exp.Column) or asked.table:
            return None
        if clause == "GROUP BY" and asked.name.casefold() in map(str.casefold, self.names):
            return None
        return next((one for one in items if name_of(one).casefold() == asked.name.casefold()), None)


def _same(one: Key | Aggregate, other: Key | Aggregate) -> bool:
    """Whether both ask the same, whatever they are called."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return type(one) is type(other) and replace(other, name=one.name) == one


def _count(clause: exp.Expr | None) -> int | None:
    """The number in a LIMIT or OFFSET."""
    if clause is None:
        return None
    check_parts(clause, "expression")
    stated = clause.expression
    if not isinstance(stated, exp.Literal) or stated.is_string or not stated.name.isdecimal():
        raise unsupported_error(f"a {clause.key.upper()} that is no whole number")
    return int(stated.name)


def _place(cause: errors.SqlglotError) -> str:
    found = cause.errors[0] if isinstance(cause, errors.ParseError) and cause.errors else {}
    if not found:
        return "a quote or a bracket is not closed"
    return f"{found['description'].rstrip('.')} at line {found['line']}, character {found['col']}"
