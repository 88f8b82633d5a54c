"""AIM: each round measures the marginal that the model approximates worst, relative to its noise.

Source: McKenna, Mullins, Sheldon and Miklau, "AIM: An Adaptive and Iterative Mechanism for Differentially
Private Synthetic Data" (2022), Algorithm 4. What differs, and why (ADR 13 has the figures):

- Candidates are ranked by noisy distances, not by an exponential mechanism, so that the mechanism also runs
  over parties. All are scored once; each round then scores the few with the largest upper estimates.
- The last round measures all marginals of the model once more, instead of one marginal.
- The released model is scored once more, which bounds its error on every candidate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Clique
from ...common.data.view import View
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.forms.values import whole
from ...common.measurement import mean_by_precision
from ..measurers.measurer import Measurer, Query
from ..pgm.model import MarkovRandomField
from .mechanism import GaussianMechanism
from .parts.allocation import check_smallest, measure_step
from .parts.bounds import ScoredDistance
from .parts.fitted import FittedModel, Report
from .parts.parameters import Cells, Positive, Share, check_parameters
from .parts.run import Run
from .parts.scoring import (
    DRAFT,
    SELECTED_BY,
    check_scores,
    expected_noise,
    measurable_cliques,
    round_of,
    score_against,
)
from .parts.steps import Asks, PublicFacts, Step, one_way_step

LAST_SCORES = 0.005
"""Share of the budget for the scores of the released model."""

FIRST_SCORES = 5
"""Budget for scoring all candidates before the first round, as a multiple of a round's budget for scores."""

SCORED = 12
"""Candidates scored in a round: at a fixed cost, the noise of m scores grows with sqrt(m)."""


