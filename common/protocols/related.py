"""A part of a release of related tables: of whose records its marginals are, and of which columns."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from ..data.coding import Coding
from ..data.domain import Clique
from ..data.related.joint import joint_name
from ..errors import DataError
from ..privacy.cost import WEIGHT_PARTS, PrivacyUnit
from ..privacy.spending import Cost

_RELEASE_ID = re.compile(r"[0-9a-f]{32}")

_OF_SUMS = Fraction(1, 1 << 40)
"""Relative error of costs that are added up, which terms state as floats."""


class Way(enum.Enum):
    """How a column of records follows from a party's tables; the value is its name in terms."""

    CODE = "code"
    """A column of a table."""
    NUMBER = "number"
    """How many rows of a table belong to a row."""
    FIRST = "first"
    """Where the first of these rows is in their order."""
    SPAN = "span"
    """What lies between the first of them and the last."""
    STEP = "step"
    """What lies between a row and the one before it."""
    SERIES = "series"
    """A column of a table of the row before, whose codes say which rows of a parent are one series.

    Of all others but steps a record then has that of the last earlier row of its series in place of the row
    before.
    """
    ANY = "any"
    """Whether one of the rows that belong to a row has one of some codes."""
    COUNT = "count"
    """How many of these rows have."""
    TIME = "time"
    """Where the first one that has is in their order."""
    FIRST_ROW = "first row"
    """What the first of these rows holds."""
    LAST_ROW = "last row"
    """What the last of them holds."""


_OF_ROWS_BELOW = frozenset({Way.NUMBER, Way.FIRST, Way.SPAN})
"""What a row has of the rows of a table that belongs to it, which is the source."""

SUMMARIES = frozenset({Way.ANY, Way.COUNT, Way.TIME, Way.FIRST_ROW, Way.LAST_ROW})
"""What a row has of a column of the rows that belong to it: those of the table of the column."""

_NUMBERED = frozenset({Way.NUMBER, Way.COUNT, Way.TIME})
"""What is in bins, which the terms state."""


def evened_along(evened: Iterable[int]) -> int:
    """Up to how many rows of a table all count the same for a person.

    Args:
        evened: up to how many rows of a parent do, in the table and in those above it but that of people.
    """
    return min(math.prod(evened), WEIGHT_PARTS)


@dataclass(frozen=True)
class Relation:
    """What a table belongs to.

    Attributes:
        table: the table.
        parent: the table to whose rows its rows belong; empty for that of people.
        order: column by which rows of a parent are in order; empty for the order that they are read in.
        evened: up to so many rows of a parent all count the same.
    """

    table: str
    parent: str
    order: str
    evened: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.evened <= WEIGHT_PARTS:
            raise DataError(
                "rows of a parent count the same up to one at least, and to the parts of a person"
            )


@dataclass(frozen=True)
class KnownColumn:
    """A column of records, as the party that holds it computes it.

    Attributes:
        name: of the column.
        table: table of the row that has it: that of the records, or one above it. Of `SUMMARIES`, the table
            whose rows belong to this row.
        way: how it follows.
        source: the column of the table; of numbers and places, the table below; empty of a step.
        before: whether it is of the row before, of which the last code says that there is none.
        groups: the group of each code; empty if each is told apart. Of first and last rows there is one more
            code, for none. If it asks for some codes of its source, 1 for these and 0 for others; empty for
            all.
        starts: of numbers, the smallest number of each code, from 0 on; of times, the first bin of the order
            (`Steps.firsts`) of each; otherwise empty.
    """

    name: str
    table: str
    way: Way
    source: str
    before: bool = False
    groups: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        numbered = self.way in _NUMBERED
        rising = all(one < two for one, two in zip(self.starts, self.starts[1:], strict=False))
        if numbered != bool(self.starts) or (numbered and (self.starts[0] != 0 or not rising)):
            raise DataError(
                f"column {self.name!r}: expected numbers of rows by increasing starts from 0 on, got others"
            )
        if self.way is Way.SERIES and not self.before:
            raise DataError(f"column {self.name!r}: expected a series of the row before, got one of the row")
        # A largest group of any size costs nothing to refuse.
        if self.groups and len(set(self.groups)) != max(self.groups) + 1:
            raise DataError(f"column {self.name!r}: expected groups that are all of some code, got others")

    @property
    def holder(self) -> str:
        """The table of whose rows it speaks: a party with this table knows the column."""
        return self.source if self.way in _OF_ROWS_BELOW else self.table


