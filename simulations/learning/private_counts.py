"""Noisy counts of one table's rows: each is charged before its noise is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.boxes import box_sums
from ...common.data.domain import Clique
from ...common.measurement import Measurement
from ...common.privacy.budget import Accountant, Charge
from ...common.privacy.cost import PrivacyUnit, gaussian_cost, gaussian_sigma, grid_of
from ...common.privacy.noise import noisy_counts
from ...common.privacy.partition_selection import threshold
from ...curator.mechanisms.bins import LEVELS, boxes_of
from ..stopping import count_spending

Count = Callable[[], NDArray[np.int64]]
"""Counts rows; called after its charge."""

_GRAIN = 2**80

_FEW, _SOME = 32, 256
"""So few cells are counted at one resolution, in any case and where few of them hold nearly all rows."""


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy counts of disjoint sets of rows.

    Attributes:
        values: shape (sets,), in records.
        sigma: standard deviation of the noise of each.
    """

    values: NDArray[np.float64]
    sigma: float

    def kept(self, deviations: float) -> NDArray[np.float64]:
        """The counts that exceed so many deviations of their noise; zero in place of the others."""
        return np.where(self.values > deviations * self.sigma, self.values, 0.0)


class PrivateCounts:
    """Counts rows of one table with discrete Gaussian noise, within one grant.

    Each row lies in one set of a histogram, so a histogram has the sensitivity of a marginal.

    Guarantee: the accountant's spent rho-zCDP under the adjacency of the unit.

    Args:
        granted: upper limit of all costs, zCDP.
        unit: which tables are neighbours.
        stream: randomness of the noise.
    """

    def __init__(self, granted: Fraction, unit: PrivacyUnit, stream: RandomStream) -> None:
        self.accountant = Accountant(granted)
        count_spending(self, 1.0)
        self._unit = unit
        self._stream = stream
        self._asked = 0

    @property
    def left(self) -> float:
        """What is left of the grant, zCDP."""
        return float(self.accountant.remaining)

    def total(self, step: str, rows: int, rho: float) -> tuple[float, float]:
        """The noisy number of rows, and the variance of its noise.

        Args:
            step: what it is for, in the certificate.
            rows: the number.
            rho: its cost, zCDP.
        """
        sigma = self._charged(step, [()], rho)
        return float(self._noised(np.array([rows]), sigma)[0]), sigma**2

    def histograms(self, step: str, asked: Mapping[str, Count], rho: float) -> dict[str, Noisy]:
        """One noisy histogram of each column.

        Args:
            step: what they are for, in the certificate.
            asked: for each column, what counts its rows.
            rho: cost of each, zCDP.
        """
        sigma = self._charged(step, [(name,) for name in asked], rho)
        return {name: Noisy(self._noised(count(), sigma), sigma) for name, count in asked.items()}

    def ladders(
        self, step: str, asked: Mapping[str, tuple[int, Count]], rho: float, single: Collection[str] = ()
    ) -> dict[str, list[Measurement]]:
        """Noisy histograms of each column at several resolutions, of neighbouring cells; see `Bins`.

        Few cells are counted at one resolution, with less noise.

        Args:
            step: what they are for, in the certificate.
            asked: for each column its number of cells, and what counts the rows of each.
            rho: cost of all resolutions of a column together, zCDP.
            single: columns of which few cells hold nearly all rows, which are counted so too.
        """
        levels = {
            name: 1 if cells <= _FEW or (name in single and cells <= _SOME) else LEVELS
            for name, (cells, _) in asked.items()
        }
        sigmas = {name: self._charged(step, [(name,)] * n, rho / n) for name, n in levels.items()}
        found: dict[str, list[Measurement]] = {}
        for name, (_, count) in asked.items():
            counts, sigma, each = count(), sigmas[name], rho / levels[name]
            found[name] = []
            for level in range(levels[name]):
                boxes = boxes_of(len(counts), level)
                sums = box_sums(counts, (len(counts),), boxes) if boxes else counts
                found[name].append(Measurement((name,), self._noised(sums, sigma), sigma, each, boxes=boxes))
        return found

    def frequent(
        self, step: str, name: str, count: Count, rho: float, delta: float
    ) -> tuple[NDArray[np.intp], Noisy]:
        """The values of a column that many rows have, and their noisy counts, by partition selection.

        Args:
            step: what it is for, in the certificate.
            name: the column.
            count: rows of each value that occurs, at least 1, in an order that follows from the values.
            rho: its cost, zCDP.
            delta: probability with which a value that one row alone has may be found.

        Returns:
            Places among the values, and the noisy counts of these.
        """
        sigma = self._charged(step, [(name,)], rho, labels=True)
        least = threshold(sigma, delta) / grid_of(sigma)
        noisy = self._noised(count(), sigma)
        places = np.flatnonzero(noisy >= least)
        return places, Noisy(noisy[places], sigma)

    def _charged(self, step: str, cliques: Sequence[Clique], rho: float, labels: bool = False) -> float:
        """Charges a histogram of each of these; the scale of their noise, in records."""
        sigma = gaussian_sigma(Fraction(math.floor(rho * _GRAIN), _GRAIN), self._unit)
        cost = gaussian_cost(sigma, self._unit)
        charges = (Charge(step, clique, cost, ((sigma,),), labels=labels) for clique in cliques)
        self.accountant = self.accountant.charge(*charges)
        return sigma

    def _noised(self, counts: NDArray[np.int64], sigma: float) -> NDArray[np.float64]:
        self._asked += 1
        noisy = noisy_counts(counts.astype(np.int64), sigma, self._stream.child(str(self._asked)))
        return noisy / grid_of(sigma)
