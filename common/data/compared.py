"""Marginals of two tables beside each other, of any number of cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .counting import count_cells
from .domain import Clique
from .table import Table

Counts = NDArray[np.int64]

_LARGEST_CODE = 2**62

_COUNTED_CELLS = 4
"""Up to so many cells for each record, counting all of them is faster than sorting the records."""

_COMPARED_AT_ONCE = 2**21
"""Largest number of cells that are counted together; it bounds temporary memory."""


def counted_in_both(
    real: Table, synthetic: Table, cliques: Sequence[Clique]
) -> Iterator[tuple[Counts, Counts]]:
    """For each clique the counts of both tables in the same cells, which include all occupied ones.

    Args:
        real: a table.
        synthetic: another one of the same domain.
        cliques: cliques of any number of cells.
    """
    together: list[Clique] = []
    cells = 0
    for clique in cliques:
        size = real.domain.cells(clique)
        if size > _COUNTED_CELLS * (real.record_count + synthetic.record_count):
            yield from _marginals_of_both(real, synthetic, together)
            together, cells = [], 0
            yield _occupied_cells(real, synthetic, clique)
            continue
        if cells + size > _COMPARED_AT_ONCE:
            yield from _marginals_of_both(real, synthetic, together)
            together, cells = [], 0
        together.append(clique)
        cells += size
    yield from _marginals_of_both(real, synthetic, together)


def _marginals_of_both(
    real: Table, synthetic: Table, cliques: Sequence[Clique]
) -> Iterator[tuple[Counts, Counts]]:
    return zip(real.marginals(cliques), synthetic.marginals(cliques), strict=True)


def _occupied_cells(real: Table, synthetic: Table, clique: Sequence[str]) -> tuple[Counts, Counts]:
    """Counts of both tables in the cells that are occupied in either."""
    codes = np.zeros(real.record_count + synthetic.record_count, dtype=np.int64)
    bound = 1
    for name in clique:
        size = real.domain[name].size
        if bound * size > _LARGEST_CODE:
            found, codes = np.unique(codes, return_inverse=True)
            bound = len(found)
        codes = codes * size + np.concatenate([real.column(name), synthetic.column(name)])
        bound *= size
    found, places = np.unique(codes, return_inverse=True)
    return (
        count_cells(places[: real.record_count], len(found), real.weights),
        count_cells(places[real.record_count :], len(found), synthetic.weights),
    )
