"""Distances between a marginal of the real table and of the synthetic one: not for publication."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Clique
from ...common.data.table import Table
from ...common.errors import DataError

_LARGEST_CODE = 2**62

_COUNTED_CELLS = 16
"""Up to so many cells for each record, counting all of them is faster than sorting the records."""

Counts = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Distance:
    """How far a synthetic marginal is from the real one.

    Attributes:
        clique: attributes of the marginal.
        total_variation: half the L1 distance of the shares of records, in 0..1.
        kl: Kullback-Leibler divergence KL(real || synthetic), in nats.
    """

    clique: Clique
    total_variation: float
    kl: float


def marginal_distance(real: Table, synthetic: Table, clique: Clique) -> Distance:
    """The distance of one marginal; a clique may have any number of cells, as only occupied ones are counted.

    Source: RandDPGen, section 3.1. The paper does not say over which cells its KL is taken; over the full
    domain it is infinite for every synthetic table that misses a real record. Here it is taken per marginal,
    with half a record added to every cell of the synthetic marginal.
    """
    cells = real.domain.cells(clique)
    if cells <= real.record_count + synthetic.record_count:
        counts: tuple[Counts, Counts] = real.marginal(clique), synthetic.marginal(clique)
    else:
        counts = _occupied(real, synthetic, clique)
    p = counts[0] / real.record_count
    q = counts[1] / synthetic.record_count
    smoothed = (counts[1] + 0.5) / (synthetic.record_count + 0.5 * cells)
    held = p > 0
    return Distance(
        clique,
        total_variation=float(np.abs(p - q).sum() / 2),
        kl=float((p[held] * np.log(p[held] / smoothed[held])).sum()),
    )


def attribute_distances(real: Table, synthetic: Table) -> list[Distance]:
    """The distance of every attribute.

    Raises:
        DataError: the tables have different domains, or one has no record.
    """
    return _distances(real, synthetic, 1)


def pair_distances(real: Table, synthetic: Table) -> list[Distance]:
    """The distance of every pair of attributes.

    Raises:
        DataError: the tables have different domains, or one has no record.
    """
    return _distances(real, synthetic, 2)


def worst(distances: Sequence[Distance], count: int) -> list[Distance]:
    """The largest distances, the largest first."""
    return sorted(distances, key=lambda distance: -distance.total_variation)[:count]


def check_comparable(real: Table, synthetic: Table) -> None:
    """Refuses tables that cannot be compared.

    Raises:
        DataError: the tables have different domains, or one has no record.
    """
    if real.domain != synthetic.domain:
        raise DataError("the two tables have different domains; encode both with the same one")
    if not (real.record_count and synthetic.record_count):
        raise DataError("an empty table cannot be compared; give both tables records")


def _distances(real: Table, synthetic: Table, k: int) -> list[Distance]:
    check_comparable(real, synthetic)
    return [marginal_distance(real, synthetic, c) for c in itertools.combinations(real.domain.names, k)]


def _occupied(real: Table, synthetic: Table, clique: Sequence[str]) -> tuple[Counts, Counts]:
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
    if bound > _COUNTED_CELLS * len(codes):
        found, codes = np.unique(codes, return_inverse=True)
        bound = len(found)
    counts = [np.bincount(c, minlength=bound) for c in np.split(codes, [real.record_count])]
    occupied = np.flatnonzero(counts[0] + counts[1])
    return counts[0][occupied], counts[1][occupied]
