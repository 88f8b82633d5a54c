"""PPSyn by the text of its paper: partitions, budgets and scores from exact marginals. Not private.

Source: Zhang, Deng and Yin, "Partition-based differentially private synthetic data generation",
    Algorithms 1 to 4.

The text leaves open: the sensitivity of the score in the exponential mechanism (here that of a distance, 1,
over the smallest required budget, as if budgets were public; the true one is unbounded); what to do when the
budget pays for no candidate (here the rest goes to one-way marginals, as in line 1); T; and a limit of the
model's size, without which the model may not fit in memory. A run may select one marginal repeatedly at
almost no cost, so that selection spends most of the budget (docs/adr/0016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.randomness import RandomStream
from ....common.data.boxes import box_labels
from ....common.data.domain import Clique, Domain
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ....common.privacy.budget import Charge
from ....common.privacy.cost import exponential_cost
from ...measurers.capabilities import showing_marginals
from ...measurers.measurer import Measurer
from ...pgm.model import MarkovRandomField
from ...pgm.structure.junction_tree import TreeGrowth
from ..independent import one_way_marginals
from ..parts.fitted import FittedModel, Report, Round
from ..parts.run import Run
from ..parts.scoring import DRAFT
from ..parts.steps import Asks, PublicFacts, Step, one_way_step
from .partition_choice import Requirement, first_rise
from .partitions import PartitionSequence, UniformSpread, sequence_of
from .settings import PPSynSettings


@dataclass(frozen=True, eq=False)
class ExactMarginal:
    """A marginal without noise, and its partitions.

    Attributes:
        counts: exact counts, shape (n_r,).
        order: order of the cells in Algorithms 3 and 4, shape (n_r,).
        shape: shape of the cells in that order.
        sequence: partitions of these cells.
    """

    counts: NDArray[np.float64]
    order: NDArray[np.int64]
    shape: tuple[int, ...]
    sequence: PartitionSequence

    @classmethod
    def of(cls, domain: Domain, clique: Clique, counts: NDArray[np.float64]) -> ExactMarginal:
        """From counts; the cells of one attribute are sorted by count (Algorithm 3, line 1)."""
        shape = domain.shape(clique)
        order = np.argsort(counts, kind="stable") if len(clique) == 1 else np.arange(counts.size)
        sequence = sequence_of(shape, UniformSpread(counts[order].reshape(shape)))
        return cls(counts, order, shape, sequence)

    def labels(self, count: int) -> NDArray[np.int64]:
        """For each cell, its interval in the partition into `count` intervals."""
        labels = np.empty(self.counts.size, dtype=np.int64)
        labels[self.order] = box_labels(self.shape, self.sequence.boxes(count))
        return labels


def spread(
    counts: NDArray[np.float64], labels: NDArray[np.int64], noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Noisy sums over intervals, spread evenly over their cells (Definition 9).

    Args:
        counts: exact counts, shape (n_r,).
        labels: interval of each cell, shape (n_r,).
        noise: noise of the sums, shape (intervals,).
    """
    sums = np.bincount(labels, counts) + noise
    cells: NDArray[np.float64] = (sums / np.bincount(labels))[labels]
    return cells


