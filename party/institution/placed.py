"""Rows of a party at the positions of an alignment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique, Domain
from ...common.data.grouping import Groups, grouped, grouped_shape
from ...common.data.rows import count_by_cells, count_one_by_one
from ...common.data.table import Table
from ..accounts.rows import Placement
from ..counting.placed import PlacedSpool
from ..counting.rows import CountedRows
from ..counting.spool import RowsInRanges


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
            codes: NDArray[np.integer[Any]] = np.full(rows.size, size - 1, dtype=np.int64)
            codes[held] = self._table.column(name)[rows[held]]
            codes, size = grouped(codes, size, groups[place] if groups else ())
            cells *= size
            cells += codes
        return cells if self._absent else np.where(held, cells, -1)

    def marginal(self, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
        """Exact counts, shape (n_r,), in row-major order of the clique as given, of codes or groups.

        Positions at which all attributes are `absent` do not count: dummies are among them. With groups,
        `absent` is the last group of every attribute, alone.
        """
        counts = count_by_cells(self, clique, groups)
        if self._absent:
            counts[-1] = 0
        return counts

    def marginals(self, cliques: Iterable[Clique], groups: Sequence[Groups] = ()) -> list[NDArray[np.int64]]:
        """See `Rows`."""
        return count_one_by_one(self, cliques, groups)


class PlacedRows:
    """As `PlacedTable`, of rows that an engine holds: their codes are on disk, by ranges of positions.

    Thread-safe. Memory: two ranges. Codes are written when they are first asked for.

    Args:
        rows: rows of the party.
        alignment_id: id of the alignment.
        placement: where it puts the rows.
        domain: see `PlacedTable`.
        absent: see `PlacedTable`.
    """

    def __init__(
        self, rows: CountedRows, alignment_id: str, placement: Placement, domain: Domain, absent: bool
    ) -> None:
        self._rows, self._alignment_id, self._absent = rows, alignment_id, absent
        self._placement = placement
        self.domain = domain
        """Sizes of the codes."""

    @property
    def record_count(self) -> int:
        """Number of positions."""
        return self._placement.size

    def cell_codes(
        self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
    ) -> NDArray[np.int64]:
        """The cell of each of the positions start to stop - 1; see `PlacedTable.cell_codes`."""
        return self._ranges.cell_codes(clique, start, stop, groups)

    def marginal(self, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
        """Exact counts, shape (n_r,); see `PlacedTable.marginal`."""
        names = tuple(clique)
        cells = math.prod(grouped_shape(self.domain.shape(names), groups))
        cell = self._rows.cell(names, self.domain, groups)
        counts = self._spool.counting.counts(cell, cells, self._rows.check, self._rows.connection.timeout_s)
        if self._absent:
            counts[-1] = 0
        return counts

    def marginals(self, cliques: Iterable[Clique], groups: Sequence[Groups] = ()) -> list[NDArray[np.int64]]:
        """See `Rows`."""
        return count_one_by_one(self, cliques, groups)

    @cached_property
    def _spool(self) -> PlacedSpool:
        rows, placement = self._rows, self._placement

        def positions(start: int, stop: int) -> NDArray[np.int32]:
            return placement.positions[start:stop]

        return rows.connection.placed_spool(self._alignment_id, positions, placement.size, rows.check)

    @cached_property
    def _ranges(self) -> RowsInRanges:
        spool, coding, names = self._spool, self._rows.coding, self._rows.domain.names
        domain, absent = self.domain, self._absent

        # It holds no reference to these rows, with whose last one the files go.
        def read(number: int) -> PlacedTable:
            positions, table = spool.rows_in_range(number, names)
            coded = table if coding is None else coding.table(table)
            size = spool.starts[number + 1] - spool.starts[number]
            return PlacedTable(coded, positions, size, domain, absent)

        return RowsInRanges(spool.starts, read)
