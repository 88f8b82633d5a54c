"""Columns that are computed from others by an expression in SQL, which DuckDB evaluates.

An expression names columns of its own row, of the rows above as `patients.birth_date`, and of the rows below
in functions of several rows: `count(items)`, `sum(items.amount)`, `last(stays.ward)`. Functions `lag`, `lead`
and `row_number`, and others with `OVER ()`, are about the rows of one parent, in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import errors, exp, parse_one

from ....common.data.attributes.attribute import Attribute
from ....common.data.attributes.dates import TimeAttribute
from ....common.data.attributes.numeric import NumericAttribute
from ....common.data.attributes.unmodelled import Computed
from ....common.data.domain import Domain
from ....common.data.rules.plain import nearest_unit
from ....common.data.values import text_of
from ....common.errors import DataError
from ....common.forms.nearest import hint
from ..raw_frames import value_of_follower
from .typed import typed_column, values_of_codes

_LONGEST_FORMULA = 10_000
"""Characters of the longest expression."""

TRIED_ROWS = 1000
"""With so many rows it is tried whether an expression has values, before anything is spent."""

_ORDERED = (exp.Lag, exp.Lead, exp.RowNumber)
"""Functions of the rows of one parent, also without OVER."""

_OF_ROWS = (exp.Window, exp.Filter, exp.AggFunc, *_ORDERED)
"""Functions of several rows, of which the outermost says of which."""

_FUNCTIONS = frozenset(
    (
        "and or xor case if coalesce nullif greatest least cast try_cast abs round floor ceil trunc sign "
        "sqrt exp ln log power upper lower trim substring left right length concat replace contains "
        "starts_with year quarter month week week_of_year day day_of_month day_of_week dayofweek_iso "
        "day_of_year hour minute second dayname monthname date_part extract time_to_unix datediff date_sub "
        "datesub timestamp_trunc last_day age date_from_parts time_to_str str_to_time to_years to_months "
        "to_days to_hours to_minutes to_seconds count count_if sum avg min max median mode stddev "
        "stddev_pop variance variance_pop percentile_cont percentile_disc first last any_value first_value "
        "last_value logical_and logical_or group_concat lag lead row_number rank dense_rank"
    ).split()
)
"""Functions, as sqlglot calls them, whose values depend on those that they are of, and are about as large.

Expressions come with files of others, too.
"""

_REFUSED = (exp.Query, exp.Subquery, exp.Star, exp.Parameter, exp.Placeholder)

Cells: TypeAlias = "NDArray[Any] | pd.Series"


@dataclass(frozen=True, eq=False)
class Place:
    """A table as rows of another see it.

    Attributes:
        columns: its columns, as far as they are known.
        at: for a table above, the row of each row there; for one below, of each of its rows the row that it
            belongs to, in order, shape (N,); for the table itself, the parent of each row.
    """

    columns: Mapping[str, Cells]
    at: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The rows of a table with what is above and below them.

    Attributes:
        own: the table.
        above: the tables above it, by name.
        below: those whose rows belong to its rows, by name.
    """

    own: Place
    above: Mapping[str, Place] = field(default_factory=dict)
    below: Mapping[str, Place] = field(default_factory=dict)


@dataclass(frozen=True)
class Names:
    """What an expression may name; see `Surroundings`."""

    own: Collection[str]
    above: Mapping[str, Collection[str]] = field(default_factory=dict)
    below: Mapping[str, Collection[str]] = field(default_factory=dict)
    alone: bool = False
    """Whether no row has others beside it, of the same parent."""


