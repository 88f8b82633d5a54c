"""Coded rows of related tables, and the weighted records that a release models."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ...common.data.related.rows import Rows, last_of_series, of_row_before, of_series
from ...common.data.related.rows import lineage as lineage_along
from ...common.data.related.rows import weights as weights_along
from ...common.data.table import Table, code_dtype
from ...common.privacy.cost import WEIGHT_PARTS
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

    Those of a person add up to at most `WEIGHT_PARTS`. A row has the weight of its parent divided by
    the number of rows of this parent, or by `Kin.evened` if that is larger.

    Args:
        family: the tables.
        name: the table.
        rows: of it and of the tables above it.
    """
    path = _path(family, name, family.root.name)
    evened = {one: family[one].evened for one in path}
    return weights_along(path, rows, evened, WEIGHT_PARTS)


def _path(family: Family, name: str, above: str) -> list[str]:
    """A table, its parent and so on, up to a table above."""
    path = [name]
    while path[-1] != above:
        path.append(family[path[-1]].parent)
    return path