@dataclass(frozen=True)
class RelatedPart:
    """One part of a release of related tables: the records of one table, in which each person counts as one.

    Attributes:
        whole: id of the whole release, 32 lower-case hexadecimal digits.
        zcdp_rho: what all parts together may cost, zCDP.
        left_rho: what this part and those after it may cost together, zCDP.
        table: the table.
        relations: the tables, the one of people first, each after its parent.
        columns: the columns of its records.
        codings: table -> the bins that a part before chose of its open columns.
        by_length: whether rows weigh by the length of what a person has in a view (`ByLength`), and add up
            for distances and boxes alone. Terms say it by version and adjacency (`may_weigh_by_length`).
    """

    whole: str
    zcdp_rho: float
    left_rho: float
    table: str
    relations: tuple[Relation, ...]
    columns: tuple[KnownColumn, ...]
    codings: Mapping[str, Coding] = field(default_factory=dict)
    by_length: bool = field(default=False, metadata={"follows": "the version of the terms"})

    def __post_init__(self) -> None:
        if not _RELEASE_ID.fullmatch(self.whole) or not 0 < self.left_rho <= self.zcdp_rho < math.inf:
            raise DataError("a part of a release names the whole, and what all parts and those left may cost")
        named: list[str] = []
        for place, one in enumerate(self.relations):
            if one.table in named or (one.parent not in named if place else bool(one.parent)):
                raise DataError("a part of a release names its tables once, each after the one it belongs to")
            named.append(one.table)
        if self.table not in named:
            raise DataError("a part of a release is of the records of one of its tables")
        above = self.lineage(self.table)
        if self.by_length and not self.may_weigh_by_length:
            raise DataError("rows weigh by length only where several of a person count the same")
        for column in self.columns:
            # Numbers and places of other rows than those below it would be those of other people.
            of_below = column.way in _OF_ROWS_BELOW
            holder = self.parents.get(column.holder) if of_below else column.holder
            misplaced = column.before and self.table_of(column) != self.table
            if self.table_of(column) not in above or holder != column.table or misplaced:
                raise DataError(f"column {column.name!r}: expected one that the records of the table have")
        if sum(column.way is Way.SERIES for column in self.columns) > 1:
            raise DataError("a part of a release has one column that says which rows are one series")

    @property
    def series(self) -> str:
        """The column of the table that says which rows of a parent are one series; empty for none."""
        return next((column.source for column in self.columns if column.way is Way.SERIES), "")

    def is_of_series(self, column: KnownColumn) -> bool:
        """Whether a column is of the last earlier row of the same series in place of the row before."""
        return column.before and column.way not in (Way.STEP, Way.SERIES) and bool(self.series)

    @property
    def parents(self) -> dict[str, str]:
        """The parent of each table; empty for that of people."""
        return {one.table: one.parent for one in self.relations}

    def has_room_after(self, zcdp_rho: Fraction) -> bool:
        """Whether this part and those after it fit into the whole, beside others that cost so much."""
        return zcdp_rho + Fraction(self.left_rho) <= Fraction(self.zcdp_rho) * (1 + _OF_SUMS)

    def are_all(self, zcdp_rho: Fraction) -> bool:
        """Whether parts of the whole that may cost so much together are all of them."""
        return zcdp_rho >= Fraction(self.zcdp_rho) * (1 - _OF_SUMS)

    def left(self, unit: PrivacyUnit) -> Cost:
        """Upper limit of the cost of this part and those after it."""
        return Cost(unit, Fraction(self.left_rho))

    def lineage(self, table: str) -> tuple[str, ...]:
        """A table and those above it, that of people last."""
        found = [table]
        while parent := self.parents[found[-1]]:
            found.append(parent)
        return tuple(found)

    def table_of(self, column: KnownColumn) -> str:
        """The table of the row that has a column; empty if there is none."""
        return self.parents.get(column.table, "") if column.way in SUMMARIES else column.table

    def following_from(self, sources: Collection[str]) -> Clique:
        """The columns that follow from these columns of tables.

        Args:
            sources: joint names of columns (`joint_name`).
        """
        orders = {one.table: one.order for one in self.relations}

        def follows(column: KnownColumn) -> bool:
            own, order = column.source, orders[column.holder]
            if column.way in _OF_ROWS_BELOW or column.way is Way.STEP:
                own = ""
            if column.way in (Way.CODE, Way.SERIES, Way.NUMBER, Way.ANY, Way.COUNT):
                order = ""
            named = [joint_name(column.holder, one) for one in (own, order) if one]
            named += [joint_name(self.table, self.series)] if self.is_of_series(column) else []
            return any(one in sources for one in named)

        return tuple(column.name for column in self.columns if follows(column))

    @property
    def may_weigh_by_length(self) -> bool:
        """Whether rows can weigh by length: where most people have several."""
        return self.evened_along(self.lineage(self.table)) > 1

    def evened_along(self, path: Sequence[str]) -> int:
        """Up to how many rows of a table all count the same for a person.

        Args:
            path: the table and those above it, that of people last.
        """
        return evened_along([one.evened for one in self.relations if one.table in path[:-1]])

    @property
    def below_people(self) -> frozenset[str]:
        """The columns in which records of a person may differ."""
        root = self.relations[0].table
        return frozenset(column.name for column in self.columns if self.table_of(column) != root)

    def held_by(self, tables: Iterable[str]) -> Clique:
        """The columns that a party with these tables knows."""
        held = frozenset(tables)
        return tuple(column.name for column in self.columns if column.holder in held)
