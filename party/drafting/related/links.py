"""Drafts which tables of a folder belong to people, from names and keys. Not private."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from ...sources.source import FileSource
from ...sources.sql import as_key
from .names import alike, is_key_by_name, is_of_people, names_another_row

_FEW_PEOPLE, _FEW_OTHERS = 20, 100
"""Tables of fewer rows hold people only if no other does: those that are named as people, and others."""

_GROUP = 10
"""So many people at most, on average, are a group that is protected as a whole."""

_OF_ALL = 0.5
"""Share of rows that belong to people, of those that belong to the table to which most do."""

_MOST_STRAYS = 0.5
"""Share of rows without a key of the other table up to which a table may belong to it."""

_FEW_STRAYS = 0.05
"""The same up to which a table rather belongs to the one that is further from people."""


_NEARLY = 0.9
"""Share of the rows that a column of keys tells apart but for mistakes."""


@dataclass(frozen=True)
class Link:
    """A column that holds keys of another table.

    Attributes:
        foreign: the column.
        parent: the other table.
        key: its column that names its rows.
        strays: number of rows that hold no such key.
        blanks: number of those that hold nothing.
        parts: the columns of which the key is made, if there are several, each with that of the other table.
    """

    foreign: str
    parent: str
    key: str
    strays: int
    blanks: int = 0
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The columns that hold keys, each with that of the other table."""
        return self.parts or ((self.foreign, self.key),)


@dataclass(frozen=True)
class Kinship:
    """Which tables of a folder belong to people.

    Attributes:
        belongs: what each of them but that of people belongs to.
        refers: of each, what it refers to beside: tables that belong to nobody, or are not above it.
        inward: of each, the columns that hold keys of other rows of the same table.
        apart: tables that belong to nobody.
        doubts: of each table, why columns that are named as keys of others are none.
    """

    belongs: Mapping[str, Link]
    refers: Mapping[str, tuple[Link, ...]]
    inward: Mapping[str, tuple[str, ...]]
    apart: frozenset[str]
    doubts: Mapping[str, tuple[str, ...]]

    def above(self, name: str) -> list[str]:
        """The tables above one, the nearest first."""
        found = []
        while name in self.belongs:
            name = self.belongs[name].parent
            found.append(name)
        return found


def kinship_of(sources: Mapping[str, FileSource], rows: Mapping[str, int]) -> Kinship:
    """Finds the table of people of a folder, and what belongs to it.

    A column may hold a table's keys if it is named as that or its key, or as both together, and holds such
    keys in most rows. Numbers 1, 2, 3, ... of the rows of two tables, each its own, are no keys of each
    other. People are the table of most rows among those that are named as such and to which most rows
    belong; if there is none, the table to which most belong. A table that may belong to several belongs to
    that which is furthest from people.

    Args:
        sources: the tables by name.
        rows: their numbers of rows.
    """
    names_rows = cache(is_key)
    held = {name: _links_of(name, sources, rows[name], names_rows) for name in sources}
    doubts = {name: tuple(_doubts(name, held[name], sources, names_rows)) for name in sources}
    found = _surest(held, rows)
    bound = {
        name: [one for one in links if one.strays <= rows[name] * _MOST_STRAYS]
        for name, links in found.items()
    }
    if not any(bound.values()):
        return Kinship({}, {}, {}, frozenset(), doubts)
    below = {name: _below(name, bound) for name in sources}
    people = _people(below, rows)
    belongs = _tree(people, below[people], bound, rows)
    of_people = {people, *belongs}
    refers = {
        name: tuple(one for one in found[name] if one.parent != name and one != belongs.get(name))
        for name in of_people
    }
    inward = {
        name: tuple(_inward(name, sources[name], {one.key for one in belongs.values() if one.parent == name}))
        for name in of_people
    }
    return Kinship(belongs, refers, inward, frozenset(sources) - of_people, doubts)


