"""Names of the columns of a table of codes."""

from __future__ import annotations

PLACE = "place"
"""The number of each row, where the rows have an order."""


def code_of(place: int) -> str:
    """Name of the column of an attribute's codes.

    Args:
        place: number of the attribute in the domain.
    """
    return f"k{place}"


def text_of(code: str) -> str:
    """Name of the column of the texts of open categories, whose codes are in another."""
    return f"{code}_text"


def other_of(place: int) -> str:
    """Name of the column of the texts of a column that is no attribute.

    Args:
        place: its number among them.
    """
    return f"other{place}"
