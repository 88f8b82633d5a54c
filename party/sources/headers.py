"""The first line of a CSV file: names of columns, or a record that stands in their place."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ...common.data.values import compose
from ...common.errors import DataError

_NUMBER = re.compile(r"[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?")
_MONTH = re.compile(
    r"[0-9]{1,4}[-. /][A-Z][a-z]{2,8}[-. /,]+[0-9]{1,4}|[A-Z][a-z]{2,8} [0-9]{1,2},? [0-9]{4}"
)
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T.*")

_VALUES = ("true", "false", "?", "nan", "null", "n/a")
"""Texts that are values and no names."""

_QUOTED = re.compile("'[^']*'")
_DIVIDED = re.compile(r"\S\s+\S|[\^~¦\x00-\x1f]|^#")
"""One name with blanks or such marks may be several, a title or a comment."""

_SERIES = 3
"""So many numbers are names if they are at equal distances, or increasing years."""

_YEARS = range(1800, 2200)


def reads_as_record(cells: Sequence[str]) -> bool:
    """Whether a first line holds numbers, dates or other values as a record does, and no names of columns.

    Numbers are names if they are a series, such as the years of a wide table and the columns of a matrix.
    Nothing but the line itself is looked at, so that the answer says nothing of other records.

    Args:
        cells: of the line.
    """
    plain = [cell.strip().strip("'") for cell in cells]
    values = [cell for cell in plain if _is_value(cell)]
    if not values or plain in (["", "0"], ["index", "0"]):
        # A pandas Series without a name is called 0, behind its index.
        return False
    return not all(map(_NUMBER.fullmatch, values)) or not _is_series([float(value) for value in values])


def names_of(file: str, cells: Sequence[str], *, header: bool | None) -> tuple[str, ...]:
    """The name of each column; "" of a first one without a name, such as that of row numbers, or a last one.

    Args:
        file: what messages call the file.
        cells: of its first line.
        header: whether these are the names; otherwise columns are called column1, column2 and so on. None if
            nobody has said so: then they are, unless they read as a record.

    Raises:
        DataError: the line has no names, one twice, names in single quotes, or reads as a record, whose cells
            no message shows.
    """
    if header is False:
        return tuple(f"column{place}" for place in range(1, len(cells) + 1))
    if header is None and reads_as_record(cells):
        raise DataError(
            f"{file}: its first line reads as a record, not as names of columns; write names into a first "
            "line, or give --no-header (header=False) to call them column1, column2, ..., or --header "
            "(header=True) if these are their names"
        )
    if header is None and all(map(_QUOTED.fullmatch, cells)):
        raise DataError(
            f"{file}: expected quotes to be double ones, found names in single ones; write cells in double "
            "quotes or in none, or give --header (header=True) if these are their names"
        )
    names = tuple(compose(cell) if cell.strip() else "" for cell in cells)
    # Some programs end every line with a separator.
    last = len(names) - 1 if len(names) > 2 and names[0] else len(names)
    if "" in (unnamed := names[1:last]) or names == ("",):
        place = names.index("") + 1 if names == ("",) else unnamed.index("") + 2
        # Spreadsheets fill the line of a title with empty cells.
        titled = len(names) > 2 and names.count("") > len(names) / 2
        remedy = ", or take titles and comments above the names away" if titled else ""
        raise DataError(
            f"{file}: column {place} has no name; write one into the first line, or take the column "
            f"away{remedy}"
        )
    check_different(
        file,
        names if names[-1] else names[:-1],
        ", or there is no header; name each column in the first line, or give --no-header (header=False)",
    )
    return names


def check_divided(file: str, names: Sequence[str]) -> None:
    """Checks that the only name of a file is that of a column.

    Args:
        file: what messages call the file.
        names: of its columns.

    Raises:
        DataError: it has blanks or marks, which may separate names, or begins as a comment.
    """
    if len(names) == 1 and _DIVIDED.search(names[0]):
        raise DataError(
            f"{file}: expected names of columns, found one, with blanks or marks, in the first line; "
            "separate cells by commas, semicolons, tabs or bars, take titles and comments above the names "
            "away, or give --header (header=True) if the file has one column of this name"
        )


def check_different(file: str, names: Sequence[str], remedy: str) -> None:
    """Checks that columns have names of their own.

    Args:
        file: what messages call the file.
        names: of its columns.
        remedy: what else may be wrong, and what to do.

    Raises:
        DataError: two columns have one name.
    """
    for place, name in enumerate(names):
        if name in names[:place]:
            raise DataError(f"{file}: columns {names.index(name) + 1} and {place + 1} have one name{remedy}")


def _is_value(cell: str) -> bool:
    """Whether a cell is a number, a date or a text with a digit and no letter, such as 12% and 079 123 45."""
    if not any(map(str.isdigit, cell)):
        return cell.lower() in _VALUES
    patterns = (_NUMBER, _MONTH, _INSTANT)
    return not any(map(str.isalpha, cell)) or any(pattern.fullmatch(cell) for pattern in patterns)


def _is_series(numbers: list[float]) -> bool:
    steps = np.diff(numbers)
    if len(numbers) < _SERIES or steps.min() <= 0:
        return False
    return bool(np.allclose(steps, steps[0])) or all(number in _YEARS for number in numbers)
