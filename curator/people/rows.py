"""Coded rows of related tables, and the weighted records that a release models."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.people import ByLength, even_weights
from ...common.data.related.rows import Rows, last_of_series, of_row_before, of_series
from ...common.data.related.rows import lineage as lineage_along
from ...common.data.table import Table, code_dtype
from ...common.privacy.cost import WEIGHT_PARTS
from ...common.protocols.related import evened_along
from .shape import Column, Family

Codes = NDArray[np.int64]

_ROWS_OF_PART = 1 << 20
"""Rows that are drawn at once, and whose values are."""


def of_people(
    family: Family, names: Iterable[str], rows: Mapping[str, Rows], people: slice
) -> dict[str, Rows]:
    """The rows of some tables that belong to some people.

    Args:
        family: the tables.
        names: of the tables, each after its parent.
        rows: of these tables.
        people: from which person on, to which.
    """
    found: dict[str, Rows] = {}
    places: dict[str, slice] = {}
    for table in names:
        held = rows[table]
        if table == family.root.name:
            some, parents = people, people.stop - people.start
            parent = np.arange(parents)
        else:
            above = places[family[table].parent]
            some = slice(*np.searchsorted(held.parent, (above.start, above.stop)).tolist())
            parent, parents = held.parent[some] - above.start, above.stop - above.start
        places[table] = some
        found[table] = Rows({one: codes[some] for one, codes in held.codes.items()}, parent, parents)
    return found


def people_in_parts(rows: Codes) -> list[slice]:
    """People in parts of about `_ROWS_OF_PART` rows.

    Args:
        rows: number of rows of each person, shape (people,).
    """
    parts = (
        np.cumsum(rows) // _ROWS_OF_PART
        if rows.sum() > _ROWS_OF_PART
        else np.zeros(len(rows), dtype=np.int64)
    )
    firsts = np.flatnonzero(np.diff(parts, prepend=-1)).tolist()
    return [slice(*ends) for ends in itertools.pairwise([*firsts, len(rows)])] or [slice(0, 0)]


def records(family: Family, name: str, rows: Mapping[str, Rows]) -> Table:
    """The records of a table: its rows with what is above them and before them, and weights that add up.

    Args:
        family: the tables.
        name: the table.
        rows: of it and of the tables above it.
    """
    made = with_columns(family, name, known_columns(family, name), rows)
    return Table(family.record(name), made.columns, weights=weights(family, name, rows))


def drawn_records(family: Family, name: str, rows: Mapping[str, Rows]) -> Table:
    """The records of rows that were drawn, which weigh as a model of them says; see `records`."""
    made = with_columns(family, name, known_columns(family, name), rows)
    return Table(family.record(name), made.columns, weights=drawn_weights(family, name, rows))


def known_columns(family: Family, name: str) -> tuple[Column, ...]:
    """All columns of a table's records, those that are only counted last."""
    return (*family.columns(name), *(Column(one, name, one.name) for one in family.counted_attributes(name)))


def with_columns(family: Family, name: str, known: Sequence[Column], rows: Mapping[str, Rows]) -> Table:
    """The rows of a table with some columns of records.

    Args:
        family: the tables.
        name: the table.
        known: the columns: of it, and of tables above it.
        rows: of these tables.
    """
    columns = _codes(family, name, known, rows)
    return Table.from_codes(Domain(tuple(column.attribute for column in known)), columns)


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
    last = None
    for column in known:
        if column.before and column.series:
            if last is None:
                last = last_of_series(held.parent, held.codes[family[name].series])
            codes = of_series(column.of(held.codes[column.source]), last, column.attribute.size - 1)
        elif column.before:
            none = column.attribute.size - 1
            codes = of_row_before(column.of(held.codes[column.source]), held.first, none)
        else:
            if column.table not in places:
                places[column.table] = lineage(family, name, column.table, rows)
            codes = column.of(rows[column.table].codes[column.source])[places[column.table]]
        # A code takes a byte or two, in place of eight.
        columns[column.attribute.name] = codes.astype(code_dtype(column.attribute.size))
    return columns


def lineage(family: Family, name: str, above: str, rows: Mapping[str, Rows]) -> Codes:
    """For each row of a table its row in a table above, shape (N,)."""
    return lineage_along(_path(family, name, above), rows)


def weights(family: Family, name: str, rows: Mapping[str, Rows]) -> Codes:
    """In how many parts of a person each row counts, shape (N,).

    Those of a person are the same, and add up to at most `WEIGHT_PARTS`.

    Args:
        family: the tables.
        name: the table.
        rows: of it and of the tables above it.
    """
    person = lineage(family, name, family.root.name, rows)
    return even_weights(person, len(rows[family.root.name]), WEIGHT_PARTS, evened_rows(family, name))


def evened_rows(family: Family, name: str) -> int:
    """Up to how many rows of a table all count the same for a person; see `RelatedPart.evened_along`."""
    return evened_along(family[one].evened for one in _path(family, name, family.root.name)[:-1])


def lengths_rule(family: Family, name: str) -> ByLength | None:
    """How rows of a table weigh by length; None where they do not, see `RelatedPart.may_weigh_by_length`."""
    evened, root = evened_rows(family, name), family.root.name
    varying = (one.attribute.name for one in known_columns(family, name) if one.table != root)
    return ByLength(frozenset(varying), evened) if evened > 1 else None


def codes_of_first_rows(family: Family, name: str) -> dict[str, int]:
    """For columns of a table's records of which the first row of a person alone has one code: this code."""
    steps = family[name].steps
    if family[name].parent != family.root.name:
        return {}
    before = (one.attribute for one in family.columns(name) if one.before and not one.series)
    found = {one.name: one.size - 1 for one in before}
    return found if steps is None else {**found, steps.attribute.name: 0}


def drawn_weights(
    family: Family, name: str, rows: Mapping[str, Rows], codes: NDArray[np.integer] | None = None
) -> Codes:
    """In how many parts rows that are drawn count, shape (N,), as in what was measured of them.

    Args:
        family: the tables.
        name: the table.
        rows: of it and of the tables above it.
        codes: of the column that was measured, shape (N,). None for what all columns say: where rows weigh by
            length, they do as if each lay in another cell.
    """
    rule = lengths_rule(family, name)
    if rule is None:
        return weights(family, name, rows)
    person, size = lineage(family, name, family.root.name, rows), len(rows[family.root.name])
    squares = numbers = np.bincount(person, minlength=size)
    if codes is not None:
        several = int(codes.max(initial=0)) + 1
        cells, counts = np.unique(person.astype(np.int64) * several + codes, return_counts=True)
        squares = np.bincount(cells // several, counts**2, size)
    length = np.maximum(np.minimum(numbers, np.sqrt(squares)), rule.evened)
    found: Codes = (WEIGHT_PARTS / length).astype(np.int64)[person]
    return found


def _path(family: Family, name: str, above: str) -> list[str]:
    """A table, its parent and so on, up to a table above."""
    path = [name]
    while path[-1] != above:
        path.append(family[path[-1]].parent)
    return path