@dataclass(frozen=True)
class Formula:
    """An expression by which a column follows from others.

    Attributes:
        where: the column, for messages.
        column: it.
        names: what it may name.
    """

    where: str
    column: Computed
    names: Names

    @cached_property
    def tree(self) -> exp.Expr:
        """The expression, whose columns say of which table they are, with the names that they have there.

        Raises:
            DataError: it is none, or names what there is not.
        """
        try:
            text = self.column.formula
            tree = parse_one(text, read="duckdb") if len(text) <= _LONGEST_FORMULA else None
        except (errors.SqlglotError, RecursionError):
            tree = None
        if not isinstance(tree, (exp.Condition, exp.Filter)):
            raise DataError(f"{self.where}: expected as computed an SQL expression, got another text; fix it")
        for count in [*tree.find_all(exp.Count)]:
            self._read_count(count)
        if refused := next(tree.find_all(*_REFUSED), None):
            raise DataError(
                f"{self.where}: expected an expression of columns, got {refused.sql('duckdb')!r}; write "
                "functions of rows below as sum(table.column) or count(table)"
            )
        if self.names.alone and tree.find(exp.Window, *_ORDERED):
            raise DataError(
                f"{self.where}: computed: expected an expression of one row, since rows of this table stand "
                "beside no others, got one of several; leave it out, or state a key"
            )
        for function in tree.find_all(exp.Func):
            name = function.name if isinstance(function, exp.Anonymous) else function.sql_name()
            if name.lower() not in _FUNCTIONS:
                raise DataError(
                    f"{self.where}: computed: expected functions of numbers, texts, dates or several rows, "
                    f"got {name.lower()}; write it otherwise"
                )
        for column in [*tree.find_all(exp.Column)]:
            table, name = self._resolve(column, _function_of(column))
            column.set("this", exp.to_identifier(name, quoted=True))
            column.set("table", exp.to_identifier(table, quoted=True) if table else None)
        return tree

    @property
    def needs(self) -> set[tuple[str, str]]:
        """The columns that it names, each with its table; empty for the own one, or for no column."""
        return {(column.table, column.name) for column in self.tree.find_all(exp.Column)}

    def _read_count(self, count: exp.Count) -> None:
        """Reads `count(items)` as the number of rows of a table below."""
        asked, of_siblings = count.this, isinstance(count.parent, exp.Window)
        if isinstance(asked, exp.Column) and not asked.table and not of_siblings:
            if table := _find_name(asked.name, self.names.below):
                count.set("this", exp.column("", table=table, quoted=True))
        elif isinstance(asked, exp.Star) and of_siblings:
            count.set("this", exp.Literal.number(1))

    def _resolve(self, column: exp.Column, function: exp.Expr | None) -> tuple[str, str]:
        """The table and the name of a column, in the spelling that they have; table empty for the own one."""
        of_rows_below = _is_of_rows_below(function)
        said = column.table
        if not said and not of_rows_below:
            name = _find_name(column.name, self.names.own)
            if name:
                return "", name
            raise self._unknown(column, self.names.own, "a column of the table")
        tables = self.names.below if of_rows_below else self.names.above
        table = _find_name(said, tables)
        kind = "below, of which functions of rows speak" if of_rows_below else "above"
        if not table:
            raise self._unknown(column, tables, f"a column of a table {kind}, as table.column", said)
        if not column.name:
            return table, ""
        name = _find_name(column.name, tables[table])
        if not name:
            raise self._unknown(column, tables[table], f"a column of {table!r}")
        return table, name

    def _unknown(self, column: exp.Column, known: Iterable[str], wanted: str, said: str = "") -> DataError:
        got = column.sql("duckdb")
        near = hint(said or column.name, [*known])
        return DataError(f"{self.where}: computed: expected {wanted}, got {got}{near}; fix the domain")

    def values(self, around: Surroundings) -> NDArray[Any]:
        """The values of the column, as `Attribute.decode` gives them; missing where the expression has none.

        Args:
            around: all rows.

        Raises:
            DataError: SQL has no such expression of columns of these kinds.
        """
        with duckdb.connect(config={"enable_external_access": False, "threads": 1}) as connection:
            connection.execute("SET enable_progress_bar = false")
            made = _Statement(connection, around)
            try:
                found = connection.execute(made.select(self.tree.copy())).fetchnumpy()["v"]
            except duckdb.Error as error:
                first = str(error).splitlines()[0]
                raise DataError(f"{self.where}: computed: expected SQL, got: {first}") from None
        return _values(self.where, self.column.attribute, np.ma.asanyarray(found))


