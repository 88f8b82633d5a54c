"""Distances between the marginals of a table and of selected records, and their sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.table import Table

Distance = Literal["density", "kolmogorov", "l2"]
DISTANCES: tuple[Distance, ...] = ("density", "kolmogorov", "l2")
"""L1 distance of shares; largest difference of cumulative shares, in row-major order; L2 distance."""


@dataclass(frozen=True, eq=False)
class Reference:
    """The marginals that selected records are compared with.

    Attributes:
        cliques: the marginals.
        weights: weights of the cliques, with sum 1, shape (cliques,).
        shares: share of the records in each cell, all cliques concatenated.
        offsets: start of each clique's cells in `shares`, and the end; shape (cliques + 1,).
    """

    cliques: tuple[Clique, ...]
    weights: NDArray[np.float64]
    shares: NDArray[np.float64]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.cliques) or not np.isclose(self.weights.sum(), 1):
            raise ValueError("expected one weight for each marginal, with sum 1")
        if len(self.shares) != self.offsets[-1] or len(self.offsets) != len(self.cliques) + 1:
            raise ValueError("expected a share for each cell of each marginal")

    @classmethod
    def of(
        cls,
        cliques: Sequence[Clique],
        weights: NDArray[np.float64],
        shares: Sequence[NDArray[np.float64]],
    ) -> Reference:
        """A reference from the shares of each clique's cells."""
        offsets = np.cumsum([0, *(part.size for part in shares)], dtype=np.int64)
        return cls(tuple(cliques), weights / weights.sum(), np.concatenate(shares), offsets)

    @classmethod
    def exact(cls, table: Table, cliques: Sequence[Clique], weights: NDArray[np.float64]) -> Reference:
        """The exact marginals of a table: private, so that each use must be charged."""
        return cls.of(cliques, weights, [table.marginal(c) / table.record_count for c in cliques])

    def cells(self, table: Table) -> NDArray[np.int32]:
        """For each row and clique, the index into `shares` of the row's cell; shape (rows, cliques)."""
        found = np.empty((table.record_count, len(self.cliques)), dtype=np.int32)
        for place, clique in enumerate(self.cliques):
            found[:, place] = table.cell_codes(clique, 0, table.record_count) + self.offsets[place]
        return found


def sensitivity(records: int) -> float:
    """Sensitivity of a weighted distance between a table's marginals and public ones.

    Zeroing out a record lowers one cell's share of each marginal by 1 / records, because the number of
    records is public. By the triangle inequality, the L1 and L2 distances change by at most that; so do each
    cumulative share and their largest difference. Weights have sum 1.

    Source: DP-Select, Lemma 3, which has 2 / (records + 1) for adding a record: see `paper_sensitivity`.

    Args:
        records: number of records of the table.
    """
    return 1 / records


def paper_sensitivity(records: int) -> float:
    """Lemma 3: adding a record also changes the denominator of every share."""
    return 2 / (records + 1)


def distance(kind: Distance, reference: Reference, counts: NDArray[np.integer], selected: int) -> float:
    """The weighted distance, computed directly.

    Args:
        kind: kind of distance.
        reference: marginals to compare with.
        counts: number of selected records in each cell, shape of `reference.shares`.
        selected: number of selected records.
    """
    total = 0.0
    for place, weight in enumerate(reference.weights):
        part = slice(reference.offsets[place], reference.offsets[place + 1])
        difference = reference.shares[part] - counts[part] / selected
        if kind == "density":
            total += weight * np.abs(difference).sum()
        elif kind == "l2":
            total += weight * np.sqrt((difference**2).sum())
        else:
            total += weight * np.abs(np.cumsum(difference)).max()
    return float(total)
