"""RandDPGen with scores: in each round scores all candidates, selects several and measures them.

The cost of a score does not depend on the number of cells (`Measurer.score`), so all candidates are scored
again in each of a few rounds, and only marginals that are worth it are measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ....common.data.domain import Clique
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.errors import DataError
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer
from ...pgm.structure.junction_tree import TreeGrowth
from ..parts.allocation import EXPECTED_L1, check_smallest, measure_split
from ..parts.fitted import FittedModel, Report
from ..parts.run import ScoredRounds
from ..parts.schedule import Schedule
from ..parts.scoring import measurable_cliques
from ..parts.steps import Asks, PublicFacts, Step, by_name, one_way_step

ROUNDS = 4
SCORES = 0.03
"""Share of the budget for all scores: those of each round and those of the last model."""

ROUND = 0.03
"""Share of the budget for the measurements of one round; the rest is for the last round."""


def steps_by_scores(facts: PublicFacts, cliques: Sequence[Clique], one_way: Fraction) -> tuple[Step, ...]:
    """The steps of a run that selects by scores.

    Args:
        facts: public facts of the release.
        cliques: candidates.
        one_way: share of the budget for one-way marginals.

    Raises:
        DataError: `one_way` is too large.
    """
    first = one_way_step(facts.domain, one_way)
    may = tuple(measurable_cliques(facts, cliques))
    scores, rounds = Fraction(SCORES), ROUNDS * Fraction(ROUND)
    left = 1 - one_way - scores - rounds
    if left <= 0:
        raise DataError("one_way leaves no budget for scores, rounds and the last round; lower it")
    at_once = Schedule(ROUNDS, math.inf).most(ROUNDS, len(may))
    again = tuple(dict.fromkeys([*first.cliques, *may]))
    title = "Selected marginals in each round"
    return (
        first,
        Step("scores", "Scores of candidates in each round", Asks.SCORES, scores, may, times=ROUNDS + 1),
        Step("round", title, Asks.MARGINALS, rounds, may, times=ROUNDS, at_once=max(1, at_once)),
        Step(
            "last round", "All marginals of the model once more", Asks.MARGINALS, left, again, first.cliques
        ),
    )


class ScoredRun(ScoredRounds):
    """One run.

    Args:
        measurer: a measurer with `scores_exactly`.
        workload: candidates.
        steps: result of `steps_by_scores`.
        max_model_mb: limit of the model's size; grows to this with the rounds.
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
        weights = dict(zip(workload.cliques, workload.overlap_weights(), strict=True))
        candidates = {clique: weights[clique] for clique in by_name(steps)["scores"].cliques}
        super().__init__(measurer, steps, candidates, max_model_mb, report)
        self._price = {c: self._price_of(c) for c in self._weights}

    def run(self) -> FittedModel:
        """Spends the whole grant.

        Raises:
            ModelError: the smallest candidate makes too large a model; nothing has been measured.
        """
        check_smallest(self._domain, list(self._weights), self._schedule.max_model_mb)
        return super().run()

    def _round(self, number: int) -> list[Measurement]:
        most = self._schedule.most(number, len(self._weights))
        chosen = self._select(most, self._schedule.limit_mb(number))
        if not chosen:
            return []
        cells = [self._domain.cells(clique) for clique in chosen]
        return measure_split(self._measurer, chosen, cells, self._budget("round"), "round")

    def _select(self, most: int, limit_mb: float) -> list[Clique]:
        """Greedy selection of the candidates with the largest gains that keep the model small enough.

        The gain of a candidate is its weight times the difference of its noisy distance, at most that of two
        tables, and the noise that it would have if `allocate` split the remaining budget over it and the
        marginals measured so far.
        """
        measured = self._measured_cliques()
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
            # A candidate that makes the model too large now still does after others are added.
            weights[promising[: place + 1]] = 0.0
        return chosen

    def _price_of(self, clique: Clique) -> float:
        """Variance of a cell times the cost, in counts^2 rho."""
        granted = self._measurer.granted
        return self._measurer.expected_sigma(View(clique), granted) ** 2 * float(granted)