class _Statement:
    """The statement that computes an expression, over tables that a connection knows.

    Args:
        connection: gets the tables.
        around: the rows.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, around: Surroundings) -> None:
        self._connection, self._around = connection, around
        rows = np.arange(len(around.own.at))
        self._columns: dict[str, pa.Array] = {"row": pa.array(rows), "parent": pa.array(around.own.at)}
        self._joined: list[str] = []
        self._windows: list[str] = []

    def select(self, tree: exp.Expr) -> str:
        """The statement; it gives a column v, in the order of the rows."""
        root = exp.Paren(this=tree)
        outer = [*_functions_of_rows(tree)]
        for function in outer:
            below = _is_of_rows_below(function)
            function.replace(self._of_rows_below(function) if below else self._window(function))
        self._rename(root)
        self._connection.register("own", pa.table(self._columns))
        windows = "".join(f", {one}" for one in self._windows)
        joins = " ".join(self._joined)
        return (
            f"SELECT TRY({root.sql('duckdb')}) AS v FROM (SELECT *{windows} FROM own) AS own {joins} "
            "ORDER BY own.row"
        )

    def _window(self, function: exp.Expr) -> exp.Expr:
        """Something about the rows of one parent, as a column of the own rows."""
        window = function.copy() if isinstance(function, exp.Window) else exp.Window(this=function.copy())
        window.set("partition_by", [exp.column("parent")])
        if window.args.get("spec") is not None or isinstance(window.this, _ORDERED):
            window.set("order", exp.Order(expressions=[exp.Ordered(this=exp.column("row"), desc=False)]))
        self._rename(window)
        name = f"w{len(self._windows)}"
        self._windows.append(f"{window.sql('duckdb')} AS {name}")
        return exp.column(name, table="own")

    def _of_rows_below(self, function: exp.Expr) -> exp.Expr:
        """A function of rows below, as a column of a table that is joined."""
        named = [*function.find_all(exp.Column)]
        table = named[0].table
        place = self._around.below[table]
        held = {"parent": pa.array(place.at), "row": pa.array(np.arange(len(place.at)))}
        for column in named:
            if column.name:
                key = f"c{len(held)}"
                held[key] = _arrow(place.columns[column.name])
                column.replace(exp.column(key))
            else:
                column.replace(exp.Literal.number(1))
        number = f"t{len(self._joined)}"
        self._connection.register(number, pa.table(held))
        text = function.sql("duckdb")
        if isinstance(function, (exp.First, exp.Last)):
            text = f"{text[:-1]} ORDER BY row)"
        self._joined.append(
            f"LEFT JOIN (SELECT parent, {text} AS v FROM {number} GROUP BY parent) AS {number} "
            f"ON {number}.parent = own.row"
        )
        value = exp.column("v", table=number)
        counts = isinstance(function.this if isinstance(function, exp.Filter) else function, exp.Count)
        return exp.func("coalesce", value, exp.Literal.number(0)) if counts else value

    def _rename(self, tree: exp.Expr) -> None:
        """Gives the columns of own rows and of those above names of their own."""
        for column in [*tree.find_all(exp.Column)]:
            if not column.this.args.get("quoted"):
                continue
            key = f"c{len(self._columns)}"
            if column.table:
                place = self._around.above[column.table]
                self._columns[key] = _arrow(place.columns[column.name]).take(pa.array(place.at))
            else:
                self._columns[key] = _arrow(self._around.own.columns[column.name])
            column.replace(exp.column(key))


def in_order_of_need(named: Mapping[tuple[str, str], Formula]) -> list[tuple[str, str]]:
    """The columns that are computed, each after those that it needs.

    Args:
        named: their expressions, by table and column.

    Raises:
        DataError: one needs itself.
    """
    needs = {
        (table, column): {(of or table, name) for of, name in formula.needs}.intersection(named)
        - ({(table, column)} if formula.column.measured else set())
        for (table, column), formula in named.items()
    }
    try:
        return [*TopologicalSorter(needs).static_order()]
    except CycleError as cause:
        table, column = cause.args[1][0]
        raise DataError(
            f"{named[table, column].where}: computed: expected that it follows from others, found that it "
            "needs itself; fix the domain"
        ) from None


def with_followers(domain: Domain, values: Mapping[str, NDArray[Any]], rows: int) -> dict[str, NDArray[Any]]:
    """Decoded rows of one table with the columns that are computed from others of the same row.

    Args:
        domain: of the table.
        values: of its attributes, shape (rows,) each.
        rows: their number.
    """
    found = dict(values)
    formulas = formulas_of(domain)
    for column in in_order_of_need(formulas):
        typed = {name: typed_column(domain, name, found[name]) for _, name in formulas[column].needs}
        around = Surroundings(Place(typed, np.zeros(rows, dtype=np.int64)))
        found[column[1]] = formulas[column].values(around)
    return found


def formulas_of(domain: Domain) -> dict[tuple[str, str], Formula]:
    """The expressions of the columns of one table that are computed, by table (of no name) and column."""
    names = Names((*domain.names, *(one.name for one in domain.followers)), alone=True)
    return {("", one.name): Formula(f"attribute {one.name!r}", one, names) for one in domain.followers}


def neighbour_of(formula: str) -> str:
    """Which row of a parent has no such neighbour as an expression names: "first", "last", or none."""
    tree = parse_one(formula, read="duckdb")
    return "last" if tree.find(exp.Lead) else "first" if tree.find(exp.Lag) else ""


def check_followers(domain: Domain) -> None:
    """Refuses columns of one table that cannot be computed from others of the same row.

    Raises:
        DataError: one cannot.
    """
    if domain.followers:
        with_followers(domain, values_of_codes(domain, TRIED_ROWS), TRIED_ROWS)


def _functions_of_rows(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost functions of several rows."""
    if isinstance(tree, _OF_ROWS):
        yield tree
        return
    for child in [*tree.iter_expressions()]:
        yield from _functions_of_rows(child)