class PaperRun(Run):
    """One run of Algorithm 1.

    Args:
        config: parameters of the mechanism.
        measurer: a measurer that gives exact marginals.
        workload: candidates.
        stream: randomness of the exponential mechanism and of the floating-point noise.
        report: called with the progress after every step.
    """

    def __init__(
        self,
        config: PPSynSettings,
        measurer: Measurer,
        workload: Workload,
        stream: RandomStream,
        report: Report,
    ) -> None:
        super().__init__(measurer, self.steps(config, measurer, workload), report)
        self._config = config
        self._selection = self._budget("select")
        self._rng = stream.generator()
        shown = showing_marginals(measurer)
        self._exact = {
            clique: ExactMarginal.of(self._domain, clique, shown.exact(clique).astype(float))
            for clique in workload.cliques
        }

    @staticmethod
    def steps(config: PPSynSettings, facts: PublicFacts, candidates: Workload) -> tuple[Step, ...]:
        """The steps of Algorithm 1 with T rounds; a run has more rounds if they cost less than planned."""
        one_way, scores, rounds = Fraction(config.one_way), Fraction(config.scores), config.rounds
        left, cliques = 1 - one_way - scores, candidates.cliques
        return (
            one_way_step(facts.domain, one_way),
            Step("select", "Selection of one marginal in each round", Asks.CHOICES, scores, times=rounds),
            Step(
                "round",
                "One selected marginal in each round, over intervals",
                Asks.MARGINALS,
                left,
                cliques,
                times=rounds,
            ),
        )

    def run(self) -> FittedModel:
        """Lines 1 to 13."""
        self._used += one_way_marginals(self._measurer, self._budget("one-way"))
        self._tell("one-way marginals")
        model = self._estimate(None, DRAFT)
        while self._measurer.accountant.remaining > self._selection:
            selected = self._select(model)
            if selected is None:
                break
            model = self._round(*selected, model)
        left = self._measurer.accountant.remaining
        if left > 0:
            self._used += one_way_marginals(self._measurer, left)
            model = self._estimate(model)
            self._tell("last round")
        # No bounds: they hold for measured cells, not for sums that were spread over cells.
        return self._result(model, selection="exact marginals, read without noise", bounds=())

    def _select(self, model: MarkovRandomField) -> tuple[Clique, Requirement] | None:
        """Algorithm 2, over the candidates that the budget pays for and that keep the model small enough."""
        left = float(self._measurer.accountant.remaining - self._selection)
        offers: dict[Clique, tuple[float, Requirement]] = {}
        marginals = model.marginals_within_limits(self._exact)
        for (clique, exact), marginal in zip(self._exact.items(), marginals, strict=True):
            contribution = 0.0 if marginal is None else float(np.abs(exact.counts - marginal).sum())
            if contribution > 0:
                needs = first_rise(exact.sequence, contribution, self._config.eta, len(clique) == 1)
                if needs.zcdp_rho < left:
                    offers[clique] = contribution / needs.zcdp_rho, needs
        if not offers:
            return None
        epsilon = math.sqrt(8 * self._selection) * (1 - 2.0**-40)
        sensitivity = 1 / min(needs.zcdp_rho for _, needs in offers.values())
        scores = np.array([score for score, _ in offers.values()]) / sensitivity
        noisy = epsilon / 2 * scores + self._rng.gumbel(size=len(scores))
        order = [list(offers)[int(k)] for k in np.argsort(-noisy)]
        place = TreeGrowth(self._domain, self._measured_cliques()).first_within(
            order, self._config.max_model_mb
        )
        if place is None:
            return None
        self._charge("select", (), exponential_cost(epsilon))
        return order[place], offers[order[place]][1]

    def _round(self, clique: Clique, needs: Requirement, before: MarkovRandomField) -> MarkovRandomField:
        """Lines 7 to 10."""
        rho = Fraction(needs.zcdp_rho)
        self._charge("round", clique, rho)
        sigma = self._measurer.expected_sigma(View(clique), rho)
        exact = self._exact[clique]
        # Intervals of sorted codes are not boxes of codes, so no protocol supports queries for their sums.
        values = spread(exact.counts, exact.labels(needs.boxes), self._rng.normal(0, sigma, needs.boxes))
        self._used.append(Measurement(View(clique), values, sigma, needs.zcdp_rho))
        model = self._estimate(before, DRAFT)
        learned = float(np.abs(model.marginal(clique) - before.marginal(clique)).sum())
        self._rounds.append(Round(clique, sigma, needs.zcdp_rho, learned, False, model.size_mb))
        self._tell("round", clique)
        return model

    def _charge(self, step: str, clique: Clique, rho: Fraction) -> None:
        self._measurer.charge(Charge(step, clique, rho))
