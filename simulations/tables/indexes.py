"""The index of a data frame of pandas: with a name it is a column of the table, and comes back as index."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import pandas as pd

from .arrow_tables import ArrowTable, data_frame


class Indexed(NamedTuple):
    """Rows of a data frame, without an index.

    Attributes:
        rows: the columns of the index, and all others.
        levels: names of the columns that were the index.
        numbered: the name of an index of one level, which rows keep if its column is not released.
    """

    rows: pd.DataFrame
    levels: tuple[str, ...]
    numbered: str


def without_index(data: ArrowTable) -> Indexed:
    """The rows of a data frame, with columns in place of an index that has names.

    Levels without a name are left out, as are those with the name of a column.

    Warns:
        UserWarning: an index without a name holds other things than whole numbers.
    """
    rows = data_frame(data)
    names = [name for name in rows.index.names if isinstance(name, str) and name not in rows.columns]
    if not names:
        if rows.index.nlevels == 1 and rows.index.name is None and not _counts(rows.index):
            warnings.warn(
                "the index has no name and is not released: rows of a release are numbered anew; to release "
                "its values, give it a name",
                UserWarning,
                stacklevel=4,
            )
        return Indexed(rows, (), _only_name(rows.index))
    held = rows.reset_index(level=names)
    return Indexed(held.reset_index(drop=True), tuple(names), _only_name(rows.index))


def _counts(index: pd.Index) -> bool:
    return bool(pd.api.types.is_integer_dtype(index.dtype)) or not len(index)


def _only_name(index: pd.Index) -> str:
    """The name of an index of one level; empty if it has none."""
    return index.name if index.nlevels == 1 and isinstance(index.name, str) else ""
