"""The rounds of Algorithm 2, shared by RandDPGen's paper variant and its default without scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer, Query
from ...pgm.model import MarkovRandomField
from ..parts.allocation import check_smallest, measure_step
from ..parts.bounds import error_bounds
from ..parts.ending import ended
from ..parts.fitted import FittedModel, Report
from ..parts.run import Run
from ..parts.scoring import round_of
from ..parts.steps import Asks, Step
from .candidates import Candidates


def candidates_step(cliques: Sequence[Clique], share: Fraction, by_cells: bool) -> Step:
    """Lines 3 and 4: noisy marginals of all candidates, for the selection.

    Args:
        cliques: candidates.
        share: share of the budget.
        by_cells: split the budget by number of cells, not by number of attributes.
    """
    may = tuple(cliques)
    sizes = () if by_cells else tuple(float(len(clique)) for clique in may)
    title = "Noisy marginals of all candidates"
    return Step("candidates", title, Asks.MARGINALS, share, may, may, sizes=sizes)


class Algorithm2(Run, ABC):
    """One run.

    Args:
        measurer: answers queries and charges them.
        workload: workload with the weights of the candidates.
        steps: steps of the mechanism.
        max_model_mb: limit of the model's size; grows to this with the budget spent.
        report: called with the progress after every step.
    """

    def __init__(
        self,
        measurer: Measurer,
        workload: Workload,
        steps: tuple[Step, ...],
        max_model_mb: float,
        report: Report,
    ) -> None:
        super().__init__(measurer, steps, report)
        self._max_model_mb = max_model_mb
        self._candidates = Candidates(measurer.domain, workload, self._named["candidates"].cliques)
        self._noisy_candidates: list[Measurement] = []

    def run(self) -> FittedModel:
        """Spends the whole grant.

        Raises:
            ModelError: the smallest candidate makes too large a model; nothing has been measured.
        """
        check_smallest(self._domain, self._candidates.cliques, self._max_model_mb)
        first = self._start()
        model = self._spend_the_rest(self._estimate(first))
        known = self._candidates.averages_by_clique
        selected = [done.clique for done in self._rounds]
        records = self._measurer.record_count
        return ended(
            self._measurer,
            self._steps,
            model,
            (*self._used, *self._noisy_candidates),
            averages=known,
            rounds=self._rounds,
            selection="L1 distances estimated from noisy marginals",
            bounds=error_bounds(
                model, known, selected, records, first=first, candidates=self._noisy_candidates
            ),
        )

    def _start(self) -> MarkovRandomField:
        """Measures all candidates, and returns a model that does not depend on their noise."""
        first = self._estimate(None)
        self._noisy_candidates = measure_step(self._measurer, self._named["candidates"])
        self._candidates.learn(self._noisy_candidates)
        self._tell("candidates")
        return first

    @abstractmethod
    def _spend_the_rest(self, model: MarkovRandomField) -> MarkovRandomField:
        """Lines 6 to 19: rounds until the budget is spent; returns the last model."""

    def _round(
        self, clique: Clique, rho: Fraction, cost: Fraction, before: MarkovRandomField
    ) -> MarkovRandomField:
        """Lines 10 to 16: measure, estimate, and decide whether the next round gets more budget.

        Args:
            clique: clique to measure.
            rho: budget of the measurement, zCDP.
            cost: cost of the whole round, zCDP.
            before: the model before the round.
        """
        (measurement,) = self._measurer.measure([Query(View(clique), rho, self._named["round"].name)])
        self._use([measurement])
        model = self._estimate(before)
        self._rounds.append(round_of(measurement, before, model, cost))
        self._tell("round", clique)
        return model

    def _first_that_fits(
        self, scores: NDArray[np.float64], least: float, model: MarkovRandomField, cost: Fraction
    ) -> int | None:
        """The best candidate that fits into the model after this round's budget is spent."""
        limit = self._max_model_mb * self._spent_share(cost)
        measured = [measurement.clique for measurement in self._used]
        return self._candidates.first_that_fits(scores, least, model, measured, limit)

    def _use(self, measurements: Sequence[Measurement]) -> None:
        """Adds measurements to those of the model."""
        self._used += measurements
        self._candidates.learn(measurements)
