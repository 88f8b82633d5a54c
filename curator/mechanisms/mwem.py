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
from ...common.measurement import Measurement
from ..measurers.measurer import Measurer, Query
from ..pgm.fitting.estimation import estimate
from ..pgm.model import MarkovRandomField
from ..pgm.structure.junction_tree import TreeGrowth
from .mechanism import GaussianMechanism
from .parts.allocation import check_smallest
from .parts.bounds import ScoredDistance
from .parts.ending import averages_of, ended
from .parts.fitted import FittedModel, Progress, Report, Round
from .parts.parameters import Cells, Positive, Share, Times, check_parameters
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
        scores, rounds = steps = self.steps(measurer, workload)
        check_smallest(measurer.domain, scores.cliques, self.max_model_mb)
        given = dict(zip(workload.cliques, workload.weights, strict=True))
        weights = {clique: given[clique] for clique in scores.cliques}
        domain, records = measurer.domain, measurer.record_count
        budget = scores.budget(measurer.granted)
        cost = budget + rounds.budget(measurer.granted)
        model = MarkovRandomField.uniform(domain, records)
        used: list[Measurement] = []
        done: list[Round] = []
        scored: dict[Clique, ScoredDistance] = {}
        for number in range(1, rounds.times + 1):
            small = self._small(measurer, list(weights), model, used, number / rounds.times)
            scored |= score_against(measurer, model, small, budget, scores.name)
            # What the scores did not spend goes to the measurement.
            rho = measurer.accountant.remaining - cost * (rounds.times - number)
            gains = {
                clique: weights[clique]
                * (min(scored[clique].distance, 2 * records) - expected_noise(measurer, clique, rho))
                for clique in small
                if clique in scored
            }
            worst = max(gains, key=lambda clique: gains[clique])
            (measurement,) = measurer.measure([Query(View(worst), rho, rounds.name)])
            used.append(measurement)
            tolerance = FINAL if number == rounds.times else DRAFT
            before = model
            model = estimate(domain, used, total=records, warm_start=before, tolerance=tolerance)
            done.append(round_of(measurement, before, model, cost))
            report(Progress("round", worst, number, measurer.accountant.spent_share))
        averages = averages_of(measurer, weights, used)
        return ended(
            measurer,
            steps,
            model,
            used,
            averages=averages,
            scored=scored,
            rounds=done,
            selection=SELECTED_BY,
        )

    def _small(
        self,
        measurer: Measurer,
        cliques: list[Clique],
        model: MarkovRandomField,
        used: list[Measurement],
        share: float,
    ) -> list[Clique]:
        """Candidates inside the model or that keep it within the current limit; if none, the final limit."""
        growth = TreeGrowth(measurer.domain, [measurement.clique for measurement in used])
        sized = list(zip(cliques, growth.cells_with(cliques), strict=True))
        for limit_mb in (self.max_model_mb * share, self.max_model_mb):
            small = [
                clique
                for clique, cells in sized
                if cells <= limit_mb * 2**17 or model.tree.home(clique) is not None
            ]
            if small:
                break
        return small
