"""The related tables of a party, and the records of people that follow from them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.coding import Coding
from ...common.data.domain import Clique, Domain
from ...common.data.people import PeopleRows, number_people
from ...common.data.related.rows import Rows, lineage, of_row_before, weights
from ...common.data.related.steps import Steps, in_units
from ...common.data.table import Table, code_dtype
from ...common.errors import DataError, PolicyError, ProtocolError
from ...common.privacy.cost import WEIGHT_PARTS
from ...common.protocols.related import KnownColumn, RelatedPart, Way
from ..counting.identifiers import Identifiers
from ..policies.domain import KEY
from ..policies.tables import TableSettings, domain_of_tables

Codes = NDArray[np.int64]


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

    def codes_of(self, column: str) -> tuple[Codes, int]:
        """The codes of a column, shape (N,), and how many there are.

        Raises:
            ProtocolError: the table has no such column.
        """
        if self.table is None or column not in self.table.domain.names:
            raise ProtocolError("the plan asks this party for a column that its table has not")
        return self.table.column(column).astype(np.int64), self.table.domain[column].size

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
        codes, sizes = {}, {}
        for column in asked:
            above = part.table_of(column)
            found, size = _codes(column, coded, coded[above])
            at = lineage(path[: path.index(above) + 1], rows)
            codes[column.name] = found[at].astype(code_dtype(size))
            sizes[column.name] = size
        evened = {one.table: one.evened for one in part.relations}
        table = Table.from_codes(Domain.coded(sizes), codes)
        table = Table(table.domain, table.columns, weights=weights(path, rows, evened, WEIGHT_PARTS))
        return PeopleRows(table, lineage(path, rows), self.record_count, WEIGHT_PARTS)


def read_related(settings: Sequence[TableSettings]) -> tuple[RelatedRows, Identifiers]:
    """The tables of a party, and what names their people.

    People are the rows of the table that belongs to no other; if the party has none, those who have rows.

    Args:
        settings: of each table, after that of the one that it belongs to.

    Raises:
        DataError: a key is missing or stands twice, a row belongs to none, an order has no value; or a table
            cannot be read.
    """
    read = {one.name: _read(one) for one in settings}
    root = next((one.name for one in settings if not one.parent), settings[0].parent)
    known: dict[str, dict[str, int]] = {}
    if root in read:
        people = list(read[root][1][settings[0].key])
    else:
        names = [text for one in settings if one.parent == root for text in read[one.name][1][one.foreign]]
        people = [names[row] for row in number_people(names)[1]]
    known[root] = _places(root, people)
    everybody = np.arange(len(people))
    tables = {root: TableRows(Rows({}, everybody, len(people)), read[root][0] if root in read else None)}
    for one in settings:
        if not one.parent:
            continue
        table, texts, times = read[one.name]
        parent = _parents(one, texts[one.foreign], known[one.parent])
        order = np.argsort(parent, kind="stable") if times is None else np.lexsort((times, parent))
        tables[one.name] = TableRows(
            Rows({}, parent[order], len(tables[one.parent].rows)),
            None if table is None else table.take(order),
            one.order,
            None if times is None else times[order],
        )
        if any(other.parent == one.name for other in settings):
            known[one.name] = _places(one.name, [texts[one.key][row] for row in order])
    parents = {one.name: one.parent for one in settings}
    rows = RelatedRows(domain_of_tables(tuple(settings)), len(people), tables, parents)
    return rows, Identifiers({KEY: people})


def _codes(column: KnownColumn, tables: Mapping[str, TableRows], held: TableRows) -> tuple[Codes, int]:
    """The codes of a column at the rows of its table, and their number.

    Args:
        column: the column.
        tables: all tables, in their bins.
        held: the table of the row that has it.
    """
    match column.way:
        case Way.CODE:
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
            size, found = steps.attribute.size, steps.codes(times, held.rows.first)
        case _:
            below = tables[column.source]
            steps, times = below.in_order
            place = [Way.FIRST, Way.SPAN].index(column.way)
            found = steps.codes_of_places(times, below.rows.parent, below.rows.parents)[place]
            size = steps.places(column.source)[place].size
    if column.groups and column.way not in (Way.ANY, Way.COUNT, Way.TIME):
        _check_groups(column, size)
        found, size = np.array(column.groups)[found], max(column.groups) + 1
    if column.before:
        found, size = of_row_before(found, held.rows.first, size), size + 1
    return found, size


def _of_some_codes(column: KnownColumn, below: TableRows) -> tuple[Codes, int]:
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


def _read(
    settings: TableSettings,
) -> tuple[Table | None, Mapping[str, Sequence[str]], NDArray[np.float64] | None]:
    """The codes of a table, the texts of its keys, and the values of its order."""
    source, domain, order = settings.source(), settings.domain, settings.order
    if domain is None:
        any_text = CategoricalAttribute(settings.keys[0], ("other",), other="other")
        return None, source.read_with_texts(Domain((any_text,)), settings.keys)[1], None
    fine = {order: in_units(domain[order])} if order else {}
    attributes = tuple(fine.get(one.name, one) for one in domain.attributes)
    table, texts = source.read_with_texts(replace(domain, attributes=attributes), settings.keys)
    if not order:
        return table, texts, None
    units, coarse = Steps(fine[order]).units, Steps(domain[order]).units
    codes = table.column(order)
    if len(codes) and int(codes.max()) >= len(units.cells):
        raise DataError(
            f"[tables.{settings.name}]: expected a value of the order in every row, found a row without; "
            "drop such rows, or order by another column"
        )
    times = units.cells[:, 0][codes].astype(np.float64)
    columns = {name: table.column(name) for name in domain.names}
    columns[order] = np.searchsorted(coarse.cells[1:, 0], times, "right")
    return Table.from_codes(domain, columns), texts, times


def _places(name: str, keys: Sequence[str]) -> dict[str, int]:
    """The row of each key.

    Raises:
        DataError: one is missing, or stands twice.
    """
    found = {key: row for row, key in enumerate(keys)}
    if "" in found or len(found) < len(keys):
        raise DataError(
            f"[tables.{name}]: expected a key in every row, and each once, found another; make it a table of "
            "one row a key"
        )
    return found


def _parents(settings: TableSettings, keys: Sequence[str], known: Mapping[str, int]) -> NDArray[np.int64]:
    """The row of the parent of each row.

    Raises:
        DataError: a row belongs to none.
    """
    found = np.array([known.get(key, -1) for key in keys], dtype=np.int64)
    if (found < 0).any():
        raise DataError(
            f"[tables.{settings.name}]: expected in {settings.foreign!r} a key of {settings.parent!r} in "
            "every row, found a row without one; drop such rows, or add their parents"
        )
    return found
