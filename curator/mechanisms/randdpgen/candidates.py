"""The candidates of RandDPGen, what noisy marginals say of each, and which of them a model has room for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer
from ...pgm.junction_tree import TreeGrowth
from ...pgm.model import MarkovRandomField
from ..parts.bounds import WeightedAverage


class Candidates:
    """Marginals that may be selected.

    Args:
        domain: of the whole table.
        workload: that gives them their weights.
        cliques: of them, each one of the workload's.

    Attributes:
        cliques: of them.
        weights: shape (candidates,): the overlap weights of the workload.
        cells: shape (candidates,).
        averages: of each, all noisy marginals that contain it (Theorem 5.2).
    """

    def __init__(self, domain: Domain, workload: Workload, cliques: Sequence[Clique]) -> None:
        self._domain = domain
        self.cliques = list(cliques)
        weights = dict(zip(workload.cliques, workload.overlap_weights(), strict=True))
        self.weights = np.array([weights[clique] for clique in self.cliques])
        self.cells = np.array([domain.cells(clique) for clique in self.cliques], dtype=float)
        nothing = WeightedAverage(np.zeros(1), math.inf, True)
        self.averages = [nothing] * len(self.cliques)
        self._having: dict[str, list[int]] = {name: [] for name in domain}
        for i, clique in enumerate(self.cliques):
            for name in clique:
                self._having[name].append(i)

    @property
    def known(self) -> dict[Clique, WeightedAverage]:
        """The averages by cliques."""
        return dict(zip(self.cliques, self.averages, strict=True))

    @property
    def sigmas(self) -> NDArray[np.float64]:
        """Standard deviations of a cell of the averages, shape (candidates,)."""
        return np.array([average.sigma for average in self.averages])

    def learn(self, measurements: Iterable[Measurement]) -> None:
        """Averages measurements into the candidates that they contain."""
        for measurement in measurements:
            for i in self._inside(measurement.clique):
                average = self.averages[i]
                self.averages[i] = average.with_measurement(self._domain, self.cliques[i], measurement)

    def expected_sigmas(self, measurer: Measurer, rho: Fraction) -> NDArray[np.float64]:
        """Standard deviations of a cell of each candidate if it alone is measured at this cost."""
        return np.array([measurer.expected_sigma(clique, rho) for clique in self.cliques])

    def distances(self, model: MarkovRandomField) -> NDArray[np.float64]:
        """L1 distances between averages and model; minus infinity where it cannot give the marginal."""
        found = model.l1_distances(self.cliques, [average.values for average in self.averages])
        return np.array([-math.inf if distance is None else distance for distance in found])

    def first_that_fits(
        self,
        scores: NDArray[np.float64],
        least: float,
        model: MarkovRandomField,
        measured: Sequence[Clique],
        limit_mb: float,
    ) -> int | None:
        """The candidate of the largest score that the model has room for, inside one of its cliques or not.

        Args:
            scores: shape (candidates,).
            least: only larger scores count.
            model: of now.
            measured: what the model is made of.
            limit_mb: that it may grow to.

        Returns:
            Its place; None where there is none.
        """
        promising = [int(index) for index in np.argsort(-scores) if scores[index] > least]
        cliques = [self.cliques[index] for index in promising]
        inside = (k for k, clique in enumerate(cliques) if model.tree.home(clique) is not None)
        held = next(inside, len(cliques))
        place = TreeGrowth(self._domain, measured).first_within(cliques[:held], limit_mb)
        place = held if place is None else place
        return promising[place] if place < len(promising) else None

    def _inside(self, clique: Clique) -> list[int]:
        """The candidates that a clique contains, by counting how many of its attributes each has."""
        common = Counter(i for name in clique for i in self._having[name])
        return [i for i, attributes in common.items() if attributes == len(self.cliques[i])]
