"""Marginals of three attributes to which rows are adjusted: counted in several times as many rows.

Rows that are adjusted to pairs still have sampling error in triples, as much as the real rows have. Several
times as many rows, adjusted to the same marginals, have less; a part of these, adjusted to the triples of all
of them, has little more. It costs a second at most.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ....common.data.table import Table
from .counting import triples_on_cores
from .refinement import Places, work_of

_TIMES_THE_ROWS = 8
"""Triples are counted in so many times the rows of a release, but for `_TRIPLES_ROWS`."""

_LEAST_TIMES_THE_ROWS = 3
_TRIPLES_ROWS = 1 << 18

_TRIPLES_WORK = 1 << 30
"""Triples are left out if a sweep over all rows and triples would read more cells, in about a second."""

_MOST_TRIPLES = 10_000
_CELLS_PER_ROW = 2
"""Triples with more cells for each row are left out: most of their cells are empty anyway."""


def times_as_many(rows: int) -> int:
    """How many times the rows of a release triples are counted in; 1 for none, if that would be too many."""
    times = min(_TIMES_THE_ROWS, _TRIPLES_ROWS // rows)
    return times if times >= _LEAST_TIMES_THE_ROWS else 1


def worthwhile(sizes: Sequence[int], rows: int, without: Collection[Places]) -> list[Places]:
    """The triples to which so many rows are adjusted: all that are small enough, or none.

    Args:
        sizes: numbers of codes of the attributes.
        rows: number of rows of the release.
        without: places of marginals to which rows are adjusted anyway.
    """
    several: list[int] = [place for place, size in enumerate(sizes) if size > 1]
    if times_as_many(rows) == 1 or math.comb(len(several), 3) > _MOST_TRIPLES:
        return []
    triples: list[Places] = [
        places
        for places in itertools.combinations(several, 3)
        if math.prod(sizes[place] for place in places) <= _CELLS_PER_ROW * rows and places not in without
    ]
    work = rows * sum(work_of(sizes, places) for places in triples)
    return triples if work <= _TRIPLES_WORK else []


def count_triples(table: Table, triples: Sequence[Places]) -> dict[Places, NDArray[np.int64]]:
    """The counts of triples, each of shape (n_r,)."""
    names = table.domain.names
    columns = dict(zip(names, table.columns, strict=True))
    sizes = dict(zip(names, table.domain.sizes, strict=True))
    cliques = [(names[one], names[two], names[three]) for one, two, three in triples]
    return dict(zip(triples, triples_on_cores(columns, sizes, cliques), strict=True))
