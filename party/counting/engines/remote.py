"""What engines outside the party's process have in common: a table or a query, and temporary tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp

from ....common.data.values import compose
from ....common.errors import DataError
from ...sources.headers import check_different
from ...sources.ordering import tied
from .engine import Engine
from .kinds import Kind
from .names import PLACE

BATCH_ROWS = 2**16
"""Number of rows of a batch."""


@dataclass(frozen=True)
class Place:
    """Which rows of an engine are a party's.

    Attributes:
        table: name of a table or view, with its schema; empty if a query gives the rows.
        query: one SELECT; empty if a table holds the rows.
        order_by: the column that orders the rows, each value once; None if they have no order, and are only
            counted.
    """

    table: str = ""
    query: str = ""
    order_by: str | None = None

    def source(self, dialect: str) -> exp.Expr:
        """The rows, to select from.

        Args:
            dialect: name of the engine's SQL in sqlglot.

        Raises:
            DataError: it is not the name of a table, or not one SELECT.
        """
        query = self.query.strip().rstrip(";")
        try:
            (statement,) = sqlglot.parse(query or f"SELECT * FROM {self.table}", dialect=dialect)
        except (sqlglot.errors.SqlglotError, ValueError):
            statement = None
        table = statement.find(exp.Table) if isinstance(statement, exp.Query) else None
        if self.table and table is not None and statement == exp.select("*").from_(table) and not table.alias:
            return table
        if self.table or not isinstance(statement, exp.Query):
            raise DataError(
                f"policy.toml: expected the name of a table, or one SELECT in the SQL of {dialect}, in "
                "[source]; fix it"
            )
        # In its owner's words, and a comment at its end does not hide the bracket.
        return exp.Subquery(this=exp.Var(this=f"{query}\n"), alias=exp.to_identifier("rows_of_party"))


class RemoteEngine(Engine):
    """A connection to an engine in another process.

    Args:
        place: which rows are the party's.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._source = place.source(self.dialect)
        self._spellings: Mapping[str, str] = {}

    def drop(self, table: exp.Expr) -> None:
        """See `Engine`."""
        self.run(f"DROP TABLE {self.sql(table)}")

    def sql(self, statement: exp.Expr) -> str:
        """A statement in the engine's SQL."""
        return statement.sql(self.dialect)

    @abstractmethod
    def run(self, sql: str) -> list[Sequence[Any]]:
        """The rows of a statement's answer; none if it has no answer.

        Raises:
            DataError: see `Engine`.
        """

    def column(self, name: str) -> exp.Expr:
        """See `Engine`."""
        return exp.column(self._spellings.get(compose(name), name), quoted=True)

    def source(self) -> exp.Expr:
        """See `Engine`."""
        return self._source.copy()

    def text(self, value: exp.Expr) -> exp.Expr:
        """See `Engine`."""
        return exp.cast(value, "text")

    def order(self) -> exp.Expr | None:
        """See `Engine`."""
        name = self._place.order_by
        return None if name is None else self.column(name)

    def check_order(self, used: Collection[str]) -> None:
        """See `Engine`; a row without a value has no place."""
        order = self.order()
        if order is None:
            return
        different = exp.Count(this=exp.Distinct(expressions=[order]))
        asked = exp.select(exp.Count(this=exp.Star()), different).from_(self.source())
        rows, places = self.fetch(asked)
        if int(rows[0]) != int(places[0]):
            raise tied(f"{self.name}: expected another value of order_by of [source] in each row")

    def place(self) -> exp.Expr | None:
        """See `Engine`."""
        return None if self._place.order_by is None else exp.column(PLACE)

    def fetch(self, query: exp.Select) -> list[NDArray[Any]]:
        """See `Engine`."""
        return columns_of(self.run(self.sql(query)), len(query.selects))

    def hash_of(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """See `Engine`; by a hash of a text."""
        texts = [exp.func("COALESCE", exp.cast(column, "text"), exp.Literal.string("")) for column in columns]
        parts = [part for one in texts for part in (one, exp.Literal.string(","))]
        return self.hash_of_text(exp.func("CONCAT", *parts))

    @abstractmethod
    def hash_of_text(self, text: exp.Expr) -> exp.Expr:
        """A whole number of 64 bits for each text."""

    def _compose_names(self, kinds: Mapping[str, Kind]) -> Mapping[str, Kind]:
        """The kinds of columns by composed names, if the column that orders the rows is among them.

        Args:
            kinds: by the engine's names.
        """
        check_different(self.name, [*map(compose, kinds)], "; rename one of them")
        self._spellings = {compose(name): name for name in kinds}
        kinds = {compose(name): kind for name, kind in kinds.items()}
        order = self._place.order_by
        if order is not None and compose(order) not in kinds:
            raise DataError(
                f"{self.name}: expected the column order_by of [source], found none; fix the source"
            )
        return kinds


def columns_of(rows: Sequence[Sequence[Any]], count: int) -> list[NDArray[Any]]:
    """Rows as columns.

    Args:
        rows: of equal length.
        count: number of columns.
    """
    columns = zip(*rows, strict=True) if rows else [()] * count
    return [np.array(column, dtype=object) for column in columns]
