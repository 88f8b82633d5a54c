"""Rows of a party at the positions of an alignment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...common.data.counting import ROWS_AT_ONCE
from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Groups, grouped, grouped_shape
from ...common.data.table import Table


class PlacedTable:
    """A row at every position: of the party, or where it has none, of zeros or of the value `absent`.

    Memory: the table, and 4 bytes per position.

    Args:
        table: rows of the party.
        positions: position of each row, shape (rows,); -1 for a row that is not used.
        size: number of positions.
        domain: sizes of the codes: those of the table, plus one for `absent` if `absent`.
        absent: whether a position without a row has the last code of every attribute; otherwise it has none.
    """

    def __init__(
        self, table: Table, positions: NDArray[np.int32], size: int, domain: Domain, absent: bool
    ) -> None:
        self._table, self._absent = table, absent
        self.domain = domain
        """Sizes of the codes."""
        self._row = np.full(size, -1, dtype=np.int32)
        used = np.flatnonzero(positions >= 0)
        self._row[positions[used]] = used

    @property
    def record_count(self) -> int:
        """Number of positions."""
        return self._row.size

    def cell_codes(
        self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
    ) -> NDArray[np.int64]:
        """The cell of each of the positions start to stop - 1, int64; -1 for a position that has none."""
        rows = self._row[start:stop]
        held = rows >= 0
        cells = np.zeros(rows.size, dtype=np.int64)
        for place, name in enumerate(clique):
            size = self.domain[name].size
            codes = np.where(held, self._table.column(name)[rows], size - 1)
            codes, size = grouped(codes, size, groups[place] if groups else ())
            cells *= size
            cells += codes
        return cells if self._absent else np.where(held, cells, -1)

    def marginal(self, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
        """Exact counts, shape (n_r,), in row-major order of the clique as given, of codes or groups.

        Positions at which all attributes are `absent` do not count: dummies are among them. With groups,
        `absent` is the last group of every attribute, alone.
        """
        names = tuple(clique)
        counts = np.zeros(math.prod(grouped_shape(self.domain.shape(names), groups)), dtype=np.int64)
        for start in range(0, self.record_count, ROWS_AT_ONCE):
            cells = self.cell_codes(names, start, start + ROWS_AT_ONCE, groups)
            counts += np.bincount(cells[cells >= 0], minlength=len(counts))
        if self._absent:
            counts[-1] = 0
        return counts

    def marginals(self, cliques: Iterable[Clique], groups: Sequence[Groups] = ()) -> list[NDArray[np.int64]]:
        """See `Rows`."""
        asked = list(cliques)
        return [
            self.marginal(clique, of) for clique, of in zip(asked, groups or [()] * len(asked), strict=True)
        ]
