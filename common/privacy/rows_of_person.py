"""Rows of one person, as plans and policies say them: a number, or all."""

from __future__ import annotations

from ..forms.several import Either
from ..forms.values import Choice, whole
from .cost import ALL_ROWS

ALL = "all"
"""All rows of a person, whatever their number, each of which counts in part."""

MOST_ROWS = 10**9
"""Most rows of a table, and so of a person, in files that people write."""

ROWS = Either((whole(1, MOST_ROWS), Choice((ALL,))))
"""A number of rows of one person, or all."""


def rows_of(stated: int | str) -> int:
    """The number that a checked file states; `ALL_ROWS` for all."""
    return ALL_ROWS if stated == ALL else int(stated)


def rows_stated(rows: int) -> str:
    """A number of rows as a file states it."""
    return f'"{ALL}"' if rows == ALL_ROWS else str(rows)
