"""MWEM+PGM: a fixed number of rounds from the uniform distribution, each measuring the worst marginal.

Source: Hardt, Ligett and McSherry, "A simple and practical algorithm for differentially private data
release" (2012); with a graphical model in place of multiplicative weights, McKenna, Sheldon and Miklau,
"Graphical-model based estimation and inference for differential privacy" (2019); as a whole in McKenna et
al., "AIM" (2022), Algorithm 2. Selection differs: it uses noisy distances instead of an exponential
mechanism, so that it also runs over parties, and subtracts the expected L1 norm of the noise, where the
source subtracts one record for each cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Clique
from ...common.data.view import View
from ...common.data.workload import Workload
from ..measurers.measurer import Measurer, Query
from ..pgm.model import MarkovRandomField
from .mechanism import GaussianMechanism
from .parts.allocation import check_smallest
from .parts.bounds import ScoredDistance
from .parts.fitted import FittedModel, Report
from .parts.parameters import Cells, Positive, Share, Times, check_parameters
from .parts.run import Run
from .parts.scoring import (
    DRAFT,
    FINAL,
    SELECTED_BY,
    check_scores,
    expected_noise,
    measurable_cliques,
    round_of,
    score_against,
)
from .parts.steps import Asks, PublicFacts, Step


@dataclass(frozen=True)
class MWEM(GaussianMechanism):
    """MWEM with a graphical model.

    Attributes:
        rounds: number of marginals that are measured; twice the number of attributes by default.
        alpha: share of a round's budget for the measurement; the rest is for scores.
        maxsize: most cells of a candidate; larger ones are dropped.
        max_model_mb: limit of the model's size; grows to this with the rounds.
    """

    name: ClassVar[str] = "mwem"

    rounds: Times | None = None
    alpha: Share = 0.9
    maxsize: Cells = 10_000
    max_model_mb: Positive = 32.0

    def __post_init__(self) -> None:
        check_parameters(self)

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """See `Mechanism.steps`.

        Raises:
            DataError: the protocol gives no scores, or no marginal is small enough.
        """
        check_scores(facts, self.name)
        may = tuple(measurable_cliques(facts, workload.refined(facts.domain, self.maxsize).cliques))
        rounds = self.rounds or 2 * len(facts.domain)
        measures = Fraction(self.alpha)
        return (
            Step(
                "scores", "Scores of candidates in each round", Asks.SCORES, 1 - measures, may, times=rounds
            ),
            Step(
                "round",
                "One selected marginal in each round",
                Asks.MARGINALS,
                measures,
                may,
                times=rounds,
                at_once=1,
            ),
        )

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: the protocol gives no scores, or no marginal is small enough; nothing was charged.
            ModelError: the smallest marginal makes too large a model; nothing was charged.
        """
        return _Run(self, measurer, workload, self.steps(measurer, workload), report).run()


class _Run(Run):
    """One run of MWEM+PGM."""

    def __init__(
        self, config: MWEM, measurer: Measurer, workload: Workload, steps: tuple[Step, ...], report: Report
    ) -> None:
        super().__init__(measurer, steps, report)
        self._max_model_mb = config.max_model_mb
        self._weights = workload.weights_of(self._named["scores"].cliques)
        self._scored: dict[Clique, ScoredDistance] = {}

    def run(self) -> FittedModel:
        """Spends the grant."""
        check_smallest(self._domain, list(self._weights), self._max_model_mb)
        model = MarkovRandomField.uniform(self._domain, self._measurer.record_count)
        for number in range(1, self._named["round"].times + 1):
            model = self._round(model, number)
        return self._result(model, self._weights, scored=self._scored, selection=SELECTED_BY)

    def _round(self, before: MarkovRandomField, number: int) -> MarkovRandomField:
        """Scores the candidates and measures the worst."""
        cost, left = self._budget("scores") + self._budget("round"), self._named["round"].times - number
        small = self._candidates(before, number)
        self._scored |= score_against(self._measurer, before, small, self._budget("scores"))
        # What the scores did not spend goes to the measurement.
        rho = self._measurer.accountant.remaining - cost * left
        gains = {clique: self._gain(clique, rho) for clique in small if clique in self._scored}
        worst = max(gains, key=lambda clique: gains[clique])
        (measurement,) = self._measurer.measure([Query(View(worst), rho, "round")])
        self._used.append(measurement)
        after = self._estimate(before, DRAFT if left else FINAL)
        self._rounds.append(round_of(measurement, before, after, cost))
        self._tell("round", worst)
        return after

    def _gain(self, clique: Clique, rho: Fraction) -> float:
        """Expected gain from measuring a clique at this cost."""
        distance = min(self._scored[clique].distance, 2 * self._measurer.record_count)
        return self._weights[clique] * (distance - expected_noise(self._measurer, clique, rho))

    def _candidates(self, model: MarkovRandomField, number: int) -> list[Clique]:
        """Candidates that the current limit of the model's size allows; if none, the final limit."""
        limit_mb, share = self._max_model_mb, number / self._named["round"].times
        return self._small(self._weights, model, limit_mb * share) or self._small(
            self._weights, model, limit_mb
        )
