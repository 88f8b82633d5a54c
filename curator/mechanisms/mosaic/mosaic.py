"""Mosaic: measure the interactions that the model lacks, and weight each by its noise.

1. One-way marginals are measured for a tenth of the budget and denoised (`one_way`), together
   with those that a release before published, if any. They give the first model.
2. If scores are poor, and most pairs are small, such as those of two binary attributes, the small ones are
   all measured once, because that costs hardly more than scores.
3. In each of a few rounds, the other candidates are scored: noisy L1 distances between the table
   and the model, 3 % of the budget for all rounds together. Candidates are the workload's
   marginals and their subsets of two and more attributes, each after its own subsets are measured. They are
   selected by their gain in a split of the remaining budget over all interactions (`budget_split`), best
   first, as long as the model stays within its size. Each is measured for the first time, and the
   model is fitted.
4. The rest of the budget measures all interactions once more, split to minimise the predicted error of the
   workload, and also pairs that do not fit into the model (`released`). Drawn rows are adjusted to these, and
   to the model's estimates of the workload's larger marginals (`pgm/supplemented`).
5. Before these, pairs that are too large to be measured so are scored and measured in groups of codes, and
   while they are made, interactions of three and more attributes that no workload names, or of which noise
   would hide the codes (`grouped_rounds`).
6. Scores of the last model give the error bounds; measurements do if nothing is scored.

Instead of whole marginals, it measures their interactions (`common/data/interactions.py`), whose sensitivity
is smaller. The model is fitted to marginals: an earlier model's prediction, raked to the current estimates
of its margins, plus the posterior mean of the interaction (`effects`), with a weight for each cell. In the
end, that model is of the largest pairs that make no cycle. The covariance of cells along an attribute is
learned from all its interactions (`learning`).

If the protocol gives no scores, steps 2 and 3 are replaced by one measurement of all pairs that noise does
not dominate.

All noise is Gaussian, so accounting is exact (Gaussian differential privacy); the rest is post-processing.

Source: rounds of scored candidates after RandDPGen and AIM; interactions (residuals) after ResidualPlanner;
    the rest is this project's. docs/mosaic-algorithm.md has all of it, and docs/mosaic.md what each part is
    worth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique, Domain
from ....common.data.interactions import freedom
from ....common.data.view import View
from ....common.data.workload import Workload
from ...measurers.measurer import Measurer
from ...pgm.structure.zeros import zeros_of
from ...work.limits import SECONDS, affordable, affords_larger, fitted_mb, model_mb
from ..mechanism import GaussianMechanism
from ..parts.allocation import EXPECTED_L1, check_smallest, measurable
from ..parts.fitted import FittedModel, Report
from ..parts.parameters import Positive, check_parameters
from ..parts.schedule import Schedule
from ..parts.scoring import measurable_cliques
from ..parts.steps import Asks, PublicFacts, Step, measurable_as_interaction
from .grouped_rounds import most_scored, orders_of
from .grouping import cliques_in_groups, groups_within, most_cells
from .run import Run
from .settings import SETTINGS


@dataclass(frozen=True)
class Mosaic(GaussianMechanism):
    """The default mechanism.

    Attributes:
        max_model_mb: limit of the junction tree's size; grows to this with the rounds.
        time_limit: counted seconds of the release, 60 by default; limits the candidates and the size of the
            model (`work.limits`). Work counts at fixed rates and the clock is not read, so that a resumed
            release makes the same choices. For seconds of a machine, see the argument `time_limit` of
            `synthesize`.
    """

    name: ClassVar[str] = "mosaic"

    max_model_mb: Positive = 8.0
    time_limit: Positive | None = None

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def model_limit_mb(self) -> float:
        """The smaller of both limits."""
        limit = math.inf if self.time_limit is None else fitted_mb(self.time_limit)
        return min(self.max_model_mb, limit)

    @property
    def seconds(self) -> float:
        """The time limit of the whole release."""
        return self.time_limit or SECONDS

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """See `Mechanism.steps`; without candidates, one-way marginals get the whole budget."""
        return self._steps(facts, workload, self._affordable_candidates(facts, workload))

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            ModelError: the smallest candidate makes too large a model; nothing has been measured.
        """
        kept = self._affordable_candidates(measurer, workload)
        limit_mb = min(self.model_limit_mb, model_mb(len(kept), self.seconds))
        if kept:
            check_smallest(measurer.domain, kept, limit_mb)
        steps = self._steps(measurer, workload, kept)
        schedule = Schedule(SETTINGS.rounds, limit_mb)
        return Run(measurer, workload, steps, schedule, self.seconds, stream, report).run()

    def _steps(self, facts: PublicFacts, workload: Workload, kept: tuple[Clique, ...]) -> tuple[Step, ...]:
        singles = tuple((name,) for name in facts.domain.varied)
        one_way = Fraction(SETTINGS.one_way) if kept else Fraction(1)
        first = Step("one-way", "One-way marginals", Asks.INTERACTIONS, one_way, singles, singles)
        if not kept:
            return (first,)
        by_scores = facts.scores_exactly
        selecting = _selecting(facts, workload, kept, self.seconds) if by_scores else _survey(facts, kept)
        in_time = affords_larger(facts.domain, facts.record_count, self.seconds)
        more = _larger(facts, self.seconds) if by_scores and in_time else ()
        left = 1 - first.share - sum(step.share for step in (*selecting, *more))
        again = (*singles, *_interactions_in(selecting))
        # The run splits by predicted error (`budget_split`); a split by these sizes is similar.
        sizes = _sizes(facts.domain, again)
        last = Step("last round", "All interactions once more", Asks.INTERACTIONS, left, again, sizes=sizes)
        return (first, *selecting, *more, last)

    def _affordable_candidates(self, facts: PublicFacts, workload: Workload) -> tuple[Clique, ...]:
        """The candidates that the protocol can measure and the release can afford."""
        found = candidates(facts.domain, workload, self.model_limit_mb)
        in_groups = {*cliques_in_groups(facts, found, self.seconds)}
        useful = [
            clique
            for clique in measurable_cliques(facts, found)
            if clique not in in_groups and least_noise(facts, clique) <= SETTINGS.useless
        ]
        return tuple(affordable(facts.domain, facts.record_count, useful, self.seconds))


