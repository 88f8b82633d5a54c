"""Distances between a table's marginals and those of what was selected, and how far one record moves them."""

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
"""L1 between the shares of cells; largest difference of cumulative shares, in row-major order; L2."""


@dataclass(frozen=True, eq=False)
class Reference:
    """What selected records are to look like.

    Attributes:
        cliques: the marginals.
        weights: of the cliques, shape (cliques,), adding up to 1.
        shares: of the records that each cell should have, all cliques one after the other.
        offsets: where each clique's cells begin in `shares`, and their end; shape (cliques + 1,).
    """

    cliques: tuple[Clique, ...]
    weights: NDArray[np.float64]
    shares: NDArray[np.float64]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.cliques) or not np.isclose(self.weights.sum(), 1):
            raise ValueError("expected one weight for each marginal, and that they add up to 1")
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
        """The marginals of a table: private, so that each look at them is paid for."""
        return cls.of(cliques, weights, [table.marginal(c) / table.record_count for c in cliques])

    def cells(self, table: Table) -> NDArray[np.int32]:
        """The cell of each clique that each row counts in: its place in `shares`, shape (rows, cliques)."""
        found = np.empty((table.record_count, len(self.cliques)), dtype=np.int32)
        for place, clique in enumerate(self.cliques):
            found[:, place] = table.cell_codes(clique, 0, table.record_count) + self.offsets[place]
        return found


def sensitivity(records: int) -> float:
    """How far one record moves a weighted distance between a table's marginals and public ones.

    A record that counts nowhere takes 1 / records from one cell's share of each marginal, the number of
    records being public. So the L1 and the L2 distance change by at most that, by the triangle inequality,
    and so does each cumulative share and with them their largest difference. Weights add up to 1.

    Source: DP-Select, Lemma 3, which has 2 / (records + 1) for a table that gains a record: see
        `paper_sensitivity`.

    Args:
        records: that the shares are of.
    """
    return 1 / records


def paper_sensitivity(records: int) -> float:
    """Lemma 3: every share changes too where the number of records does."""
    return 2 / (records + 1)


def distance(kind: Distance, reference: Reference, counts: NDArray[np.integer], selected: int) -> float:
    """The weighted distance, computed from scratch.

    Args:
        kind: which.
        reference: what records are to look like.
        counts: selected records in each cell, shape as `reference.shares`.
        selected: how many records were selected.
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
