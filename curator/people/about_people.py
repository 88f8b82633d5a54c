"""Queries over related tables that are about people: read as queries over the records of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pandas as pd
from sqlglot import exp

from ...common.data.attributes.numeric import NumericAttribute
from .kin import Kin
from .shape import Family, number_name
from .summaries import AnyOf, CountOf

_ROWS = (
    "no interval: the query counts rows of tables below, and the release counts people; ask for "
    "COUNT(DISTINCT key of people)"
)


class NotAboutPeople(Exception):
    """A query is none about people; says why."""


def about_people(family: Family, frames: Mapping[str, pd.DataFrame], select: exp.Select) -> str:
    """A query over related tables as one over `release`, the records of people.

    Args:
        family: the tables.
        frames: the synthetic tables.
        select: the query.

    Raises:
        NotAboutPeople: there is none that asks the same.
    """
    return _Reader(family, frames, select).read()


@dataclass
class _Reader:
    """Reads a query over tables as one over the records of people.

    Attributes:
        family: the tables.
        frames: the synthetic tables.
        select: the query.
        tables: the table of each name in it.
        joined: the names whose rows are those of the same people.
    """

    family: Family
    frames: Mapping[str, pd.DataFrame]
    select: exp.Select
    tables: dict[str, Kin] = field(default_factory=dict)
    joined: set[frozenset[str]] = field(default_factory=set)

    def read(self) -> str:
        """The query over `release`, the records of people.

        Raises:
            NotAboutPeople: there is none.
        """
        self._only(self.select, "expressions", "from_", "joins", "where", "group")
        asked: list[exp.Expr] = []
        for source in (self.select.args.get("from_"), *(self.select.args.get("joins") or ())):
            asked += self._source(source)
        where = self.select.args.get("where")
        asked += [] if where is None else _conjuncts(where.this)
        below: dict[str, list[exp.Expr]] = {name: [] for name, table in self.tables.items() if table.parent}
        kept: list[exp.Expr] = []
        for condition in asked:
            if self._joins(condition):
                continue
            names = {self._table(column) for column in condition.find_all(exp.Column)}
            if not names & below.keys() or all(map(self._of_root, condition.find_all(exp.Column))):
                kept.append(self._plain(condition))
            elif len(names) == 1:
                below[names.pop()].append(condition)
            else:
                raise NotAboutPeople("no interval: a condition compares columns of several tables")
        self._check_joins()
        kept += [self._summary_condition(name, conditions) for name, conditions in below.items()]
        items = [self._item(item, bool(below)) for item in self.select.expressions]
        query = exp.select(*items).from_("release")
        for condition in kept:
            query = query.where(condition)
        return self._group_query(query).sql(dialect="duckdb")

    def _group_query(self, query: exp.Select) -> exp.Select:
        """The query by the groups that were asked."""
        group = self.select.args.get("group")
        if group is None:
            return query
        self._only(group, "expressions", "all")
        if group.args.get("all"):
            columns = [one for one in query.expressions if isinstance(one, exp.Column)]
            return query.group_by(*(column.copy() for column in columns))
        places = [isinstance(one, exp.Literal) for one in group.expressions]
        found = zip(group.expressions, places, strict=True)
        return query.group_by(*(one.copy() if place else self._plain(one) for one, place in found))

    def _source(self, source: exp.Expr | None) -> Iterator[exp.Expr]:
        """Takes in a table, and gives the conditions of its join."""
        if source is None or not isinstance(source.this, exp.Table):
            raise NotAboutPeople("no interval: the query reads something else than tables")
        if isinstance(source, exp.Join):
            self._only(source, "this", "on", "using", "kind")
            if source.args.get("kind") not in (None, "", "INNER"):
                raise NotAboutPeople("no interval: the query has a join other than an inner one")
        named = source.this
        self._only(named, "this", "alias")
        known = [table for table in self.family.tables if table.name.casefold() == named.name.casefold()]
        if not known or not known[0].columns:
            raise NotAboutPeople(f"no interval: {named.name!r} is no table of people or of their rows")
        name = named.alias_or_name.casefold()
        if name in self.tables:
            raise NotAboutPeople("no interval: two tables have one name; name them apart")
        self.tables[name] = known[0]
        for key in source.args.get("using") or ():
            others = [one for one in list(self.tables)[:-1] if key.name in self._columns(one)]
            if len(others) != 1:
                raise NotAboutPeople("no interval: a join does not follow the relations")
            yield exp.EQ(this=exp.column(key.name, name), expression=exp.column(key.name, others[0]))
        if source.args.get("on") is not None:
            yield from _conjuncts(source.args["on"])

    def _columns(self, name: str) -> list[str]:
        return list(map(str, self.frames[self.tables[name].name].columns))

    def _table(self, column: exp.Column) -> str:
        """The name of the table of a column."""
        if column.table:
            if column.table.casefold() not in self.tables:
                raise NotAboutPeople(f"no interval: there is no table {column.table!r}")
            return str(column.table.casefold())
        held = [
            name for name in self.tables if column.name.casefold() in map(str.casefold, self._columns(name))
        ]
        if len(held) != 1:
            raise NotAboutPeople(f"no interval: the column {column.name!r} is in no or in several tables")
        return held[0]

    def _is_person(self, column: exp.Expr) -> bool:
        """Whether a column is the key of people."""
        if not isinstance(column, exp.Column):
            return False
        table = self.tables[self._table(column)]
        keys = (table.foreign,) if table.parent == self.family.root.name else (table.key,)
        own = table is self.family.root or table.parent == self.family.root.name
        return own and column.name.casefold() in map(str.casefold, filter(None, keys))

    def _joins(self, condition: exp.Expr) -> bool:
        """Whether a condition says that rows of two tables are of the same person."""
        if not isinstance(condition, exp.EQ):
            return False
        sides = condition.this.unnest(), condition.expression.unnest()
        if not all(map(self._is_person, sides)):
            return False
        self.joined.add(frozenset(self._table(side) for side in sides))
        return True

    def _check_joins(self) -> None:
        """Refuses tables that are not joined to the others by their people."""
        names = set(self.tables)
        reached = {next(iter(self.tables))}
        while more := {name for pair in self.joined if pair & reached for name in pair} - reached:
            reached |= more
        if names != reached or any(
            table.parent not in ("", self.family.root.name) for table in self.tables.values()
        ):
            raise NotAboutPeople("no interval: tables are joined otherwise than by the key of people")

    def _of_root(self, column: exp.Column) -> bool:
        """Whether a column is one of people: of their table, or in the only table of a release with a key."""
        table = self.tables[self._table(column)]
        return not table.parent or (
            not self.family.root.columns
            and column.name in {one.name for one in self.family.own(self.family.root.name)}
        )

    def _plain(self, asked: exp.Expr) -> exp.Expr:
        """An expression over columns of people, without names of tables."""

        def plain(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column):
                return node
            if not self._of_root(node):
                raise NotAboutPeople(_ROWS)
            return exp.column(exp.to_identifier(node.name, quoted=True))

        for node in asked.find_all(exp.Column):
            self._check_count(node)
        return asked.copy().transform(plain)

    def _check_count(self, column: exp.Column) -> None:
        """Refuses what a number of rows beyond its last bin would make wrong."""
        root = self.family.root.name
        numbers = set(self.family.numbers(root))
        for child in self.family.children(root):
            numbers |= {
                one.name
                for summary, one in self.family.summaries_in_release(child.name)
                if isinstance(summary, CountOf)
            }
        counts = {one.name.casefold(): one for one in self.family.own(root) if one.name in numbers}
        attribute = counts.get(column.name.casefold())
        if attribute is None:
            return
        assert isinstance(attribute, NumericAttribute)
        compared = column.find_ancestor(exp.Binary, exp.Between, exp.In)
        values = [] if compared is None else list(compared.find_all(exp.Literal))
        last = float(attribute.reach[-1, 0])
        if not values or any(one.is_string or float(one.name) >= last for one in values):
            raise NotAboutPeople(
                f"no interval: the release does not tell numbers of {last:g} and more apart in "
                f"{column.name!r}; compare it with smaller ones"
            )

    def _summary_condition(self, name: str, conditions: list[exp.Expr]) -> exp.Expr:
        """The condition of people that they have a row of a table that meets conditions."""
        table = self.tables[name]
        if not conditions:
            number = exp.column(exp.to_identifier(number_name(table.name), quoted=True))
            return exp.GT(this=number, expression=exp.Literal.number(0))
        found = [_column_and_values(condition) for condition in conditions]
        for summary, attribute in self.family.summaries_in_release(table.name):
            if isinstance(summary, AnyOf) and found == [
                (summary.column.casefold(), frozenset(summary.values))
            ]:
                return exp.column(exp.to_identifier(attribute.name, quoted=True))
        raise NotAboutPeople(
            f"no interval: no summary of {table.name!r} says whether people have such a row; name one when "
            "the release is made"
        )

    def _item(self, item: exp.Expr, below: bool) -> exp.Expr:
        """A column or an aggregate of the answer."""
        call = item.unalias()
        name = item.alias or call.sql(dialect="duckdb")
        asked = call.this if isinstance(call, exp.Count) else None
        if isinstance(asked, exp.Distinct) and len(asked.expressions) == 1:
            people = self._is_person(asked.expressions[0])
        else:
            people = asked is not None and not below and self._is_person(asked)
        if people:
            return exp.alias_(exp.Count(this=exp.Star()), name, quoted=True)
        if isinstance(call, exp.Column):
            if item.alias:
                raise NotAboutPeople("no interval: a column of a group has a new name; leave out its AS")
            return self._plain(call)
        if below:
            raise NotAboutPeople(_ROWS)
        return exp.alias_(self._plain(call), name, quoted=True)

    @staticmethod
    def _only(node: exp.Expr, *known: str) -> None:
        """Refuses a part of a query with more parts than these."""
        more = [key for key, part in node.args.items() if part and key not in known]
        if more:
            raise NotAboutPeople(
                f"no interval: the query has {more[0].strip('_').replace('_', ' ').upper()}; leave it out"
            )


def _conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    found = condition.unnest()
    if isinstance(found, exp.And):
        return [*_conjuncts(found.this), *_conjuncts(found.expression)]
    return [found]


def _column_and_values(condition: exp.Expr) -> tuple[str, frozenset[str]] | None:
    """The column and its values that a condition names; None of another condition."""
    match condition:
        case exp.EQ():
            sides = [condition.this.unnest(), condition.expression.unnest()]
            column, value = sides if isinstance(sides[0], exp.Column) else sides[::-1]
            values = [value]
        case exp.In() if condition.expressions and not condition.args.get("query"):
            column, values = condition.this.unnest(), condition.expressions
        case exp.Or():
            either = [_column_and_values(one.unnest()) for one in (condition.this, condition.expression)]
            if None in either or either[0][0] != either[1][0]:  # type: ignore[index]
                return None
            return either[0][0], either[0][1] | either[1][1]  # type: ignore[index]
        case _:
            return None
    if not isinstance(column, exp.Column) or not all(isinstance(one, exp.Literal) for one in values):
        return None
    return column.name.casefold(), frozenset(one.name for one in values)
