"""The related tables of a party, and the records of people that follow from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.coding import Coding
from ...common.data.counting import COUNTED_AT_ONCE
from ...common.data.domain import Clique, Domain
from ...common.data.people import PeopleRows
from ...common.data.related.rows import Rows, last_of_series, lineage, of_row_before, of_series
from ...common.data.related.steps import Steps
from ...common.data.table import Table, code_dtype
from ...common.errors import DataError, PolicyError, ProtocolError
from ...common.privacy.cost import WEIGHT_PARTS
from ...common.protocols.related import KnownColumn, RelatedPart, Way


@dataclass(frozen=True, eq=False)
class TableRows:
    """A table of a party.

    Attributes:
        rows: where its rows are, without codes: those of one parent beside each other, in their order.
        table: codes of its columns, in the same order; None of keys alone.
        order: column by which rows of a parent are in order; empty for none.
        times: its values, shape (N,); None for none.
    """

    rows: Rows
    table: Table | None = None
    order: str = ""
    times: NDArray[np.float64] | None = None

    @property
    def in_order(self) -> tuple[Steps, NDArray[np.float64]]:
        """The codes of the order, and its values.

        Raises:
            ProtocolError: there is none.
        """
        if self.table is None or self.times is None:
            raise ProtocolError("the plan asks where rows are in an order that this party's have not")
        return Steps(self.table.domain[self.order]), self.times

    def codes_of(self, column: str) -> tuple[NDArray[Any], int]:
        """The codes of a column, shape (N,), and how many there are.

        Raises:
            ProtocolError: the table has no such column.
        """
        if self.table is None or column not in self.table.domain.names:
            raise ProtocolError("the plan asks this party for a column that its table has not")
        return self.table.column(column), self.table.domain[column].size

    def coded(self, coding: Coding) -> TableRows:
        """The table in the bins that a part of a release chose.

        Raises:
            DataError: they were chosen for another domain.
        """
        return self if self.table is None else replace(self, table=coding.table(self.table))


@dataclass(frozen=True, eq=False)
class RelatedRows:
    """Related tables, of which records are made for each part of a release (`RelatedPart`).

    Attributes:
        domain: the columns of all tables, by joint names.
        record_count: number of people.
        tables: the tables, with that of people, each after the one that it belongs to.
        parents: the parent of each; empty for that of people.
    """

    domain: Domain
    record_count: int
    tables: Mapping[str, TableRows]
    parents: Mapping[str, str]

    @property
    def people(self) -> PeopleRows:
        """The people, with the columns of all tables and without rows."""
        none = np.zeros(0, dtype=np.int64)
        table = Table.from_codes(self.domain, dict.fromkeys(self.domain.names, none))
        table = Table(table.domain, table.columns, weights=none)
        return PeopleRows(table, none, self.record_count, WEIGHT_PARTS)

    def digest(self) -> str:
        """SHA-256 (hex) of the tables."""
        digest = hashlib.sha256(f"{self.domain.digest()} {self.record_count} ".encode("ascii"))
        for name, held in self.tables.items():
            digest.update(f"{name} {'' if held.table is None else held.table.digest()} ".encode())
            digest.update(held.rows.parent.astype("<i8").data)
            digest.update(b"" if held.times is None else held.times.astype("<f8").tobytes())
        return digest.hexdigest()

    @property
    def without_rows(self) -> RelatedRows:
        """The tables, and the number of people, for what depends on no row."""
        none = np.zeros(0, dtype=np.int64)
        tables = {
            name: TableRows(
                Rows({}, none, 0),
                None if held.table is None else held.table.rows(0, 0),
                held.order,
                None if held.times is None else held.times[:0],
            )
            for name, held in self.tables.items()
        }
        return replace(self, tables=tables)

    def check(self, part: RelatedPart, allowed: frozenset[str]) -> None:
        """Refuses a part of a release of which this party's tables are none.

        Args:
            part: as the plan states it.
            allowed: the tables of which releases may be.

        Raises:
            ProtocolError: the plan relates tables otherwise, or has them in another order.
            PolicyError: the policy does not allow one of them.
        """
        stated = {one.table: one for one in part.relations}
        for name, parent in self.parents.items():
            if name not in stated or (stated[name].parent, stated[name].order) != (
                parent,
                self.tables[name].order,
            ):
                raise ProtocolError(
                    f"the plan relates or orders {name!r} otherwise than this party's policy; compare "
                    "belongs_to and order"
                )
            if name not in allowed:
                raise PolicyError(
                    f"the release is of {name!r}, and the policy does not allow that; its owner can add it "
                    "to tables in [policy]"
                )

    def records(self, part: RelatedPart, own: Clique) -> PeopleRows:
        """What this party knows of the records of one table: each person counts as one, in parts.

        Of the tables on the way from the records to their people, the rows of the lowest one are taken that
        has a column; so the patients' party has one row of each patient, whatever belongs to it elsewhere.

        Args:
            part: the part of the release.
            own: names of the columns that the party answers for, in the order of the plan.

        Raises:
            ProtocolError: a column is not one of this party, or the bins are those of another domain.
        """
        try:
            coded = {name: held.coded(part.codings.get(name, Coding())) for name, held in self.tables.items()}
        except DataError as cause:
            raise ProtocolError(f"the plan has bins that do not fit this party's tables: {cause}") from cause
        columns = {column.name: column for column in part.columns}
        asked = [columns[name] for name in own if name in columns]
        if len(asked) < len(own) or not all(column.holder in self.parents for column in asked):
            raise ProtocolError("the plan asks this party for columns that it does not know; compare holds")
        path = part.lineage(part.table)
        lowest = next(name for name in path if any(part.table_of(column) == name for column in asked))
        path = path[path.index(lowest) :]
        if not all(name in self.tables for name in path):
            raise ProtocolError("the plan asks for rows below those of another party; compare holds")
        rows = {name: self.tables[name].rows for name in path}
        codes: list[NDArray[Any]] = []
        sizes: dict[str, int] = {}
        last = _last_of_series(part, coded) if any(map(part.is_of_series, asked)) else None
        for column in asked:
            above = part.table_of(column)
            before = last if part.is_of_series(column) else None
            found, sizes[column.name] = _codes(column, coded, coded[above], before)
            on_path = path[: path.index(above) + 1]
            codes.append(found if len(on_path) == 1 else found[lineage(on_path, rows)])
        table, below = Table(Domain.coded(sizes), tuple(codes)), len(path) > 1
        return PeopleRows.weighing_evenly(
            table,
            lineage(path, rows),
            self.record_count,
            WEIGHT_PARTS,
            part.evened_along(path),
            part.below_people if part.by_length and below else frozenset(),
        )


def _last_of_series(part: RelatedPart, tables: Mapping[str, TableRows]) -> NDArray[np.int64]:
    """See `last_of_series`: of the rows of a part's table.

    Raises:
        ProtocolError: the table has no such column.
    """
    held = tables[part.table]
    return last_of_series(held.rows.parent, held.codes_of(part.series)[0])


def _codes(
    column: KnownColumn,
    tables: Mapping[str, TableRows],
    held: TableRows,
    last: NDArray[np.int64] | None,
) -> tuple[NDArray[Any], int]:
    """The codes of a column at the rows of its table, of the type of a table's, and their number.

    Args:
        column: the column.
        tables: all tables, in their bins.
        held: the table of the row that has it.
        last: the row whose code a row has, if it is that of a series before; see `last_of_series`.
    """
    found: NDArray[Any]
    match column.way:
        case Way.CODE | Way.SERIES:
            found, size = held.codes_of(column.source)
        case Way.ANY | Way.COUNT | Way.TIME:
            found, size = _of_some_codes(column, tables[column.table])
        case Way.FIRST_ROW | Way.LAST_ROW:
            below = tables[column.table]
            codes, none = below.codes_of(column.source)
            # The first row of each parent; of reversed rows, the last one.
            step = 1 if column.way is Way.FIRST_ROW else -1
            parents, at = np.unique(below.rows.parent[::step], return_index=True)
            found, size = np.full(below.rows.parents, none), none + 1
            found[parents] = codes[::step][at]
        case Way.NUMBER:
            numbers = tables[column.source].rows.numbers
            size, found = len(column.starts), np.searchsorted(column.starts[1:], numbers, "right")
        case Way.STEP:
            steps, times = held.in_order
            size, found = steps.attribute.size, _steps(steps, times, held.rows.first)
        case _:
            below = tables[column.source]
            steps, times = below.in_order
            place = [Way.FIRST, Way.SPAN].index(column.way)
            found = steps.codes_of_places(times, below.rows.parent, below.rows.parents)[place]
            size = steps.places(column.source)[place].size
    if column.groups and column.way not in (Way.ANY, Way.COUNT, Way.TIME):
        _check_groups(column, size)
        size = max(column.groups) + 1
        found = np.array(column.groups, dtype=code_dtype(size))[found]
    if column.before:
        found = found.astype(code_dtype(size + 1), copy=False)
        if last is None:
            found = of_row_before(found, held.rows.first, size)
        else:
            found = of_series(found, last, size)
        size += 1
    return found.astype(code_dtype(size), copy=False), size


def _of_some_codes(column: KnownColumn, below: TableRows) -> tuple[NDArray[Any], int]:
    """What parents have of their rows with some codes: whether there is one, how many, where the first is."""
    codes, size = below.codes_of(column.source)
    spoken = np.ones(len(codes), dtype=np.bool_)
    if column.groups:
        _check_groups(column, size)
        spoken = np.array(column.groups)[codes] == 1
    whose, parents = below.rows.parent[spoken], below.rows.parents
    if column.way is Way.TIME:
        steps, times = below.in_order
        held, at = np.unique(whose, return_index=True)
        found = np.full(parents, len(column.starts))
        places = steps.codes_of_firsts(times[spoken][at])
        found[held] = np.searchsorted(column.starts[1:], places, "right")
        return found, len(column.starts) + 1
    numbers = np.bincount(whose, minlength=parents)
    if column.way is Way.ANY:
        return (numbers > 0).astype(np.int64), 2
    return np.searchsorted(column.starts[1:], numbers, "right"), len(column.starts)


def _check_groups(column: KnownColumn, size: int) -> None:
    """Refuses groups of other codes than a party has.

    Raises:
        ProtocolError: there are more or fewer.
    """
    if len(column.groups) != size:
        raise ProtocolError("the plan groups other codes than this party's; use the same domain file")


def _steps(steps: Steps, times: NDArray[np.float64], first: NDArray[np.bool_]) -> NDArray[Any]:
    """`Steps.codes`, of some rows after the other."""
    found = np.empty(len(times), dtype=code_dtype(steps.attribute.size))
    for start in range(0, len(times), COUNTED_AT_ONCE):
        # With the row before.
        within = slice(max(start - 1, 0), start + COUNTED_AT_ONCE)
        found[start : within.stop] = steps.codes(times[within], first[within])[start - within.start :]
    return found