def _people(below: Mapping[str, set[str]], rows: Mapping[str, int]) -> str:
    """The table of people, given the tables below each."""
    reach = {name: sum(rows[one] for one in {name, *found}) for name, found in below.items()}
    most = max(reach[name] for name, found in below.items() if found)
    named = [name for name in below if is_of_people(name) and reach[name] >= most * _OF_ALL]
    # Those who belong to other people in small groups, such as households, are not the unit.
    named = [
        name
        for name in named
        if not any(
            name in below[one] and one not in below[name] and rows[one] * _GROUP >= rows[name]
            for one in named
        )
    ]
    if many := [name for name in named if rows[name] >= _FEW_PEOPLE]:
        return max(many, key=lambda name: (rows[name], reach[name]))
    held = [name for name, found in below.items() if found]
    many = [name for name in held if rows[name] >= _FEW_OTHERS]
    return max(many or named or held, key=lambda name: (reach[name], rows[name]))


def _tree(
    people: str, below: set[str], found: Mapping[str, list[Link]], rows: Mapping[str, int]
) -> dict[str, Link]:
    """What each table below people belongs to: of several the furthest from people, if it has few strays."""
    depth, belongs = {people: 0}, dict[str, Link]()
    left = below - {people}
    while left:
        ready = {name: [one for one in found[name] if one.parent in depth] for name in left}
        whole = [
            name
            for name, held in ready.items()
            if held and not any(one.parent in left for one in found[name])
        ]
        # Tables that go in a circle begin with the smallest.
        name = min(whole or [name for name, held in ready.items() if held], key=lambda one: (rows[one], one))
        few = rows[name] * _FEW_STRAYS
        belongs[name] = max(
            ready[name], key=lambda one: (one.strays <= few, depth[one.parent], rows[one.parent], -one.strays)
        )
        depth[name] = depth[belongs[name].parent] + 1
        left.discard(name)
    return belongs


def _below(name: str, found: Mapping[str, list[Link]]) -> set[str]:
    """The tables that hold keys of one, or of one below it."""
    below: set[str] = set()
    while more := {
        child
        for child, held in found.items()
        if child not in below | {name} and any(one.parent in below | {name} for one in held)
    }:
        below |= more
    return below


def _links_of(
    child: str, sources: Mapping[str, FileSource], rows: int, is_key: Callable[[FileSource, str], bool]
) -> dict[str, list[Link]]:
    """The columns of a table that hold keys of others, each with those that its name says most surely."""
    source, best = sources[child], dict[str, int]()
    found: dict[str, list[Link]] = {}
    for parent, foreign in product(sources, source.columns()):
        other = sources[parent]
        for key in other.columns() if parent != child else ():
            surely = alike(parent, key, foreign)
            if not surely or surely < best.get(foreign, 0) or not is_key(other, key):
                continue
            if surely == 1 and _counts_its_rows(source, foreign):
                continue
            link = Link(foreign, parent, key, *strays_of(source, foreign, other, key))
            if rows > link.blanks and link.strays - link.blanks <= (rows - link.blanks) * _MOST_STRAYS:
                found[foreign] = [*(found[foreign] if surely == best.get(foreign) else ()), link]
                best[foreign] = surely
    return found


def _doubts(
    child: str,
    held: Collection[str],
    sources: Mapping[str, FileSource],
    is_key: Callable[[FileSource, str], bool],
) -> Iterator[str]:
    """Why columns that are named as keys of other tables, and hold none, do not; for the owner.

    Args:
        child: the table.
        held: its columns that hold keys.
        sources: all tables.
        is_key: see `is_key`.
    """
    source = sources[child]
    for foreign, (parent, other) in product(source.columns(), sources.items()):
        for key in other.columns() if parent != child and foreign not in held else ():
            surely = alike(parent, key, foreign)
            named = surely == 3 or (surely == 1 and is_key_by_name(key) and not is_key(source, foreign))
            if not named:
                continue
            if is_key(other, key):
                why = "but most rows hold no key of it; compare how both are written"
            elif _nearly_names(other, key):
                why = f"but {key!r} is missing there or stands in several rows; give each row one of its own"
            else:
                continue
            yield f"{child}: {foreign!r} is named as the key of {parent!r}, {why}"