def candidates(domain: Domain, workload: Workload, max_model_mb: float) -> list[Clique]:
    """The workload's marginals and their subsets, of two and more attributes, that fit into a model."""
    return [
        part
        for part in workload.closed().cliques
        if len(part) > 1
        and domain.cells(part) <= max_model_mb * 2**17
        and measurable_as_interaction(domain.shape(part))
    ]


def least_noise(facts: PublicFacts, clique: Clique) -> float:
    """Expected L1 norm of its noise if the whole budget measures it, as a share of the records."""
    interaction = measurable_as_interaction(facts.domain.shape(clique))
    sigma = facts.expected_sigma(View(clique, interaction=interaction), facts.granted)
    return EXPECTED_L1 * sigma * facts.domain.cells(clique) / facts.record_count


def cheap(domain: Domain, clique: Clique) -> bool:
    """Whether a pair is measured instead of scored.

    At cost rho, the noise of a score has scale 1 / sqrt(2 rho). That of the interaction of n x m values has
    an expected L1 norm of (n - 1) (m - 1) sqrt(2 / pi) times as much. It also helps the estimate.
    """
    return len(clique) == 2 and math.prod(size - 1 for size in domain.shape(clique)) <= SETTINGS.small


def _selecting(
    facts: PublicFacts, workload: Workload, kept: tuple[Clique, ...], seconds: float
) -> tuple[Step, ...]:
    """Rounds that score candidates; before them, one measurement of cheap pairs if these are most pairs."""
    small = tuple(clique for clique in kept if cheap(facts.domain, clique))
    each = facts.granted * Fraction(SETTINGS.scores) / ((SETTINGS.rounds + 1) * len(kept))
    most = 2 * len(small) > sum(len(clique) == 2 for clique in kept)
    if not most or facts.expected_sigma(View(small[0]), each) <= SETTINGS.poor_score * facts.record_count:
        return _by_scores(facts, workload, kept, seconds)
    others = tuple(clique for clique in kept if not cheap(facts.domain, clique))
    share = Fraction(SETTINGS.small_survey) * Fraction(len(small), len(kept))
    survey = Step("survey", "Interactions of small pairs", Asks.INTERACTIONS, share, small, small)
    return (survey, *(_by_scores(facts, workload, others, seconds) if others else ()))


