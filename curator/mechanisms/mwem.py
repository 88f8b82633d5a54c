"""MWEM+PGM: from the uniform distribution, a fixed number of rounds that each measure the worst marginal.

Source: Hardt, Ligett and McSherry, "A simple and practical algorithm for differentially private data
release" (2012); with a graphical model in place of multiplicative weights, McKenna, Sheldon and Miklau,
"Graphical-model based estimation and inference for differential privacy" (2019); as a whole in McKenna et
al., "AIM" (2022), Algorithm 2. Selection differs: by noisy distances in place of an exponential mechanism, so
that it runs over parties too, and less the expected L1 norm of the noise, where the source takes off one
record for each cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ...common.crypto.randomness import RandomStream
from ...common.data.domain import Clique
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.measurement import Measurement
from ..measurers.measurer import Measurer, Query
from ..pgm.estimation import estimate
from ..pgm.junction_tree import TreeGrowth
from ..pgm.model import MarkovRandomField
from .mechanism import GaussianMechanism
from .parts.allocation import check_smallest
from .parts.bounds import ScoredDistance, error_bounds, weighted_average
from .parts.fitted import FittedModel, Progress, Report, Round
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


@dataclass(frozen=True)
class MWEM(GaussianMechanism):
    """MWEM with a graphical model.

    Attributes:
        rounds: how many marginals are measured; twice as many as attributes where left out.
        alpha: share of a round's budget that measures; the rest scores.
        maxsize: marginals with more cells are dropped.
        max_model_mb: limit of the model's size; grows to this with the rounds.
    """

    name: ClassVar[str] = "mwem"

    rounds: int | None = None
    alpha: float = 0.9
    maxsize: int = 10_000
    max_model_mb: float = 32.0

    def __post_init__(self) -> None:
        if self.rounds is not None and self.rounds < 1:
            raise DataError(f"rounds: expected at least 1, got {self.rounds}")
        if not 0 < self.alpha < 1:
            raise DataError(f"alpha: expected a share in (0, 1), got {self.alpha}")
        if self.maxsize < 2 or not self.max_model_mb > 0:
            raise DataError("expected maxsize >= 2 and max_model_mb > 0")

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: the protocol gives no scores, or no marginal is small enough; nothing was charged.
            ModelError: the smallest marginal makes too large a model; nothing was charged.
        """
        check_scores(measurer, self.name)
        refined = workload.refined(measurer.domain, self.maxsize)
        weights = dict(zip(refined.cliques, refined.weights, strict=True))
        weights = {clique: weights[clique] for clique in measurable_cliques(measurer, refined.cliques)}
        check_smallest(measurer.domain, list(weights), self.max_model_mb)
        domain, records = measurer.domain, measurer.record_count
        rounds = self.rounds or 2 * len(domain)
        cost = measurer.accountant.remaining / rounds
        model = MarkovRandomField.uniform(domain, records)
        used: list[Measurement] = []
        done: list[Round] = []
        scored: dict[Clique, ScoredDistance] = {}
        for number in range(1, rounds + 1):
            small = self._small(measurer, list(weights), model, used, number / rounds)
            scored |= score_against(measurer, model, small, (1 - Fraction(self.alpha)) * cost)
            rho = measurer.accountant.remaining - cost * (rounds - number)
            gains = {
                clique: weights[clique]
                * (min(scored[clique].distance, 2 * records) - expected_noise(measurer, clique, rho))
                for clique in small
                if clique in scored
            }
            worst = max(gains, key=lambda clique: gains[clique])
            (measurement,) = measurer.measure([Query(worst, rho, "round")])
            used.append(measurement)
            tolerance = FINAL if number == rounds else DRAFT
            before = model
            model = estimate(domain, used, total=records, warm_start=before, tolerance=tolerance)
            done.append(round_of(measurement, before, model, cost))
            spent = measurer.accountant.spent_share
            report(Progress("round", worst, number, spent))
        averages = {clique: weighted_average(domain, clique, used) for clique in weights}
        known = {clique: average for clique, average in averages.items() if average is not None}
        selected = [round_.clique for round_ in done]
        bounds = error_bounds(model, known, selected, records, scored=scored)
        return FittedModel(model, tuple(used), tuple(done), bounds, SELECTED_BY)

    def _small(
        self,
        measurer: Measurer,
        cliques: list[Clique],
        model: MarkovRandomField,
        used: list[Measurement],
        share: float,
    ) -> list[Clique]:
        """Candidates inside the model, or with which it stays within its limit of now, or else of the end."""
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
