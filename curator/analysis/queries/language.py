"""A query as a value: what is asked of which rows, by which groups."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

Literal = str | int | float | bool
"""A value in a query; dates and timestamps are text."""

SUPPORTED = (
    "SELECT [columns,] COUNT(*), COUNT(x), COUNT_IF(condition), SUM(x), AVG(x), MEDIAN(x), QUANTILE(x, 0.9), "
    "SHARE(condition), SHARE() FROM release [WHERE condition] [GROUP BY columns], each with FILTER (WHERE "
    "condition) or AS name; conditions of =, <>, <, <=, >, >=, IN, BETWEEN, IS NULL, AND, OR and NOT that "
    "compare a column with values"
)
"""The language, for messages."""


@dataclass(frozen=True)
class Equal:
    """The column has this value; unknown where the column is missing."""

    column: str
    value: Literal


@dataclass(frozen=True)
class Below:
    """The column is smaller than a value, or `also` equal to it; unknown where the column is missing."""

    column: str
    value: Literal
    also: bool


@dataclass(frozen=True)
class Missing:
    """The column is missing."""

    column: str


@dataclass(frozen=True)
class Not:
    """The condition is false."""

    condition: Condition


@dataclass(frozen=True)
class Both:
    """Both conditions are true."""

    first: Condition
    second: Condition


@dataclass(frozen=True)
class Either:
    """One of the conditions is true."""

    first: Condition
    second: Condition


Condition = Equal | Below | Missing | Not | Both | Either
"""A condition on one record, in SQL's logic of true, false and unknown."""


def comparisons(condition: Condition | None) -> Iterator[Equal | Below | Missing]:
    """All comparisons in a condition."""
    match condition:
        case Not(inner):
            yield from comparisons(inner)
        case Both(first, second) | Either(first, second):
            yield from comparisons(first)
            yield from comparisons(second)
        case Equal() | Below() | Missing():
            yield condition


class Kind(enum.Enum):
    """What an aggregate computes over the rows of a group."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    SHARE = "share of the rows of all groups"
    QUANTILE = "quantile"


@dataclass(frozen=True)
class Aggregate:
    """One number for each group.

    Attributes:
        name: of its column in the answer.
        kind: what is computed.
        of: a column, of whose values; rows in which it is missing have no part. Or a condition: a count is of
            the rows where it is true, a mean is their share of those where it is known. None for all rows.
        where: which rows of the group have a part; None for all.
        probability: of a quantile.
    """

    name: str
    kind: Kind
    of: str | Condition | None = None
    where: Condition | None = None
    probability: float = 0.5

    @property
    def comparisons(self) -> tuple[Equal | Below | Missing, ...]:
        """All comparisons in it."""
        of = None if isinstance(self.of, str) else self.of
        return (*comparisons(of), *comparisons(self.where))

    @property
    def columns(self) -> frozenset[str]:
        """All columns that occur."""
        measured = {self.of} if isinstance(self.of, str) else set()
        return frozenset(measured | {leaf.column for leaf in self.comparisons})


@dataclass(frozen=True)
class Query:
    """Aggregates by groups.

    Attributes:
        selected: in the order of the answer: columns of `groups`, and aggregates.
        groups: columns by whose values rows are grouped; without any, all rows are one group.
        where: which rows have a part; None for all.
    """

    selected: tuple[str | Aggregate, ...]
    groups: tuple[str, ...]
    where: Condition | None

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates."""
        return tuple(item for item in self.selected if isinstance(item, Aggregate))

    @property
    def comparisons(self) -> tuple[Equal | Below | Missing, ...]:
        """All comparisons in it."""
        inside = (leaf for item in self.aggregates for leaf in item.comparisons)
        return (*comparisons(self.where), *inside)

    @property
    def selecting(self) -> frozenset[str]:
        """The columns that say which rows have a part, and in which group."""
        return frozenset({*self.groups, *(leaf.column for leaf in comparisons(self.where))})

    @property
    def columns(self) -> frozenset[str]:
        """All columns that occur."""
        return self.selecting.union(*(item.columns for item in self.aggregates))
