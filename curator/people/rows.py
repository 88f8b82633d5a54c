"""Coded rows of related tables, and the weighted records that a release models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.table import Table, code_dtype
from ...common.privacy.cost import WEIGHT_PARTS
from .shape import Column, Family

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one table, those of one parent beside each other, in their order.

    Attributes:
        codes: codes of each of the table's own attributes (`Family.own`), and of real rows of those that are
            counted (`Family.counted_attributes`), shape (N,).
        parent: row of the parent of each row, never decreasing, shape (N,); of the root the row itself.
        parents: number of rows of the parent table.
    """

    codes: Mapping[str, Codes]
    parent: Codes
    parents: int

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def first(self) -> NDArray[np.bool_]:
        """Which rows are the first of their parent, shape (N,)."""
        return np.append(True, self.parent[1:] != self.parent[:-1])[: len(self)]

    @cached_property
    def numbers(self) -> Codes:
        """The number of rows of each parent, shape (parents,)."""
        return np.bincount(self.parent, minlength=self.parents).astype(np.int64)


def of_people(family: Family, name: str, rows: Mapping[str, Rows], people: slice) -> dict[str, Rows]:
    """The rows that belong to some people, of a table and of those above it.

    Args:
        family: the tables.
        name: the table.
        rows: of these tables.
        people: from which person on, to which.
    """
    found = {}
    first, last = people.start, people.stop
    for table in (*(above.name for above in family.above(name)), name):
        held = rows[table]
        if table == family.root.name:
            parent, parents = np.arange(last - first), last - first
            some = slice(first, last)
        else:
            some = slice(*np.searchsorted(held.parent, (first, last)).tolist())
            parent, parents = held.parent[some] - first, last - first
        found[table] = Rows({one: codes[some] for one, codes in held.codes.items()}, parent, parents)
        first, last = some.start, some.stop
    return found


def records(family: Family, name: str, rows: Mapping[str, Rows]) -> Table:
    """The records of a table: its rows with what is above them and before them, and their weights.

    Args:
        family: the tables.
        name: the table.
        rows: of it and of the tables above it.
    """
    made = with_columns(family, name, known_columns(family, name), rows)
    return Table(family.record(name), made.columns, weights=made.weights)


def known_columns(family: Family, name: str) -> tuple[Column, ...]:
    """All columns of a table's records, those that are only counted last."""
    return (*family.columns(name), *(Column(one, name, one.name) for one in family.counted_attributes(name)))


def with_columns(family: Family, name: str, known: Sequence[Column], rows: Mapping[str, Rows]) -> Table:
    """The rows of a table with some columns of records, and their weights.

    Args:
        family: the tables.
        name: the table.
        known: the columns: of it, and of tables above it.
        rows: of these tables.
    """
    columns = _codes(family, name, known, rows)
    table = Table.from_codes(Domain(tuple(column.attribute for column in known)), columns)
    return Table(table.domain, table.columns, weights=weights(family, name, rows))


def codes_of(family: Family, name: str, rows: Mapping[str, Rows]) -> dict[str, Codes]:
    """The codes of the columns of a table's records (`Family.columns`), each of shape (N,).

    Args:
        family: the tables.
        name: the table.
        rows: of it and of the tables above it.
    """
    return _codes(family, name, family.columns(name), rows)


def _codes(family: Family, name: str, known: Sequence[Column], rows: Mapping[str, Rows]) -> dict[str, Codes]:
    """The codes of some columns of records; see `with_columns`.

    Args:
        family: the tables.
        name: the table.
        known: see there.
        rows: see there.
    """
    held = rows[name]
    columns = {}
    places = {name: lineage(family, name, name, rows)}
    for column in known:
        if column.before:
            none = column.attribute.size - 1
            codes = np.where(held.first, none, column.of(np.roll(held.codes[column.source], 1)))
        else:
            if column.table not in places:
                places[column.table] = lineage(family, name, column.table, rows)
            codes = column.of(rows[column.table].codes[column.source])[places[column.table]]
        # A code takes a byte or two, in place of eight.
        columns[column.attribute.name] = codes.astype(code_dtype(column.attribute.size))
    return columns


def lineage(family: Family, name: str, above: str, rows: Mapping[str, Rows]) -> Codes:
    """For each row of a table its row in a table above, shape (N,)."""
    found = np.arange(len(rows[name]))
    while name != above:
        found = rows[name].parent[found]
        name = family[name].parent
    return found


def weights(family: Family, name: str, rows: Mapping[str, Rows]) -> Codes:
    """In how many parts of a person each row counts, shape (N,).

    Those of a person add up to at most `WEIGHT_PARTS`. A row has the weight of its parent divided by
    the number of rows of this parent, or by `Kin.evened` if that is larger.

    Args:
        family: the tables.
        name: the table.
        rows: of it and of the tables above it.
    """
    if name == family.root.name:
        return np.full(len(rows[name]), WEIGHT_PARTS, dtype=np.int64)
    above = weights(family, family[name].parent, rows)
    held = rows[name]
    each = above // np.maximum(held.numbers, family[name].evened)
    return each[held.parent]
