"""Drafts which columns follow from the rows above and the order: those that repeat, and those that count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from ....common.data.attributes.dates import BinnedTimes
from ....common.data.values import read_numbers
from ...sources.source import FileSource, Queried
from ...sources.sql import as_key
from .courses import Related

_AGREEING = 0.999
"""Share of the rows in which a column is what it seems to be."""

Line = Sequence[tuple[str, FileSource, str, str]]
"""The tables to which rows belong, the nearest first: name, source, key, and column of the next one's key."""


def repeats_of(
    source: FileSource, foreign: str, line: Line, columns: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Columns that are the same in a table above in nearly all rows, each with the nearest such table.

    Args:
        source: of the table.
        foreign: its column that holds the key of the first table above.
        line: the tables above.
        columns: those that may repeat one of the same name.
    """
    for column in columns:
        for above, (name, other, key, _) in enumerate(line):
            # The key of the nearest table is named by what the table belongs to.
            held = column in other.columns() and (above or column != key)
            if held and _share_of_equals(source, foreign, line[: above + 1], column) >= _AGREEING:
                yield column, name
                break


def _share_of_equals(source: FileSource, foreign: str, line: Line, column: str) -> float:
    """The share of rows with a row above in which a column is the same there."""
    joins, before = [], _cell(source, foreign)
    with closing(source.connect()) as connection:
        for place, (_, other, key, next_key) in enumerate(line):
            value = column if place == len(line) - 1 else next_key
            with closing(other.connect()) as others:
                cells = other.query(
                    others, f"SELECT {_cell(other, key)} AS k, {_cell(other, value)} AS v FROM file"
                )
            connection.register(f"above{place}", dict(cells))
            joins.append(f"JOIN above{place} ON {before} = above{place}.k")
            before = f"above{place}.v"
        same = f"avg((({_cell(source, column)}) IS NOT DISTINCT FROM {before})::INTEGER)"
        found = source.query(connection, f"SELECT coalesce({same}, 0) AS n FROM file {' '.join(joins)}")
    return float(found["n"][0])


def _cell(source: FileSource, column: str) -> str:
    return as_key(f"file.c{source.columns().index(column)}")


def counts_of(
    source: Queried, foreign: str, entries: Mapping[str, Any], sample: Related, order: BinnedTimes | None
) -> Iterator[tuple[str, int]]:
    """The columns that count the rows of each row above in their order, each with the first number, 0 or 1.

    Args:
        source: of the table.
        foreign: its column that holds the key of the row above.
        entries: its columns as drafted.
        sample: some of its rows, with these columns.
        order: the one by which its rows are in order, if there is one.
    """
    columns = source.columns()
    parent = f"c{columns.index(foreign)}"
    for name, entry in entries.items():
        if not isinstance(entry, Mapping) or not _are_whole(entry):
            continue
        place = f"TRY_CAST(c{columns.index(name)} AS BIGINT)"
        with closing(source.connect()) as connection:
            found = source.query(
                connection,
                "SELECT max(n) AS most, min(low) AS first, avg((high = low + n - 1 AND different = n AND low "
                "IN (0, 1))::DOUBLE) AS counted FROM (SELECT count(*) AS n, min(place) AS low, max(place) AS "
                f"high, count(DISTINCT place) AS different FROM (SELECT {parent} AS parent, {place} AS place "
                "FROM file) GROUP BY parent)",
            )
        if found["most"][0] > 1 and found["counted"][0] >= _AGREEING:
            counted = sample.in_order(order) if order else None
            if counted is None or counted.never_falls(read_numbers(name, counted.cells[name])[0]):
                yield name, int(found["first"][0])


def _are_whole(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is of whole numbers."""
    listed = entry["type"] == "categorical" and all(isinstance(one, int) for one in entry["categories"])
    return listed or entry["type"] == "codes" or bool(entry.get("integer"))