@dataclass(frozen=True)
class AIM(GaussianMechanism):
    """The adaptive and iterative mechanism.

    Attributes:
        alpha: share of a round's budget for the measurement; the rest is for scores.
        rounds_per_attribute: the first rounds get the budget of T = rounds_per_attribute * d equal rounds.
        maxsize: most cells of a candidate; larger ones are dropped, but their subsets stay candidates.
        max_model_mb: limit of the model's size; grows to this with the budget spent.
    """

    name: ClassVar[str] = "aim"

    alpha: Share = 0.9
    rounds_per_attribute: Annotated[int, whole(2)] = 16
    maxsize: Cells = 10_000
    max_model_mb: Positive = 32.0

    def __post_init__(self) -> None:
        check_parameters(self)

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """See `Mechanism.steps`; the shares assume that no round is annealed.

        Raises:
            DataError: the protocol gives no scores, no candidate is small enough, or there are too few rounds
                to pay for the first scores.
        """
        check_scores(facts, self.name)
        candidates = workload.closed().refined(facts.domain, self.maxsize)
        may = tuple(measurable_cliques(facts, candidates.cliques))
        attributes, measures = len(facts.domain), Fraction(self.alpha)
        last_scores = Fraction(LAST_SCORES)
        cost = (1 - last_scores) / (self.rounds_per_attribute * attributes)
        first_scores = FIRST_SCORES * (1 - measures) * cost
        one_way = one_way_step(facts.domain, measures * cost * attributes)
        left = 1 - one_way.share - first_scores - last_scores
        if left <= 0:
            raise DataError(
                "mechanism aim: one-way marginals and first scores exceed the budget of all rounds; raise "
                "alpha or rounds_per_attribute"
            )
        # The last round begins as soon as at most the cost of two rounds is left.
        times = max(0, math.ceil(left / cost) - 2)
        scores, measured = (1 - measures) * cost * times, measures * cost * times
        again = tuple(dict.fromkeys([*one_way.cliques, *may]))
        singles, most = one_way.cliques, attributes + times
        rest = left - times * cost
        rounds: tuple[Step, ...] = ()
        if times:
            score_title, title = "Scores of candidates in each round", "One selected marginal in each round"
            rounds = (
                Step("scores", score_title, Asks.SCORES, scores, may, times=times, at_once=SCORED),
                Step("round", title, Asks.MARGINALS, measured, may, times=times, at_once=1),
            )
        title = "All marginals of the model once more"
        return (
            one_way,
            Step("first scores", "Scores of all candidates", Asks.SCORES, first_scores, may),
            *rounds,
            Step("last round", title, Asks.MARGINALS, rest, again, singles, at_once=most),
            Step("last scores", "Scores of the released model", Asks.SCORES, last_scores, may),
        )

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: see `steps`; nothing was charged.
            ModelError: the smallest candidate makes too large a model; nothing was charged.
        """
        steps = self.steps(measurer, workload)
        candidates = workload.closed().refined(measurer.domain, self.maxsize)
        return _Run(self, measurer, candidates, steps, report).run()


class _Run(Run):
    """One run of Algorithm 4."""

    def __init__(
        self, config: AIM, measurer: Measurer, candidates: Workload, steps: tuple[Step, ...], report: Report
    ) -> None:
        super().__init__(measurer, steps, report)
        self._config = config
        self._weights = candidates.weights_of(self._named["first scores"].cliques)
        self._known: dict[Clique, ScoredDistance] = {}
        self._raised = 1
        """Factor by which the budget of a round has grown."""

    def run(self) -> FittedModel:
        """Spends the grant."""
        check_smallest(self._domain, list(self._weights), self._config.max_model_mb)
        self._used += measure_step(self._measurer, self._named["one-way"])
        self._tell("one-way marginals")
        model = self._estimate(None, DRAFT)
        self._known = self._score(model, list(self._weights), "first scores")
        if "round" in self._named:
            while self._budget_left() > 2 * self._cost():
                model = self._round(model)
                if self._rounds[-1].annealed:
                    self._raised *= 4
        self._used += self._measure_again(self._budget_left())
        self._tell("last round")
        model = self._estimate(model)
        scored = self._score(model, list(self._weights), "last scores")
        self._tell("scores")
        return self._result(model, self._weights, scored=scored, selection=SELECTED_BY)

    def _round(self, before: MarkovRandomField) -> MarkovRandomField:
        """Lines 8 to 12: select, measure, estimate."""
        rho = self._raised * self._budget("round")
        clique = self._select(before, rho)
        (measurement,) = self._measurer.measure([Query(View(clique), rho, "round")])
        self._used.append(measurement)
        after = self._estimate(before, DRAFT)
        self._rounds.append(round_of(measurement, before, after, self._cost()))
        self._tell("round", clique)
        return after

    def _select(self, model: MarkovRandomField, rho: Fraction) -> Clique:
        """Line 9: the candidate with the largest expected gain, of those that keep the model small enough.

        Only the candidates with the largest gains at one standard deviation above their estimated distances
        are scored again; the others are left out.
        """
        # C_t of line 8.
        small = self._small(self._weights, model, self._config.max_model_mb * self._spent_share(rho))
        marginals = model.marginals_within_limits(small)
        current = {clique: m for clique, m in zip(small, marginals, strict=True) if m is not None}
        before = {clique: self._distance_to_model(clique, marginal) for clique, marginal in current.items()}
        upper_gains = {c: self._gain(c, known.distance + known.sigma, rho) for c, known in before.items()}
        rescored = sorted(upper_gains, key=lambda clique: -upper_gains[clique])[: self._named["scores"].most]
        scored = self._score(model, rescored, "scores", self._raised)
        self._known |= {clique: _weighted_mean(before[clique], new) for clique, new in scored.items()}
        return max(scored, key=lambda clique: self._gain(clique, self._known[clique].distance, rho))

    def _gain(self, clique: Clique, distance: float, rho: Fraction) -> float:
        """Expected gain from measuring the clique: q_r of line 9."""
        furthest = 2 * self._measurer.record_count
        noise = expected_noise(self._measurer, clique, rho)
        return self._weights[clique] * (min(distance, furthest) - noise)

    def _distance_to_model(self, clique: Clique, marginal: NDArray[np.float64]) -> ScoredDistance:
        """The estimated distance between the table and the current model's marginal.

        Since the score, the distance has changed by at most as much as the model's marginal has moved.
        """
        known = self._known.get(clique)
        if known is None:
            furthest = 2.0 * self._measurer.record_count
            return ScoredDistance(furthest, furthest, np.zeros(0, dtype=np.int64))
        moved = float(np.abs(marginal - known.reference).sum())
        return ScoredDistance(known.distance, math.hypot(known.sigma, moved), known.reference)

    def _score(
        self, model: MarkovRandomField, cliques: list[Clique], step: str, times: int = 1
    ) -> dict[Clique, ScoredDistance]:
        return score_against(self._measurer, model, cliques, times * self._budget(step), step)

    def _cost(self) -> Fraction:
        """Cost of a round, zCDP."""
        return self._raised * (self._budget("round") + self._budget("scores"))

    def _budget_left(self) -> Fraction:
        return self._measurer.accountant.remaining - self._budget("last scores")


def _weighted_mean(before: ScoredDistance, new: ScoredDistance) -> ScoredDistance:
    """The mean of two estimates of one distance, weighted by their precision."""
    distance, sigma = mean_by_precision((before.distance, before.sigma), (new.distance, new.sigma))
    return ScoredDistance(distance, sigma, new.reference)
