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
from ...pgm.fitting.estimation import estimate
from ...pgm.model import MarkovRandomField
from ...pgm.structure.junction_tree import TreeGrowth
from ..parts.allocation import EXPECTED_L1, check_smallest, measure_split, measure_step
from ..parts.bounds import ScoredDistance
from ..parts.ending import averages_of, ended
from ..parts.fitted import FittedModel, Progress, Report, Round
from ..parts.schedule import Schedule
from ..parts.scoring import DRAFT, FINAL, SELECTED_BY, measurable_cliques, rounds_of, score_against
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


class ScoredRun:
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
        self._measurer = measurer
        self._domain = measurer.domain
        self._steps = steps
        self._named = by_name(steps)
        weights = dict(zip(workload.cliques, workload.overlap_weights(), strict=True))
        self._weights = {c: weights[c] for c in self._named["scores"].cliques}
        self._price = {c: self._price_of(c) for c in self._weights}
        self._schedule = Schedule(self._named["round"].times, max_model_mb)
        self._report = report
        self._used: list[Measurement] = []
        self._rounds: list[Round] = []
        self._scored: dict[Clique, ScoredDistance] = {}

    def run(self) -> FittedModel:
        """Spends the whole grant.

        Raises:
            ModelError: the smallest candidate makes too large a model; nothing has been measured.
        """
        check_smallest(self._domain, list(self._weights), self._schedule.max_model_mb)
        self._used += measure_step(self._measurer, self._named["one-way"])
        self._report_progress("one-way marginals", 0)
        model = self._estimate(None)
        for number in range(1, self._schedule.rounds + 1):
            self._score(model)
            self._report_progress("scores", number)
            most = self._schedule.most(number, len(self._weights))
            chosen = self._select(most, self._schedule.limit_mb(number))
            if chosen:
                model = self._measure(chosen, model)
                self._report_progress("round", number)
        model = self._measure_again(model)
        self._report_progress("last round", self._schedule.rounds)
        self._score(model)
        self._report_progress("scores", self._schedule.rounds)
        return ended(
            self._measurer,
            self._steps,
            model,
            self._used,
            averages=averages_of(self._measurer, self._weights, self._used),
            scored=self._scored,
            rounds=self._rounds,
            selection=SELECTED_BY,
        )

    def _score(self, model: MarkovRandomField) -> None:
        """Noisy distances between table and model, for every candidate that the model can compute."""
        scored = score_against(self._measurer, model, list(self._weights), self._budget("scores"))
        self._scored = scored or self._scored

    def _select(self, most: int, limit_mb: float) -> list[Clique]:
        """Greedy selection of the candidates with the largest gains that keep the model small enough.

        The gain of a candidate is its weight times the difference of its noisy distance, at most that of two
        tables, and the noise that it would have if `allocate` split the remaining budget over it and the
        marginals measured so far.
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
            # A candidate that makes the model too large now still does after others are added.
            weights[promising[: place + 1]] = 0.0
        return chosen

    def _measure(self, chosen: Sequence[Clique], before: MarkovRandomField) -> MarkovRandomField:
        cells = [self._domain.cells(clique) for clique in chosen]
        found = measure_split(self._measurer, chosen, cells, self._budget("round"), "round")
        self._used += found
        model = self._estimate(before)
        self._rounds += rounds_of(found, before, model)
        return model

    def _measure_again(self, model: MarkovRandomField) -> MarkovRandomField:
        """The last round: the rest, except for the last scores, goes to all marginals of the model."""
        measured = self._measured()
        cells = [self._domain.cells(clique) for clique in measured]
        left = self._measurer.accountant.remaining - self._budget("scores")
        self._used += measure_split(self._measurer, measured, cells, left, "last round")
        return self._estimate(model, FINAL)

    def _price_of(self, clique: Clique) -> float:
        """Variance of a cell times the cost, in counts^2 rho."""
        granted = self._measurer.granted
        return self._measurer.expected_sigma(View(clique), granted) ** 2 * float(granted)

    def _budget(self, name: str) -> Fraction:
        """Budget of a step each time, zCDP."""
        return self._named[name].budget(self._measurer.granted)

    def _measured(self) -> list[Clique]:
        return list(dict.fromkeys(measurement.clique for measurement in self._used))

    def _estimate(self, warm_start: MarkovRandomField | None, tolerance: float = DRAFT) -> MarkovRandomField:
        total = self._measurer.record_count
        return estimate(self._domain, self._used, total=total, warm_start=warm_start, tolerance=tolerance)

    def _report_progress(self, step: str, number: int) -> None:
        spent = self._measurer.accountant.spent_share
        self._report(Progress(step, (), number, spent))
