"""How much somebody may ask a finished release for: numbers that no machine holds are refused beforehand."""

from __future__ import annotations

from ...common.errors import DataError
from ...common.forms.values import whole
from ...common.privacy.rows_of_person import MOST_ROWS

MOST_CELLS_IN_MEMORY = 2**30
"""Most cells of rows that are drawn into memory: 8 GiB of numbers."""


def check_number(what: str, number: int) -> None:
    """Refuses a number of rows, people or copies that is none.

    Args:
        what: what is asked for.
        number: how many.

    Raises:
        DataError: it is no whole number from 1 to `MOST_ROWS`.
    """
    if not whole(1, MOST_ROWS).fits(number):
        raise DataError(f"{what}: expected at least 1 and at most {MOST_ROWS}; ask for another whole number")


def check_memory(what: str, number: int, cells: float) -> None:
    """Refuses what memory should not hold.

    Args:
        what: what is asked for.
        number: how many.
        cells: of one of them.

    Raises:
        DataError: they have more than `MOST_CELLS_IN_MEMORY` together.
    """
    check_number(what, number)
    most = int(MOST_CELLS_IN_MEMORY / cells)
    if number > most:
        raise DataError(
            f"{what}: expected at most {most:,}, whose cells memory holds, got more; ask for fewer at a time"
        )
