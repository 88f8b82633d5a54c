"""Which of several tables belongs to which, as it was stated, and by which columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from ...common.data.related.repeats import table_and_column
from ...common.errors import DataError
from ...common.forms.nearest import hint
from ...curator.results.keys import Joined, with_joined_keys
from ...simulations.tables.frames import Source

Relations = Mapping[str, Mapping[str, str]]
"""For each child, the columns that hold the key of its parent -> the parent, or "parent.column"."""


@dataclass(frozen=True)
class Link:
    """What a table belongs to.

    Attributes:
        parent: the table to which it belongs.
        columns: its columns that hold the parent's key, each with the one there.
        of_people: whether the parent belongs to no other table.
    """

    parent: str
    columns: tuple[tuple[str, str], ...]
    of_people: bool

    @property
    def foreign(self) -> str:
        """The column that holds the parent's key; one that is made where several do."""
        return self.columns[-1][0] if len(self.columns) == 1 or self.of_people else self._name_of_key

    @property
    def key(self) -> str:
        """The parent's column that names its rows; one that is made where several do.

        Of people it is the last one, which then names them alone: the others are columns like all.
        """
        return self.columns[-1][1] if len(self.columns) == 1 or self.of_people else self._name_of_key

    @property
    def joins(self) -> tuple[str, ...]:
        """The parent's columns that name its rows together; empty if one does."""
        return tuple(theirs for _, theirs in self.columns) if len(self.columns) > 1 else ()

    @property
    def repeats(self) -> dict[str, str]:
        """The columns that repeat those of the parent, if several hold its key."""
        own = self.columns if self.joins else ()
        return {column: f"{self.parent}.{theirs}" for column, theirs in own if column != self.foreign}

    @property
    def _name_of_key(self) -> str:
        return f"{self.parent}_key"


def links_of(data: Mapping[str, Source], relations: Relations) -> dict[str, Link]:
    """What each table belongs to that belongs to another.

    Raises:
        DataError: a name is unknown, or a table belongs to several.
    """
    found = {}
    for name, stated in relations.items():
        if name not in data:
            raise DataError(f"relations: expected names of tables, got {name!r}{hint(name, data)}; fix it")
        held = [(column, *parent_and_key(other, column, data)) for column, other in stated.items()]
        parents = {parent for _, parent, _ in held}
        if len(parents) != 1:
            raise DataError(
                f"relations of {name!r}: expected columns that hold the key of one parent, got "
                f"{', '.join(map(repr, stated)) or 'none'}; a table belongs to one other: name in "
                "public those that everybody may see, or take out the columns that refer to them"
            )
        (parent,) = parents
        columns = tuple((column, key) for column, _, key in held)
        if len({key for _, key in columns}) < len(columns):
            raise DataError(
                f"relations of {name!r}: expected one row of {parent!r} to which a row belongs, got several "
                f"columns with its key {columns[0][1]!r}; leave all but one out, and name the one that says "
                "whose rows they are"
            )
        found[name] = Link(parent, columns, parent not in relations)
    return found


def parent_and_key(stated: str, foreign: str, data: Mapping[str, Source]) -> tuple[str, str]:
    """The table that a column refers to, and its key there.

    Args:
        stated: the table, or "table.column".
        foreign: the column, of which the key has the name where none is stated.
        data: all tables.

    Raises:
        DataError: there is no such table.
    """
    parent, key = table_and_column(stated, data)
    if not parent:
        raise DataError(
            f"relations: expected one of the tables beside {foreign!r}, got {stated!r}{hint(stated, data)}; "
            "add it, or fix the name"
        )
    return parent, key or foreign


def keys_of(links: Mapping[str, Link]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The key of each table to which another belongs, and the columns of which it is made.

    Raises:
        DataError: two tables refer to one by different keys.
    """
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for link in links.values():
        stated = link.key, link.joins
        if found.setdefault(link.parent, stated) != stated:
            raise DataError(
                f"relations: expected one key of the table {link.parent!r}, got several; name one, and of a "
                "key of several columns all in one order"
            )
    return found


def in_order_of_links(data: Mapping[str, Source], links: Mapping[str, Link]) -> list[str]:
    """The names of the tables, each after its parent.

    Raises:
        DataError: they are no tree.
    """
    roots = [name for name in data if name not in links]
    if len(roots) != 1:
        what = ", ".join(map(repr, roots)) or "none, so that relations go in a circle"
        raise DataError(
            f"relations: expected one table that belongs to no other, that of people, got {what}; fix them, "
            "or name the tables in public that everybody may see as they are"
        )
    found = roots
    while len(found) < len(data):
        below = [name for name in data if name not in found and links[name].parent in found]
        if not below:
            raise DataError("relations: expected a tree, got a circle; fix them")
        found += below
    return found


def with_keys_made(frames: Mapping[str, pd.DataFrame], links: Mapping[str, Link]) -> dict[str, pd.DataFrame]:
    """Tables with the columns that are made of several that hold one key.

    Raises:
        DataError: one has a column of this name, or lacks one of the others.
    """
    found = []
    for name, link in links.items():
        if link.joins:
            found.append(Joined(name, link.foreign, tuple(column for column, _ in link.columns)))
            found.append(Joined(link.parent, link.key, link.joins))
    for one in found:
        if one.made in frames[one.table] and one.made not in one.columns:
            raise DataError(
                f"{one.table}: expected no column {one.made!r}, which a release makes of "
                f"{' and '.join(map(repr, one.columns))}; rename it"
            )
    return with_joined_keys(frames, found)
