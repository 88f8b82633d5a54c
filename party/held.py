"""The rows of an institution: in memory, or where they live."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..common.data.coding import Coding
from ..common.data.table import Table
from ..common.data.texts import has_open_categories
from ..common.errors import DataError
from .counting.engine import Check
from .counting.rows import CountedRows

HeldRows = Table | CountedRows
"""Rows as codes. Both give exact marginals; of an engine, single rows are loaded when they are asked for."""


def loaded(rows: HeldRows) -> Table:
    """All rows, in memory from then on.

    Raises:
        DataError: see `CountedRows.loaded`.
    """
    return rows if isinstance(rows, Table) else rows.loaded()


def recoded(rows: HeldRows, coding: Coding) -> HeldRows:
    """The rows with the codes that a release chose.

    Raises:
        DataError: see `Coding.table`.
    """
    return coding.table(rows) if isinstance(rows, Table) else rows.recoded(coding)


def watched(rows: HeldRows, check: Check) -> HeldRows:
    """The rows for a release; an engine stops counting when `check` raises."""
    return rows if isinstance(rows, Table) else rows.watched(check)


def check_ready(rows: HeldRows) -> None:
    """Refuses a query before it is charged, if its answer cannot be counted.

    Raises:
        DataError: the engine cannot be reached, or the rows changed since the party was started.
    """
    if not isinstance(rows, Table):
        rows.check_ready()


def check_texts(rows: HeldRows, name: str) -> None:
    """Refuses to look for labels of an open category without its texts.

    Raises:
        DataError: the table has only its codes.
    """
    if isinstance(rows, Table) and name not in rows.texts:
        raise DataError(
            f"attribute {name!r}: expected the texts of its open categories beside its codes, found "
            "codes alone; read the table from its source"
        )


def unlisted(
    rows: HeldRows, name: str, used: NDArray[np.bool_] | None
) -> tuple[list[str], NDArray[np.int64]]:
    """The texts of open categories that could become labels, and the number of rows of each.

    Args:
        rows: the rows.
        name: of the open categories.
        used: the rows that count, shape (rows,); None for all.
    """
    if used is None and not isinstance(rows, Table):
        return rows.unlisted(name)
    table = loaded(rows)
    attribute, texts = table.domain[name], table.texts[name]
    assert has_open_categories(attribute), "the terms were checked"
    return (texts if used is None else texts.take(np.flatnonzero(used))).unlisted(attribute)
