"""Text that a spreadsheet would run as a formula when it opens a CSV file.

Source: OWASP, "CSV Injection": a leading apostrophe makes a cell text.
"""

from __future__ import annotations

_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n")


def is_formula(text: str) -> bool:
    """Whether a cell begins like a formula; a number, such as "-5", is none."""
    return text.startswith(_BEGINNINGS) and not _is_number(text)


def as_text(cell: str) -> str:
    """The cell, with an apostrophe before it if it begins like a formula, perhaps after apostrophes.

    `from_text` is its inverse.
    """
    return "'" + cell if is_formula(cell.lstrip("'")) else cell


def from_text(written: str) -> str:
    """The cell that `as_text` made this of."""
    return written[1:] if written.startswith("'") and is_formula(written.lstrip("'")) else written


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
