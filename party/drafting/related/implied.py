"""Drafts which columns follow from the rows above and the order: those that repeat, and those that count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import product
from typing import Any

from ....common.data.attributes.dates import BinnedTimes
from ....common.data.values import read_numbers
from ...sources.source import FileSource, Queried
from ...sources.sql import as_key
from .courses import Related

_AGREEING = 0.999
"""Share of the rows in which a column is what it seems to be."""

_MOST_COMMON = 0.9
"""The share of its commonest cell up to which a column of another name is not the same by chance."""

_MANY_PAIRS, _MANY_PAIRS_SAMPLE = 400, 100_000
"""More pairs of columns than these are compared in so many rows alone."""

Line = Sequence[tuple[str, FileSource, str, str]]
"""The tables to which rows belong, the nearest first: name, source, key, and column of the next one's key."""


def repeats_of(
    source: FileSource, foreign: str, line: Line, columns: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Columns that are the same in a table above in nearly all rows, each with the nearest such table.

    Those of another name there are told from what is the same by chance, such as what nearly all rows say.

    Args:
        source: of the table.
        foreign: its column that holds the key of the first table above.
        line: the tables above.
        columns: those that may repeat one.
    """
    left = [*columns]
    for named_alike in (True, False):
        for above, (name, other, key, _) in enumerate(line):
            # The key of the nearest table is named by what the table belongs to.
            held = [one for one in other.columns() if above or one != key]
            pairs = [(one, of) for one, of in product(left, held) if (one == of) == named_alike]
            shares = _shares_of_equals(source, foreign, line[: above + 1], pairs)
            for (column, of), share in zip(pairs, shares, strict=True):
                if column not in left or share < _AGREEING:
                    continue
                if named_alike or _share_of_commonest(source, column) <= _MOST_COMMON:
                    left.remove(column)
                    yield column, name if named_alike else f"{name}.{of}"


def _shares_of_equals(
    source: FileSource, foreign: str, line: Line, pairs: Sequence[tuple[str, str]]
) -> list[float]:
    """The shares of rows with a row above in which columns are the same there.

    Args:
        source: of the table.
        foreign: its column that holds the key of the first table above.
        line: the tables above; the columns are those of the last one.
        pairs: columns of the table, and of that above.
    """
    if not pairs:
        return []
    joins, before = [], _cell(source, foreign)
    rows = f"(SELECT * FROM file LIMIT {_MANY_PAIRS_SAMPLE}) AS file" if len(pairs) > _MANY_PAIRS else "file"
    above = [*dict.fromkeys(of for _, of in pairs)]
    with closing(source.connect()) as connection:
        for place, (_, other, key, next_key) in enumerate(line):
            last = place == len(line) - 1
            values = above if last else [next_key]
            cells = ", ".join(f"{_cell(other, one)} AS v{number}" for number, one in enumerate(values))
            with closing(other.connect()) as others:
                found = other.query(others, f"SELECT {_cell(other, key)} AS k, {cells} FROM file")
            connection.register(f"above{place}", dict(found))
            joins.append(f"JOIN above{place} ON {before} = above{place}.k")
            before = f"above{place}.v0"
        at = f"above{len(line) - 1}.v"
        same = ", ".join(
            f"coalesce(avg((({_cell(source, one)}) IS NOT DISTINCT FROM {at}{above.index(of)})::INTEGER), 0) "
            f"AS p{number}"
            for number, (one, of) in enumerate(pairs)
        )
        shares = source.query(connection, f"SELECT {same} FROM {rows} {' '.join(joins)}")
    return [float(shares[f"p{number}"][0]) for number in range(len(pairs))]


def _share_of_commonest(source: FileSource, column: str) -> float:
    """The share of rows that have the commonest cell of a column."""
    counts = f"SELECT count(*) AS n FROM file GROUP BY {_cell(source, column)}"
    with closing(source.connect()) as connection:
        found = source.query(connection, f"SELECT coalesce(max(n) / sum(n), 1) AS n FROM ({counts})")
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