def _is_of_rows_below(function: exp.Expr | None) -> bool:
    """Whether a function of several rows is one of rows below, not of those of one parent."""
    return isinstance(function, (exp.AggFunc, exp.Filter)) and not isinstance(function, _ORDERED)


def _function_of(column: exp.Expr) -> exp.Expr | None:
    """The outermost function of several rows around a column."""
    found, node = None, column.parent
    while node is not None:
        found = node if isinstance(node, _OF_ROWS) else found
        node = node.parent
    return found


def _find_name(said: str, names: Iterable[str]) -> str:
    """The name that is meant, whatever its capitals if one name alone is; empty for none."""
    listed = [*names]
    if said in listed:
        return said
    alike = [name for name in listed if name.casefold() == said.casefold()]
    return alike[0] if len(alike) == 1 else ""


def _arrow(cells: Cells) -> pa.Array:
    """Typed cells for SQL: times with a zone as local ones, and cells of several types as texts."""
    column = cells if isinstance(cells, pd.Series) else pd.Series(cells)
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_localize(None)
    try:
        found = pa.Array.from_pandas(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        found = pa.array([None if pd.isna(cell) else text_of(cell) for cell in column], pa.string())
    return found.cast(found.type.value_type) if pa.types.is_dictionary(found.type) else found


def _values(where: str, attribute: Attribute, cells: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    """What an expression gave as values of a column; missing where the column has no such value."""
    kind = cells.dtype.kind
    if isinstance(attribute, NumericAttribute) and not attribute.texts:
        if kind not in "biuf":
            raise _another_kind(where, "a number")
        found = np.ma.filled(cells.astype(np.float64), np.nan)
        found = nearest_unit(attribute, np.where(np.isfinite(found), found, np.nan))
        return value_of_follower(attribute, np.rint(found) if attribute.integer else found)
    if isinstance(attribute, TimeAttribute) and not attribute.texts:
        if kind != "M":
            raise _another_kind(where, "a date or a time")
        times = np.ma.filled(cells.astype("datetime64[us]"), np.datetime64("NaT"))
        return value_of_follower(attribute, times)
    return value_of_follower(attribute, cells)


def _another_kind(where: str, wanted: str) -> DataError:
    return DataError(
        f"{where}: computed: expected {wanted}, as the column is described, got an expression of another "
        "kind; fix the domain"
    )
