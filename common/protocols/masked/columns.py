"""Columns of a party's indicators: attributes, or groups of the codes of an attribute.

A part of a chain names columns. The column of a grouped attribute states the groups, so whatever is derived
from the names of a part (masks, seals, dealt randomness) differs between groups, and a matrix has as many
columns as there are groups.
"""

from __future__ import annotations

from functools import lru_cache

from ...data.domain import Clique, Domain
from ...data.grouping import Grouping, Groups
from ...errors import ProtocolError

MARK = "\x1d"
"""Begins the column of a grouped attribute; no attribute of a plan begins with it."""

_KEPT = 4096
"""Number of columns whose groups are remembered."""


def columns_of(clique: Clique, groups: Groups) -> Clique:
    """The column of each attribute of a clique."""
    if not groups:
        return clique
    return tuple(_column(name, labels) for name, labels in zip(clique, groups, strict=True))


def names_of(columns: Clique) -> Clique:
    """The attribute of each column."""
    return tuple(_read(column)[0] for column in columns)


def groups_of(columns: Clique) -> Groups:
    """The groups of each column; empty if no attribute is grouped."""
    found = tuple(_read(column)[1] for column in columns)
    return found if any(found) else ()


def width(domain: Domain, column: str) -> int:
    """The number of codes or groups of a column."""
    name, labels = _read(column)
    return max(labels) + 1 if labels else domain[name].size


def _column(name: str, labels: Grouping) -> str:
    return MARK.join(("", ",".join(map(str, labels)), name)) if labels else name


@lru_cache(maxsize=_KEPT)
def _read(column: str) -> tuple[str, Grouping]:
    """The attribute and the groups of a column.

    Raises:
        ProtocolError: it is not what `_column` writes.
    """
    if not column.startswith(MARK):
        return column, ()
    stated, _, name = column[1:].partition(MARK)
    digits = stated.split(",")
    labels = tuple(map(int, digits)) if all(d.isascii() and d.isdigit() for d in digits) else ()
    if _column(name, labels) != column:
        raise ProtocolError("expected the name of an attribute, with its groups if any; compare versions")
    return name, labels
