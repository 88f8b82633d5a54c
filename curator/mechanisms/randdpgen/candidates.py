"""The candidates of RandDPGen: their estimates from noisy marginals, and which fit into a model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer
from ...pgm.model import MarkovRandomField
from ...pgm.structure.junction_tree import TreeGrowth
from ..parts.bounds import WeightedAverage


class Candidates:
    """Marginals that may be selected.

    Args:
        domain: domain of the whole table.
        workload: workload with their weights.
        cliques: cliques of the candidates, all in the workload.

    Attributes:
        cliques: cliques of the candidates.
        weights: overlap weights of the workload, shape (candidates,).
        cells: numbers of cells, shape (candidates,).
        averages: for each candidate, the average of all noisy marginals that contain it (Theorem 5.2).
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
    def averages_by_clique(self) -> dict[Clique, WeightedAverage]:
        """The averages by clique."""
        return dict(zip(self.cliques, self.averages, strict=True))

    @property
    def sigmas(self) -> NDArray[np.float64]:
        """Standard deviations of a cell of the averages, shape (candidates,)."""
        return np.array([average.sigma for average in self.averages])

    def learn(self, measurements: Iterable[Measurement]) -> None:
        """Adds measurements to the averages of the candidates that they contain."""
        for measurement in measurements:
            for i in self._inside(measurement.clique):
                average = self.averages[i]
                self.averages[i] = average.with_measurement(self._domain, self.cliques[i], measurement)

    def expected_sigmas(self, measurer: Measurer, rho: Fraction) -> NDArray[np.float64]:
        """Standard deviations of a cell of each candidate if only this is measured, at this cost."""
        return np.array([measurer.expected_sigma(View(clique), rho) for clique in self.cliques])

    def distances(self, model: MarkovRandomField) -> NDArray[np.float64]:
        """L1 distances between averages and model; minus infinity if it cannot compute the marginal."""
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
        """The candidate with the largest score that fits into the model, inside one of its cliques or not.

        Args:
            scores: scores, shape (candidates,).
            least: candidates with at most this score are ignored.
            model: the current model.
            measured: cliques of the model's measurements.
            limit_mb: limit of the model's size, in MiB.

        Returns:
            Its index; None if there is none.
        """
        promising = [int(index) for index in np.argsort(-scores) if scores[index] > least]
        cliques = [self.cliques[index] for index in promising]
        inside = (k for k, clique in enumerate(cliques) if model.tree.home(clique) is not None)
        held = next(inside, len(cliques))
        place = TreeGrowth(self._domain, measured).first_within(cliques[:held], limit_mb)
        place = held if place is None else place
        return promising[place] if place < len(promising) else None

    def _inside(self, clique: Clique) -> list[int]:
        """Indices of the candidates that a clique contains, from the number of attributes in common."""
        common = Counter(i for name in clique for i in self._having[name])
        return [i for i, attributes in common.items() if attributes == len(self.cliques[i])]
