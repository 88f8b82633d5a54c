"""Distances between a marginal of the real table and of the synthetic one: not for publication."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.data.compared import counted_in_both
from ...common.data.domain import Clique
from ...common.data.table import Table, check_comparable

Counts = NDArray[np.int64]


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


def marginal_distances(real: Table, synthetic: Table, cliques: Sequence[Clique]) -> list[Distance]:
    """The distance of each marginal; a clique may have any number of cells, as only occupied ones count.

    Source: RandDPGen, section 3.1. The paper does not say over which cells its KL is taken; over the full
    domain it is infinite for every synthetic table that misses a real record. Here it is taken per marginal,
    with half a record added to every cell of the synthetic marginal.
    """
    return [
        _distance(clique, counts, real, synthetic)
        for clique, counts in zip(cliques, counted_in_both(real, synthetic, cliques), strict=True)
    ]


def marginal_distance(real: Table, synthetic: Table, clique: Clique) -> Distance:
    """The distance of one marginal; see `marginal_distances`."""
    (distance,) = marginal_distances(real, synthetic, [clique])
    return distance


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


def _distances(real: Table, synthetic: Table, k: int) -> list[Distance]:
    check_comparable(real, synthetic)
    return marginal_distances(real, synthetic, list(itertools.combinations(real.domain.names, k)))


def _distance(clique: Clique, counts: tuple[Counts, Counts], real: Table, synthetic: Table) -> Distance:
    p = counts[0] / real.total
    q = counts[1] / synthetic.total
    cells = real.domain.cells(clique)
    smoothed = (counts[1] + 0.5) / (synthetic.total + 0.5 * cells)
    held = p > 0
    return Distance(
        clique,
        total_variation=float(np.abs(p - q).sum() / 2),
        kl=float((p[held] * np.log(p[held] / smoothed[held])).sum()),
    )
