"""RandDPGen where the measurer gives exact distances with noise: score all, select many, measure, repeat.

A score costs what it costs whatever the number of cells (`Measurer.score`), so all candidates are scored
anew in each of a few rounds, and no budget goes to marginals that are not worth it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ...common.domain import Clique
from ...common.measurement import Measurement
from ...common.workload import Workload
from ..measurers.measurer import Measurer
from ..pgm.estimation import estimate
from ..pgm.junction_tree import TreeGrowth
from ..pgm.model import MarkovRandomField
from .allocation import EXPECTED_L1, check_smallest, measure_split
from .bounds import ScoredDistance, error_bounds, weighted_average
from .distances import DRAFT, FINAL, SELECTED_BY, measurable_cliques, rounds_of, score_against
from .independent import one_way_marginals
from .mechanism import FittedModel, Progress, Report, Round

ROUNDS = 4
SCORES = 0.03
"""Share of the budget for all scores together: those of each round, and those of the last model."""

ROUND = 0.03
"""Share of the budget that measures in one round; what is left at the end measures everything once more."""


class ScoredRun:
    """One run.

    Args:
        measurer: one that scores exactly.
        workload: the candidates.
        one_way: share of the budget for one-way marginals.
        max_model_mb: limit of the model's size; grows to this with the rounds.
        report: called after every step.
    """

    def __init__(
        self,
        measurer: Measurer,
        workload: Workload,
        one_way: float,
        max_model_mb: float,
        report: Report,
    ) -> None:
        self._measurer = measurer
        self._domain = measurer.domain
        self._granted = measurer.accountant.remaining
        weights = dict(zip(workload.cliques, workload.overlap_weights(), strict=True))
        self._weights = {c: weights[c] for c in measurable_cliques(measurer, workload.cliques)}
        self._cells = {clique: self._domain.cells(clique) for clique in self._weights}
        self._one_way = one_way
        self._max_model_mb = max_model_mb
        self._report = report
        self._used: list[Measurement] = []
        self._rounds: list[Round] = []
        self._scored: dict[Clique, ScoredDistance] = {}

    def run(self) -> FittedModel:
        """Spends the whole grant.

        Raises:
            ModelError: the smallest candidate makes too large a model; nothing has been measured.
        """
        check_smallest(self._domain, list(self._weights), self._max_model_mb)
        self._used += one_way_marginals(self._measurer, self._granted * Fraction(self._one_way))
        self._tell("one-way marginals", 0)
        model = self._estimate(None)
        for number in range(1, ROUNDS + 1):
            self._score(model)
            self._tell("scores", number)
            # Twice as many as in the round before: early scores know little of what explains what.
            most = math.ceil(len(self._weights) * 2 ** (number - 1) / (2**ROUNDS - 1))
            chosen = self._select(most, self._max_model_mb * number / ROUNDS)
            if chosen:
                model = self._measure(chosen, model)
                self._tell("round", number)
        model = self._measure_again(model)
        self._tell("last round", ROUNDS)
        self._score(model)
        self._tell("scores", ROUNDS)
        averages = {c: weighted_average(self._domain, c, self._used) for c in self._weights}
        bounds = error_bounds(
            model,
            {clique: average for clique, average in averages.items() if average is not None},
            [done.clique for done in self._rounds],
            self._measurer.record_count,
            scored=self._scored,
        )
        return FittedModel(model, tuple(self._used), tuple(self._rounds), bounds, SELECTED_BY)

    def _score(self, model: MarkovRandomField) -> None:
        """Noisy distances between the table and the model, for every candidate that the model can answer."""
        scored = score_against(self._measurer, model, list(self._weights), self._score_budget())
        self._scored = scored or self._scored

    def _select(self, most: int, limit_mb: float) -> list[Clique]:
        """The candidates that promise most, one after the other, as long as the model stays small enough."""
        chosen: list[Clique] = []
        # A model that is too large with a candidate is no smaller once others are in it.
        too_large: set[Clique] = set()
        while len(chosen) < most:
            measured = [*self._measured(), *chosen]
            gains = self._gains(measured)
            promising = [
                clique
                for clique in sorted(gains, key=lambda clique: -gains[clique])
                if gains[clique] > 0 and clique not in too_large
            ]
            place = TreeGrowth(self._domain, measured).first_within(promising, limit_mb)
            if place is None:
                break
            too_large.update(promising[:place])
            chosen.append(promising[place])
        return chosen

    def _gains(self, measured: Sequence[Clique]) -> dict[Clique, float]:
        """What measuring each further candidate would improve, in records of L1 error, weighted.

        Its noisy distance, no further than two tables can be apart, less the noise that it would be left
        with if all that remains were split over it and what is measured already.
        """
        remaining = float(self._measurer.accountant.remaining)
        shared = sum(self._domain.cells(clique) ** (2 / 3) for clique in measured)
        # Their part by `allocate`, which depends on the cells alone.
        parts = {
            cells: Fraction(remaining * cells ** (2 / 3) / (shared + cells ** (2 / 3)))
            for cells in set(self._cells.values())
        }
        without = set(measured)
        gains = {}
        for clique, scored in self._scored.items():
            if clique in without:
                continue
            cells = self._cells[clique]
            left = EXPECTED_L1 * self._measurer.expected_sigma(clique, parts[cells]) * cells
            distance = min(scored.distance, 2 * self._measurer.record_count)
            gains[clique] = self._weights[clique] * (distance - left)
        return gains

    def _measure(self, chosen: Sequence[Clique], before: MarkovRandomField) -> MarkovRandomField:
        cells = [self._domain.cells(clique) for clique in chosen]
        budget = self._granted * Fraction(ROUND)
        found = measure_split(self._measurer, chosen, cells, budget, "round")
        self._used += found
        model = self._estimate(before)
        self._rounds += rounds_of(found, before, model)
        return model

    def _measure_again(self, model: MarkovRandomField) -> MarkovRandomField:
        """The last round: what is left, but for the last scores, goes to all that the model is made of."""
        measured = self._measured()
        cells = [self._domain.cells(clique) for clique in measured]
        left = self._measurer.accountant.remaining - self._score_budget()
        self._used += measure_split(self._measurer, measured, cells, left, "last round")
        return self._estimate(model, FINAL)

    def _score_budget(self) -> Fraction:
        return self._granted * Fraction(SCORES) / (ROUNDS + 1)

    def _measured(self) -> list[Clique]:
        return list(dict.fromkeys(measurement.clique for measurement in self._used))

    def _estimate(self, warm_start: MarkovRandomField | None, tolerance: float = DRAFT) -> MarkovRandomField:
        total = self._measurer.record_count
        return estimate(self._domain, self._used, total=total, warm_start=warm_start, tolerance=tolerance)

    def _tell(self, step: str, number: int) -> None:
        spent = self._measurer.accountant.spent_share
        self._report(Progress(step, (), number, spent))
