"""Columns of a party's indicators: attributes, or groups of the codes of an attribute.

A part of a chain names columns. The column of a grouped attribute states the groups, and one of people whose
weights add up says so. So whatever follows from the names of a part (masks, seals, dealt randomness) differs
between them, and a matrix has as many columns as there are groups.
"""

from __future__ import annotations

from functools import lru_cache

from ...data.domain import Clique, Domain
from ...data.grouping import Grouping, Groups
from ...data.view import View
from ...errors import ProtocolError

_MARK = "\x1d"
"""Begins the column of a grouped attribute, of one whose weights add up, and of one that begins with it."""

_ADDING_UP = "+"
"""Stands before the groups of a column of people whose weights add up where they need not."""

_GROUP_DIGITS = 9
"""More digits than the number of a group has."""

_REMEMBERED_COLUMNS, _KEPT_SIZE = 1024, 2048
"""Number and length of columns whose groups are remembered: at most some 20 MB, whatever is asked."""


def columns_of(view: View, adding_up: frozenset[str] = frozenset()) -> Clique:
    """The column of each attribute of a view.

    Args:
        view: what is counted.
        adding_up: attributes of people whose weights add up where they need not; see `PeopleRows.adding_up`.
    """
    return tuple(_column(name, labels, name in adding_up) for name, labels in view.groupings)


def names_of(columns: Clique) -> Clique:
    """The attribute of each column."""
    return tuple(_read(column)[0] for column in columns)


def groups_of(columns: Clique) -> Groups:
    """The groups of each column; empty if no attribute is grouped."""
    found = tuple(_read(column)[1] for column in columns)
    return found if any(found) else ()


def add_up(columns: Clique) -> bool:
    """Whether one of the columns is of people whose weights add up where they need not."""
    return any(_read(column)[2] for column in columns)


def width(domain: Domain, column: str) -> int:
    """The number of codes or groups of a column."""
    name, labels, _ = _read(column)
    return max(labels) + 1 if labels else domain[name].size


def _column(name: str, labels: Grouping, adding_up: bool) -> str:
    if not labels and not adding_up and not name.startswith(_MARK):
        return name
    return _MARK.join(("", _ADDING_UP * adding_up + ",".join(map(str, labels)), name))


def _read(column: str) -> tuple[str, Grouping, bool]:
    """The attribute and the groups of a column, and whether its weights add up where they need not.

    Raises:
        ProtocolError: it is not what `_column` writes.
    """
    if not column.startswith(_MARK):
        return column, (), False
    return _short(column) if len(column) <= _KEPT_SIZE else _parse_column(column)


@lru_cache(maxsize=_REMEMBERED_COLUMNS)
def _short(column: str) -> tuple[str, Grouping, bool]:
    return _parse_column(column)


def _parse_column(column: str) -> tuple[str, Grouping, bool]:
    stated, _, name = column[1:].partition(_MARK)
    adding_up = stated.startswith(_ADDING_UP)
    numbers = stated.removeprefix(_ADDING_UP).split(",")
    labels = (
        tuple(map(int, numbers)) if all(n.isdecimal() and len(n) <= _GROUP_DIGITS for n in numbers) else ()
    )
    if _column(name, labels, adding_up) != column:
        raise ProtocolError("expected the name of an attribute, with its groups if any; compare versions")
    return name, labels, adding_up
