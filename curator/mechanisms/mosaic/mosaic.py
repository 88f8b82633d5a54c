"""Mosaic: measure interactions where the model lacks them, and weigh each by its noise.

1. One-way marginals are measured for a tenth of the budget (`ONE_WAY`) and denoised (`denoising`). They make
   the first model.
2. In each of a few rounds (`ROUNDS`), all candidates are scored: noisy L1 distances between the table and the
   model, 3 % of the budget for all rounds together (`SCORES`). Candidates are the workload's marginals and
   their parts of two and more attributes, each once its own parts are measured. What a split of the remaining
   budget over everything would improve (`budget_split`) says which to take, best first, as long as the model
   stays within its size. Each is measured for a first time (`ROUND`), and the model is fitted again.
3. What is left measures everything once more, split so that the predicted error of the workload is least;
   and pairs that the model has no room for (`outside`). Rows, once drawn, are adjusted to these, and to the
   workload's larger marginals as the model has them (`pgm/supplemented`).
4. Scores of the last model give the error bounds.

What is measured is never a whole marginal but its interaction (`common/data/interactions.py`): a record moves
it less, and the smaller marginals are measured by themselves. What is fitted are marginals again: the cells
that the model predicted before, raked to the margins as they are known now, plus the posterior mean of the
interaction (`effects`), each cell weighted by how well it is known. How cells vary together along an
attribute is learned from all interactions that it is in (`covariances`).

Where a protocol gives no scores, the interactions of all pairs that noise leaves visible are measured once
(`SURVEY`) in place of step 2.

All noise is Gaussian, so the budget is exact (Gaussian differential privacy); the rest is post-processing.

Source: rounds of scored candidates after RandDPGen and AIM; interactions as in ResidualPlanner; the rest is
    this project's (docs/mosaic.md has the evidence for each part).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique, Domain
from ....common.data.interactions import freedom
from ....common.data.workload import Workload
from ....common.errors import DataError
from ...measurers.measurer import Measurer
from ..mechanism import GaussianMechanism
from ..parts.allocation import check_smallest, measurable
from ..parts.fitted import FittedModel, Report
from ..parts.schedule import Schedule
from ..parts.scoring import measurable_cliques
from ..parts.steps import Asks, PublicFacts, Step, alone
from .run import Run

ROUNDS = 4
ONE_WAY = 0.1
SCORES = 0.03
"""Share of the budget for all scores together: those of each round, and those of the last model."""

ROUND = 0.03
"""Share of the budget that measures in one round."""

SURVEY = 0.3
"""Share of the budget that measures all pairs where there are no scores."""

_MB_PER_S = 0.5
"""A model of so many MiB for each second: fits move a thousand times in all, in 2 ms for each MiB at most."""


@dataclass(frozen=True)
class Mosaic(GaussianMechanism):
    """The default mechanism.

    Attributes:
        max_model_mb: limit of the junction tree's size; grows to this with the rounds.
        time_limit: seconds that fitting may take on two cores; lowers the model's limit to what can be
            fitted in them. It counts work and does not read the clock, so that a resumed release makes the
            same choices.
    """

    name: ClassVar[str] = "mosaic"

    max_model_mb: float = 16.0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        for key, value in (("max_model_mb", self.max_model_mb), ("time_limit", self.time_limit)):
            if value is not None and not 0 < value < math.inf:
                raise DataError(f"{key}: expected a positive number, got {value}")

    @property
    def model_limit_mb(self) -> float:
        """The smaller of both limits."""
        limit = math.inf if self.time_limit is None else self.time_limit * _MB_PER_S
        return min(self.max_model_mb, limit)

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """See `Mechanism.steps`; one-way marginals get everything where there are no candidates."""
        singles = tuple((name,) for name in facts.domain if facts.domain[name].size > 1)
        kept = self._kept(facts, workload)
        one_way = Fraction(ONE_WAY) if kept else Fraction(1)
        first = Step("one-way", "One-way marginals", Asks.INTERACTIONS, one_way, singles, singles)
        if not kept:
            return (first,)
        looked = _by_scores(facts, workload, kept) if facts.scores_exactly else _survey(facts, kept)
        left = 1 - first.share - sum(step.share for step in looked)
        again = (*singles, *looked[-1].cliques) if looked else singles
        # The split minimises the predicted error (`budget_split`); by these sizes it is about the same.
        sizes = _sizes(facts.domain, again)
        last = Step("last round", "Last measurements", Asks.INTERACTIONS, left, again, sizes=sizes)
        return (first, *looked, last)

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            ModelError: the smallest candidate makes too large a model; nothing has been measured.
        """
        kept = self._kept(measurer, workload)
        if kept:
            check_smallest(measurer.domain, kept, self.model_limit_mb)
        steps = self.steps(measurer, workload)
        schedule = Schedule(ROUNDS, self.model_limit_mb)
        return Run(measurer, workload, steps, schedule, report).run()

    def _kept(self, facts: PublicFacts, workload: Workload) -> tuple[Clique, ...]:
        """The candidates that the protocol can measure."""
        found = candidates(facts.domain, workload, self.model_limit_mb)
        return tuple(measurable_cliques(facts, found))


def candidates(domain: Domain, workload: Workload, max_model_mb: float) -> list[Clique]:
    """The workload's marginals and their parts, of two and more attributes, that a model can hold."""
    return [
        part
        for part in workload.closed().cliques
        if len(part) > 1 and domain.cells(part) <= max_model_mb * 2**17 and alone(domain.shape(part))
    ]


def _by_scores(facts: PublicFacts, workload: Workload, kept: tuple[Clique, ...]) -> tuple[Step, ...]:
    """Rounds that score candidates and measure some; the released model's scores are of the workload."""
    wanted = measurable_cliques(facts, workload.cliques)
    scored = tuple(dict.fromkeys([*kept, *wanted]))
    schedule = Schedule(ROUNDS, math.inf)
    return (
        Step(
            "scores",
            "Scores of candidates",
            Asks.SCORES,
            Fraction(SCORES),
            scored,
            times=ROUNDS + 1,
            at_once=max(len(kept), len(wanted)),
        ),
        Step(
            "round",
            "Measured in rounds",
            Asks.INTERACTIONS,
            ROUNDS * Fraction(ROUND),
            kept,
            times=ROUNDS,
            at_once=schedule.most(ROUNDS, len(kept)),
            sizes=_sizes(facts.domain, kept),
        ),
    )


def _survey(facts: PublicFacts, kept: tuple[Clique, ...]) -> tuple[Step, ...]:
    """All pairs that are worth a part of the budget; nothing where none is."""
    pairs = [clique for clique in kept if len(clique) == 2]
    share = Fraction(SURVEY)
    worth = tuple(pairs[i] for i in measurable(facts, pairs, facts.granted * share))
    return (Step("survey", "All pairs, once", Asks.INTERACTIONS, share, worth, worth),) if worth else ()


def _sizes(domain: Domain, cliques: Sequence[Clique]) -> tuple[float, ...]:
    """How much noise the interactions contain at one sigma."""
    return tuple(domain.cells(clique) * freedom(domain.shape(clique)) for clique in cliques)
