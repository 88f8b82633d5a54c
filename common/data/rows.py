"""What is asked of rows: their number, exact marginals, and the cell of each."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from ..later import np
from .counting import COUNTED_AT_ONCE
from .domain import Clique, Domain
from .grouping import Groups, grouped_shape

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Rows(Protocol):
    """Rows in memory, at positions, or in an engine that counts them."""

    @property
    def domain(self) -> Domain:
        """Meaning of the codes."""

    @property
    def record_count(self) -> int:
        """Number of rows or positions."""

    def cell_codes(
        self, clique: Iterable[str], start: int, stop: int, groups: Groups = ()
    ) -> NDArray[np.int64]:
        """The cell of each of the rows start to stop - 1, int64; -1 for a row of zeros."""

    def marginal(self, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
        """Exact counts, shape (n_r,), in row-major order of the clique as given, of codes or groups."""

    def marginals(self, cliques: Iterable[Clique], groups: Sequence[Groups] = ()) -> list[NDArray[np.int64]]:
        """Several marginals, as by `marginal`, but not to be written to."""


def count_by_cells(rows: Rows, clique: Iterable[str], groups: Groups = ()) -> NDArray[np.int64]:
    """Exact counts of rows by the cell of each, shape (n_r,); see `Rows.marginal`."""
    names = tuple(clique)
    counts = np.zeros(math.prod(grouped_shape(rows.domain.shape(names), groups)), dtype=np.int64)
    for start in range(0, rows.record_count, COUNTED_AT_ONCE):
        cells = rows.cell_codes(names, start, start + COUNTED_AT_ONCE, groups)
        counts += np.bincount(cells[cells >= 0], minlength=counts.size)
    return counts


def count_one_by_one(
    rows: Rows, cliques: Iterable[Clique], groups: Sequence[Groups] = ()
) -> list[NDArray[np.int64]]:
    """Several marginals, one after the other; see `Rows.marginals`."""
    asked = list(cliques)
    return [rows.marginal(clique, of) for clique, of in zip(asked, groups or [()] * len(asked), strict=True)]


def codes_digest(rows: Rows, clique: Clique, within: range, groups: Groups = ()) -> str:
    """SHA-256 of the cells of these rows, as hexadecimal digits: what a mask or noise of each row hides."""
    digest = hashlib.sha256()
    for start in within[::COUNTED_AT_ONCE]:
        cells = rows.cell_codes(clique, start, min(start + COUNTED_AT_ONCE, within.stop), groups)
        digest.update(cells.astype("<i8").data)
    return digest.hexdigest()
