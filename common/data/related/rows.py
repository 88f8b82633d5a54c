"""Coded rows of a table, those of one parent beside each other, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one table, those of one parent beside each other, in their order.

    Attributes:
        codes: codes of each of the table's own attributes (`Family.own`), and of real rows of those that are
            counted (`Family.counted_attributes`), shape (N,).
        parent: row of the parent of each row, never decreasing, shape (N,); of the root the row itself.
        parents: number of rows of the parent table.
    """

    codes: Mapping[str, Codes]
    parent: Codes
    parents: int

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def first(self) -> NDArray[np.bool_]:
        """Which rows are the first of their parent, shape (N,)."""
        return np.append(True, self.parent[1:] != self.parent[:-1])[: len(self)]

    @cached_property
    def places(self) -> Codes:
        """The place of each row among those of its parent, from 0 on, shape (N,)."""
        starts = np.flatnonzero(self.first)
        return np.arange(len(self)) - np.repeat(starts, np.diff(np.append(starts, len(self))))

    @cached_property
    def numbers(self) -> Codes:
        """The number of rows of each parent, shape (parents,)."""
        return np.bincount(self.parent, minlength=self.parents).astype(np.int64)


def lineage(path: Sequence[str], rows: Mapping[str, Rows]) -> Codes:
    """For each row of a table its row in a table above, shape (N,); not to be written to.

    Args:
        path: the table, its parent and so on, up to the table above.
        rows: of these tables.
    """
    if len(path) == 1:
        return np.arange(len(rows[path[0]]))
    found = rows[path[0]].parent
    for name in path[1:-1]:
        found = rows[name].parent[found]
    return found


def of_row_before(codes: Codes, first: NDArray[np.bool_], none: int) -> Codes:
    """The code of the row before, shape (N,).

    Args:
        codes: shape (N,).
        first: which rows are the first of their parent, shape (N,).
        none: the code of none.
    """
    return np.where(first, none, np.roll(codes, 1))


def last_of_series(parent: Codes, series: NDArray[np.integer]) -> Codes:
    """The last earlier row of the same parent and the same series of each row, shape (N,); -1 for none.

    Args:
        parent: row of the parent of each row, never decreasing, shape (N,).
        series: code of the series of each row, shape (N,).
    """
    size = int(series.max()) + 1 if len(series) else 1
    named = parent.astype(np.int64) * size + series
    places = np.argsort(named, kind="stable")
    same = named[places[1:]] == named[places[:-1]]
    found = np.full(len(named), -1, dtype=np.int64)
    found[places[1:][same]] = places[:-1][same]
    return found


def of_series(codes: Codes, last: Codes, none: int) -> Codes:
    """The code of the last earlier row of the same series, shape (N,).

    Args:
        codes: shape (N,).
        last: see `last_of_series`.
        none: the code of none.
    """
    return np.where(last < 0, none, codes[last])
