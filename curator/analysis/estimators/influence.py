"""Sums over the real table of functions of a synthetic table's rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..terms import Support
from ..totals import Sums, Totals
from .places import Places

Array = NDArray[np.float64]


class RealTable:
    """Estimates sums over the real table from functions that are known at places.

    Rows with equal codes of the columns are one combination of the support. A function that differs between
    them, since it depends on values inside of bins, has their mean there, and their covariance as its
    covariance.
    """

    def __init__(self, places: Places, columns: Sequence[str]) -> None:
        """Finds the combinations of the support.

        Args:
            places: rows at which functions are known.
            columns: on which the functions depend, of those of the places.
        """
        domain = places.domain
        self._own = places.own
        clique = domain.canonical(dict.fromkeys(columns))
        codes = np.column_stack([places.rows.column(name).astype(np.int64) for name in clique])
        cells = _ranks(codes)
        _, first, self._place, counts = np.unique(
            cells, return_index=True, return_inverse=True, return_counts=True
        )
        self._counts = counts.astype(np.float64)
        self.records = places.records
        self.rows = int(places.own.sum())
        held = np.bincount(self._place[places.own], minlength=len(counts)).astype(np.float64)
        weights = held * (self.records / self.rows)
        self._sums = Sums.of(places.evidence, Support(clique, codes[first], weights))

    def totals(self, functions: Array, covariances: bool = True) -> Totals:
        """Sums over the real table.

        Args:
            functions: values at the places, shape (rows, q).
            covariances: whether the variation inside of bins counts.
        """
        places = len(self._counts)
        sums = [np.bincount(self._place, column, places) / self._counts for column in functions.T]
        means: Array = np.column_stack(sums).astype(np.float64)
        rest = functions[self._own] - means[self._place[self._own]]
        inside = None
        if covariances and np.abs(rest).max(initial=0) > 1e-9 * np.abs(functions).max(initial=0):
            inside = rest.T @ rest * (self.records / self.rows)
        return self._sums.totals(means, inside)


def _ranks(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each row, equal for equal rows only."""
    cells = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        # Numbers are made dense after each column, so that their products stay small.
        _, cells = np.unique(cells * (int(column.max()) + 1) + column, return_inverse=True)
    return cells
