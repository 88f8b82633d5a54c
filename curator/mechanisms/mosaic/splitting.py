"""The budget split over the interactions of a run: for its workload, and for what it found beyond it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.interactions import freedom
from ....common.data.view import View
from ....common.data.workload import Workload
from ...measurers.measurer import Measurer
from ..parts.allocation import EXPECTED_L1
from ..parts.steps import measurable_as_interaction
from .budget_split import SplitProblem, interactions_of
from .knowledge import Knowledge, parts_of
from .larger import Larger
from .views import CLASSES, classes_of

Array = NDArray[np.float64]

_LEFT = 0.7
"""Share of the noise's variance of an interaction that remains after all marginals are fitted together."""

TOLERATED = 0.01
"""Share by which larger interactions may raise the predicted error of the workload,"""
_DOMINANT, _FOR_DOMINANT = 0.25, 0.4
"""or the second of these times what the largest one exceeds the first by, as a share of the records: what a
table mostly consists of is worth more."""

_OF_SAMPLING = 0.025
"""This share of the sampling error of as many records is tolerated in any case."""

_WEIGHTS = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)
"""Weights of a larger interaction beside the workload's marginals; the first that is tolerated counts."""


class Splitting:
    """Builds and solves split problems of a run.

    Args:
        measurer: knows the noise and the budget that is left.
        known: knows interactions of the workload.
        larger: knows larger interactions.
        workload: marginals to preserve, with weights.
    """

    def __init__(self, measurer: Measurer, known: Knowledge, larger: Larger, workload: Workload) -> None:
        self._measurer = measurer
        self._known = known
        self._larger = larger
        self._workload = workload

    def parts_and_gains(self, cliques: Sequence[Clique], total: float) -> tuple[Array, Array]:
        """The split of a budget over these interactions, and the gain of each if it is in the model."""
        return self._problem(cliques).split(total)

    def gains(self, cliques: Sequence[Clique], total: float, more: Sequence[Clique] = ()) -> Array:
        """The gain of each of these interactions, then of `more`, if it is in the model."""
        return self._problem(cliques, more, _WEIGHTS[0]).split(total)[1]

    def shares_left(self, cliques: Sequence[Clique], parts: Array) -> dict[Clique, float]:
        """The predicted error of each of these interactions if it gets its part, as a share of its size."""
        problem = self._problem(cliques)
        return dict(zip(cliques, (problem.errors(parts) / problem.sizes()).tolist(), strict=True))

    def split(
        self, cliques: Sequence[Clique], total: float, more: Sequence[Clique] = ()
    ) -> tuple[Array, bool]:
        """The split of a budget over interactions of the workload and `more`.

        Args:
            cliques: interactions of the workload.
            total: budget, zCDP; positive.
            more: larger interactions. Each counts as a marginal of its own, as far as this raises the
                workload's predicted error by little (`TOLERATED`).

        Returns:
            The parts of `cliques`, then of `more`; and whether `more` has a part.
        """
        alone = self._problem(cliques)
        parts, _ = alone.split(total)
        largest = max((self._larger.size(clique) for clique in more), default=0.0)
        exceeds = largest / self._measurer.record_count - _DOMINANT
        tolerated = max(TOLERATED, _FOR_DOMINANT * exceeds)
        error = alone.error(parts)
        limit = max((1 + tolerated) * error, error + _OF_SAMPLING * self._sampling())
        for weight in _WEIGHTS if more else ():
            both, _ = self._problem(cliques, more, weight).split(total)
            if alone.error(both[: len(cliques)]) <= limit:
                return both, True
        return np.append(parts, np.zeros(len(more))), False

    def _sampling(self) -> float:
        """Sampling error of the workload, as `error` counts it, if attributes were independent."""
        roots = {name: float(np.sqrt(shares).sum()) for name, shares in self._known.shares().items()}
        pairs = zip(self._workload.cliques, self._workload.weights, strict=True)
        cells = sum(weight * math.prod(roots.get(name, 1.0) for name in clique) for clique, weight in pairs)
        return EXPECTED_L1 * math.sqrt(self._measurer.record_count) * cells

    def _problem(
        self, cliques: Sequence[Clique], more: Sequence[Clique] = (), weight: float = 0.0
    ) -> SplitProblem:
        records = self._measurer.record_count
        every = [*cliques, *more]
        deviations, cells = np.zeros((len(every), CLASSES)), np.zeros((len(every), CLASSES))
        precision, price = np.zeros(len(every)), np.zeros(len(every))
        probe = self._measurer.accountant.remaining / len(every)
        for i, clique in enumerate(every):
            groups = self._larger.groups[clique] if clique in self._larger.effects else ()
            shape = self._known.domain.shape(clique)
            if len(clique) == 1:
                deviations[i], cells[i] = classes_of(self._known.levels(clique))
                precision[i] = self._known.precision(clique)
            else:
                effect = self._larger.effect(clique)
                shape = effect.shape
                deviations[i], cells[i] = effect.deviation_classes(records)
                precision[i] = 0.0 if effect.observed is None else 1 / effect.observed.variance
            alone = measurable_as_interaction(shape)
            sigma = self._measurer.expected_sigma(View(clique, groups=groups, interaction=alone), probe)
            left = _LEFT if len(clique) > 1 else 1.0
            price[i] = left * sigma**2 * freedom(shape) * float(probe)
        place = {clique: i for i, clique in enumerate(every)}
        marginals = [
            [place[part] for part in parts_of(clique) if part in place] for clique in self._workload.cliques
        ]
        marginals += [[place[clique]] for clique in more]
        weights = np.append(self._workload.weights, np.full(len(more), weight))
        return SplitProblem(deviations, cells, precision, price, interactions_of(marginals), weights)