def _surest(found: Mapping[str, Mapping[str, list[Link]]], rows: Mapping[str, int]) -> dict[str, list[Link]]:
    """One link of each column; of two tables of which each holds the other's keys in its own, one belongs.

    Where one key names rows of several tables, it is that of the one of most rows that refers to fewest.
    """

    def rank(name: str) -> tuple[int, int, str]:
        return rows[name], -len(found[name]), name

    return {
        child: [
            link
            for links in held.values()
            for link in [max(links, key=lambda one: rank(one.parent))]
            if rank(link.parent) > rank(child)
            or not any(
                (one.parent, one.key) == (child, link.foreign) for one in found[link.parent].get(link.key, ())
            )
        ]
        for child, held in found.items()
    }


def _inward(name: str, source: FileSource, keys: set[str]) -> Iterator[str]:
    """Columns that hold keys of other rows of the same table."""
    for column, key in product(source.columns(), keys):
        named = names_another_row(column) or alike(name, key, column) == 2
        if column != key and named and len({*strays_of(source, column, source, key)}) == 1:
            yield column


def _ask(source: FileSource, sql: str) -> list[Any]:
    with closing(source.connect()) as connection:
        return [column[0] for column in source.query(connection, sql).values()]


def rows_of(source: FileSource) -> int:
    """The number of rows of a table."""
    return int(_ask(source, "SELECT count(*) FROM file")[0])


def is_key(source: FileSource, column: str) -> bool:
    """Whether every row has another value of a column, and these are no dates and have no fractions."""
    cell = f"c{source.columns().index(column)}::VARCHAR"
    rows, different, dates, parts = _ask(
        source,
        f"SELECT count(*) AS a, count(DISTINCT {cell}) AS b, count(TRY_CAST({cell} AS TIMESTAMP)) AS c, "
        f"count(*) FILTER (TRY_CAST({cell} AS DOUBLE) % 1 <> 0) AS d FROM file",
    )
    return bool(rows == different and rows and dates < rows and not parts)


def _nearly_names(source: FileSource, column: str) -> bool:
    """Whether nine of ten rows have values that differ."""
    cell = f"c{source.columns().index(column)}"
    rows, different = _ask(source, f"SELECT count(*) AS a, count(DISTINCT {cell}) AS b FROM file")
    return bool(rows > different >= _NEARLY * rows)


def _counts_its_rows(source: FileSource, column: str) -> bool:
    """Whether a column holds whole numbers of which each is in one row and none is left out."""
    cell = f"TRY_CAST(c{source.columns().index(column)} AS BIGINT)"
    span = f"max({cell})::HUGEINT - min({cell}) + 1"
    rows, different, width = _ask(source, f"SELECT count(*), count(DISTINCT {cell}), {span} FROM file")
    return bool(rows == different == width)


def keys_of(source: FileSource, key: str) -> list[Any]:
    """The keys of a table, whole numbers as such."""
    with closing(source.connect()) as connection:
        found = source.query(connection, f"SELECT {as_key(_cell(source, key))} AS k FROM file")["k"].tolist()
    whole = all(re.fullmatch("0|-?[1-9][0-9]{0,17}", one) for one in found)
    return [*map(int, found)] if whole else found


def _cell(source: FileSource, column: str) -> str:
    return f"c{source.columns().index(column)}"


def strays_of(child: FileSource, foreign: str, parent: FileSource, key: str) -> tuple[int, int]:
    """The number of rows in which a column holds no key of another table, and of blank ones among them."""
    cell = as_key(_cell(child, foreign))
    with closing(child.connect()) as connection, closing(parent.connect()) as keys:
        known = parent.query(keys, f"SELECT DISTINCT {as_key(_cell(parent, key))} AS k FROM file")["k"]
        connection.register("known", {"k": known})
        found = child.query(
            connection,
            f"SELECT count(*) AS n, count(*) FILTER (coalesce({cell}, '') = '') AS blanks FROM file "
            f"WHERE NOT coalesce({cell} IN (SELECT k FROM known), false)",
        )
    return int(found["n"][0]), int(found["blanks"][0])
