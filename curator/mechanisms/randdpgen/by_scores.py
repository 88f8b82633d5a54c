"""RandDPGen where the measurer gives exact distances with noise: score all, select many, measure, repeat.

A score costs what it costs whatever the number of cells (`Measurer.score`), so all candidates are scored
anew in each of a few rounds, and no budget goes to marginals that are not worth it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ....common.data.domain import Clique
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer
from ...pgm.estimation import estimate
from ...pgm.junction_tree import TreeGrowth
from ...pgm.model import MarkovRandomField
from ..independent import one_way_marginals
from ..parts.allocation import EXPECTED_L1, check_smallest, measure_split
from ..parts.bounds import ScoredDistance, error_bounds, weighted_average
from ..parts.fitted import FittedModel, Progress, Report, Round
from ..parts.scoring import DRAFT, FINAL, SELECTED_BY, measurable_cliques, rounds_of, score_against

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
        self._price = {c: self._price_of(c) for c in self._weights}
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
        """The candidates that promise most, one after the other, as long as the model stays small enough.

        What a further one promises is its noisy distance, no further than two tables can be apart, less the
        noise that it would be left with if all that remains were split over it and what is measured already
        (by `allocate`); weighted.
        """
        measured = self._measured()
        without = set(measured)
        cliques = [clique for clique in self._scored if clique not in without]
        distances = np.array([self._scored[clique].distance for clique in cliques])
        distances = np.minimum(distances, 2 * self._measurer.record_count)
        cells = np.array([self._domain.cells(clique) for clique in cliques], dtype=float)
        sizes = cells ** (2 / 3)
        weights, price = (np.array([of[clique] for clique in cliques]) for of in (self._weights, self._price))
        remaining = float(self._measurer.accountant.remaining)
        shared = sum(self._domain.cells(clique) ** (2 / 3) for clique in measured)
        chosen: list[Clique] = []
        while len(chosen) < most:
            parts = remaining * sizes / (shared + sizes)
            gains = weights * (distances - EXPECTED_L1 * np.sqrt(price / parts) * cells)
            promising = [int(i) for i in np.argsort(-gains, kind="stable") if gains[i] > 0]
            growth = TreeGrowth(self._domain, [*measured, *chosen])
            place = growth.first_within([cliques[i] for i in promising], limit_mb)
            if place is None:
                break
            chosen.append(cliques[promising[place]])
            shared += sizes[promising[place]]
            # A model that is too large with a candidate is no smaller once others are in it.
            weights[promising[: place + 1]] = 0.0
        return chosen

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

    def _price_of(self, clique: Clique) -> float:
        """Variance of a cell times what it costs."""
        return self._measurer.expected_sigma(clique, self._granted) ** 2 * float(self._granted)

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
