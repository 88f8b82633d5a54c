"""The rows of a matrix that is mostly zero: a one-hot row for each record, or a sum of such rows in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Vectors:
    """Entries of a matrix; those of one place add up.

    Attributes:
        size: number of rows of the matrix.
        rows: row of each entry, never decreasing, shape (entries,), int64.
        cells: column of each entry, shape (entries,), int64.
        weights: value of each entry, shape (entries,), int64; None for ones.
    """

    size: int
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]
    weights: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, codes: NDArray[np.integer[Any]] | Vectors) -> Vectors:
        """Vectors as they are, or the one-hot rows of codes, of which -1 is a row of zeros."""
        if isinstance(codes, Vectors):
            return codes
        rows = np.flatnonzero(codes >= 0)
        return cls(codes.size, rows, codes[rows].astype(np.int64, copy=False))