def _by_scores(
    facts: PublicFacts, workload: Workload, kept: tuple[Clique, ...], seconds: float
) -> tuple[Step, ...]:
    """Rounds that score candidates and measure some, and the scores of the released model."""
    measurable = measurable_cliques(facts, workload.cliques)
    wanted = affordable(facts.domain, facts.record_count, measurable, seconds)
    scored = tuple(dict.fromkeys([*kept, *wanted]))
    schedule = Schedule(SETTINGS.rounds, math.inf)
    return (
        Step(
            "scores",
            "Scores of candidates in each round",
            Asks.SCORES,
            Fraction(SETTINGS.scores),
            scored,
            times=SETTINGS.rounds + 1,
            at_once=max(len(kept), len(wanted)),
        ),
        Step(
            "round",
            "Selected interactions in each round",
            Asks.INTERACTIONS,
            SETTINGS.rounds * Fraction(SETTINGS.round),
            kept,
            times=SETTINGS.rounds,
            at_once=schedule.most(SETTINGS.rounds, len(kept)),
            sizes=_sizes(facts.domain, kept),
        ),
    )


def _larger(facts: PublicFacts, seconds: float) -> tuple[Step, ...]:
    """Rounds that score interactions of three and more attributes, beyond the workload, and measure some.

    Pairs that are too large to be measured otherwise come before them. The steps name pairs and triples, with
    groups as of equally frequent codes; later rounds ask for unions of triples.
    """
    domain, orders = facts.domain, orders_of(facts)
    times = len(orders)
    names = domain.varied
    most = most_scored(facts.record_count, float(facts.granted) * SETTINGS.larger_scores / times, seconds)
    even = {name: np.ones(domain[name].size) for name in names}
    asked: list[Clique] = []
    for order in orders[:-2]:
        asked += itertools.islice(itertools.combinations(names, order), most)
    grouped = {clique: groups_within(domain, clique, even, most_cells(facts)) for clique in asked}
    planned = {
        clique: groups
        for clique, groups in grouped.items()
        if groups is not None
        and (groups or len(clique) > 2)
        and math.isfinite(facts.expected_sigma(View(clique, groups=groups, interaction=True), facts.granted))
    }
    if not planned:
        return ()
    cliques, groups = tuple(planned), tuple(planned.values())
    scores, rounds = Fraction(SETTINGS.larger_scores), Fraction(SETTINGS.larger_rounds)
    few = min(len(cliques), 10)  # A forecast expects at most so many in a round.
    scored, selected = "Scores of larger marginals", "Selected larger interactions"
    return (
        Step("larger scores", scored, Asks.SCORES, scores, cliques, times=times, groups=groups),
        Step("larger", selected, Asks.INTERACTIONS, rounds, cliques, times=times, at_once=few, groups=groups),
    )


def _survey(facts: PublicFacts, kept: tuple[Clique, ...]) -> tuple[Step, ...]:
    """The step that measures all pairs worth measuring; none if there are no such pairs."""
    pairs = [clique for clique in kept if len(clique) == 2]
    share = Fraction(SETTINGS.survey)
    found = {pairs[i] for i in measurable(facts, pairs, facts.granted * share)}
    needed = {*zeros_of(facts.domain).learned}
    worth = tuple(pair for pair in pairs if pair in found or pair in needed)
    return (
        (Step("survey", "Interactions of all pairs", Asks.INTERACTIONS, share, worth, worth),)
        if worth
        else ()
    )


def _interactions_in(steps: Sequence[Step]) -> tuple[Clique, ...]:
    """The interactions that these steps may measure."""
    asked = (clique for step in steps if step.asks is Asks.INTERACTIONS for clique in step.cliques)
    return tuple(dict.fromkeys(asked))


def _sizes(domain: Domain, cliques: Sequence[Clique]) -> tuple[float, ...]:
    """Number of cells times the scale of noise, for each interaction at one cost."""
    return tuple(domain.cells(clique) * freedom(domain.shape(clique)) for clique in cliques)
