"""A query as a value: what is asked of which rows, by which groups."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from ....common.data.attributes.date_parts import Part

Literal = str | int | float | bool
"""A value in a query; dates and timestamps are text."""

SUPPORTED = (
    "SELECT [columns,] COUNT(*), COUNT(x), COUNT(DISTINCT x), COUNT_IF(condition), SUM(x), AVG(x), "
    "STDDEV(x), VARIANCE(x), MEDIAN(x), QUANTILE(x, 0.9), SHARE(condition), SHARE() FROM release [WHERE "
    "condition] [GROUP BY columns] [ORDER BY columns] [LIMIT n], each with FILTER (WHERE condition) or AS "
    "name; conditions of =, <>, <, <=, >, >=, IN, BETWEEN, LIKE, IS NULL, AND, OR and NOT that compare a "
    "column, or YEAR(x), QUARTER(x), MONTH(x), DAY(x), ISODOW(x) or HOUR(x) of a date, with values; CASE "
    "WHEN condition THEN value ELSE value END in an aggregate or a group"
)
"""The language, for messages."""


@dataclass(frozen=True)
class Equal:
    """The column, or a part of its dates, has this value; unknown where the column is missing."""

    column: str
    value: Literal
    part: Part | None = None


@dataclass(frozen=True)
class Below:
    """The column, or a part of its dates, is smaller than a value, or `also` equal; unknown likewise."""

    column: str
    value: Literal
    also: bool
    part: Part | None = None


@dataclass(frozen=True)
class Like:
    """The text of the column matches a pattern; unknown where the column is missing.

    Attributes:
        column: its name.
        asked: the pattern as it was asked.
        pattern: the same as a regular expression.
    """

    column: str
    asked: str
    pattern: str


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


@dataclass(frozen=True)
class Surely:
    """The condition is true; false where it is unknown."""

    condition: Condition


Comparison = Equal | Below | Like | Missing
"""A condition on one column."""

Condition = Comparison | Not | Both | Either | Surely
"""A condition on one record, in SQL's logic of true, false and unknown."""


def comparisons(condition: Condition | None) -> Iterator[Comparison]:
    """All comparisons in a condition."""
    match condition:
        case Not(inner) | Surely(inner):
            yield from comparisons(inner)
        case Both(first, second) | Either(first, second):
            yield from comparisons(first)
            yield from comparisons(second)
        case Equal() | Below() | Like() | Missing():
            yield condition


class Kind(enum.Enum):
    """What an aggregate computes over the rows of a group."""

    COUNT = "count"
    SUM = "sum"
    MEAN = "mean"
    SHARE = "share of the rows of all groups"
    QUANTILE = "quantile"
    VARIANCE = "variance"
    DEVIATION = "standard deviation"
    DISTINCT = "number of different values"


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
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons in it."""
        of = None if isinstance(self.of, str) else self.of
        return (*comparisons(of), *comparisons(self.where))

    @property
    def columns(self) -> frozenset[str]:
        """All columns that occur."""
        measured = {self.of} if isinstance(self.of, str) else set()
        return frozenset(measured | {leaf.column for leaf in self.comparisons})


@dataclass(frozen=True)
class DatePart:
    """Groups by a part of dates, such as the month.

    Attributes:
        name: of its column in the answer.
        column: of dates.
        part: which.
    """

    name: str
    column: str
    part: Part

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """What tells the groups apart."""
        return Equal(self.column, 0, self.part), Missing(self.column)


@dataclass(frozen=True)
class Cases:
    """Groups by conditions, of which one is true for each row.

    Attributes:
        name: of its column in the answer.
        cases: the value of each group, None for a missing one, and its condition.
    """

    name: str
    cases: tuple[tuple[Literal | None, Condition], ...]

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """What tells the groups apart."""
        return tuple(leaf for _, condition in self.cases for leaf in comparisons(condition))


Key = str | DatePart | Cases
"""By what rows are grouped: a column, or what is computed from columns."""


def name_of(item: Key | Aggregate) -> str:
    """The name of a column of the answer."""
    return item if isinstance(item, str) else item.name


@dataclass(frozen=True)
class Order:
    """By what the rows of the answer are sorted.

    Attributes:
        by: a key of the groups, or an aggregate.
        descending: whether the largest come first.
        missing_first: whether missing values come first.
    """

    by: Key | Aggregate
    descending: bool
    missing_first: bool


@dataclass(frozen=True)
class Query:
    """Aggregates by groups.

    Attributes:
        selected: in the order of the answer: keys of `groups`, and aggregates.
        groups: by what rows are grouped; without any, all rows are one group.
        where: which rows have a part; None for all.
        order: by what the answer is sorted; by the groups if it is empty.
        limit: the largest number of rows of the answer; None for all.
        skipped: rows of the answer that are left out before.
    """

    selected: tuple[Key | Aggregate, ...]
    groups: tuple[Key, ...]
    where: Condition | None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    skipped: int = 0

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates."""
        return tuple(item for item in self.selected if isinstance(item, Aggregate))

    @property
    def columns_of_groups(self) -> tuple[str, ...]:
        """The columns by whose values rows are grouped."""
        return tuple(key for key in self.groups if isinstance(key, str))

    @property
    def computed_keys(self) -> tuple[DatePart | Cases, ...]:
        """The keys that are computed from columns."""
        return tuple(key for key in self.groups if not isinstance(key, str))

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons in it."""
        inside = (leaf for item in (*self.computed_keys, *self.aggregates) for leaf in item.comparisons)
        return (*comparisons(self.where), *inside)

    @property
    def selecting(self) -> frozenset[str]:
        """The columns that say which rows have a part, and in which group."""
        computed = (leaf.column for key in self.computed_keys for leaf in key.comparisons)
        where = (leaf.column for leaf in comparisons(self.where))
        return frozenset({*self.columns_of_groups, *computed, *where})

    @property
    def columns(self) -> frozenset[str]:
        """All columns that occur."""
        return self.selecting.union(*(item.columns for item in self.aggregates))
