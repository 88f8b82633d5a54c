"""PPSyn as its text has it: partitions, budgets and scores from exact marginals. Not private.

Source: Zhang, Deng and Yin, "Partition-based differentially private synthetic data generation",
    Algorithms 1 to 4.

What the text leaves open: the sensitivity of the score in the exponential mechanism (here that of a distance,
1, over the least required budget, as if budgets were public; the true one is unbounded); what is done once no
candidate can be paid for (here the rest goes to one-way marginals, by line 1); T; and a limit of the model's
size, without which a run ends in a model that does not fit in memory. It may
select one marginal again and again for next to no budget, so that selection spends most (docs/adr/0016).
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
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ....common.privacy.budget import Charge
from ....common.privacy.cost import exponential_cost
from ...measurers.capabilities import showing_marginals
from ...measurers.measurer import Measurer
from ...pgm.estimation import estimate
from ...pgm.junction_tree import TreeGrowth
from ...pgm.model import MarkovRandomField
from ..independent import one_way_marginals
from ..parts.ending import ended
from ..parts.fitted import FittedModel, Progress, Report, Round
from ..parts.scoring import DRAFT, FINAL
from ..parts.steps import Asks, PublicFacts, Step, by_name, one_way_step
from .partition_choice import Requirement, first_rise
from .partitions import PartitionSequence, UniformSpread, sequence_of
from .settings import PPSynSettings


@dataclass(frozen=True, eq=False)
class ExactMarginal:
    """A marginal without noise, and its partitions.

    Attributes:
        counts: shape (n_r,).
        order: shape (n_r,): its cells as Algorithms 3 and 4 line them up.
        shape: of the cells in that order.
        sequence: of partitions of them.
    """

    counts: NDArray[np.float64]
    order: NDArray[np.int64]
    shape: tuple[int, ...]
    sequence: PartitionSequence

    @classmethod
    def of(cls, domain: Domain, clique: Clique, counts: NDArray[np.float64]) -> ExactMarginal:
        """One attribute's cells in ascending order of counts (Algorithm 3, line 1), others as they are."""
        shape = domain.shape(clique)
        order = np.argsort(counts, kind="stable") if len(clique) == 1 else np.arange(counts.size)
        sequence = sequence_of(shape, UniformSpread(counts[order].reshape(shape)))
        return cls(counts, order, shape, sequence)

    def labels(self, count: int) -> NDArray[np.int64]:
        """For each cell its interval in the partition into so many."""
        labels = np.empty(self.counts.size, dtype=np.int64)
        labels[self.order] = box_labels(self.shape, self.sequence.boxes(count))
        return labels


def spread(
    counts: NDArray[np.float64], labels: NDArray[np.int64], noise: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Noisy sums over intervals, of which every cell gets the same part (Definition 9).

    Args:
        counts: shape (n_r,).
        labels: shape (n_r,): the interval of each cell.
        noise: shape (intervals,).
    """
    sums = np.bincount(labels, counts) + noise
    cells: NDArray[np.float64] = (sums / np.bincount(labels))[labels]
    return cells


class PaperRun:
    """One run of Algorithm 1.

    Args:
        config: the parameters.
        measurer: one that shows exact marginals.
        workload: the candidates.
        stream: randomness of the exponential mechanism and of the noise; in floating point.
        report: called after every step.
    """

    def __init__(
        self,
        config: PPSynSettings,
        measurer: Measurer,
        workload: Workload,
        stream: RandomStream,
        report: Report,
    ) -> None:
        self._config = config
        self._measurer = measurer
        self._domain = measurer.domain
        self._steps = self.steps(config, measurer, workload)
        self._one_way, self._selection = (
            by_name(self._steps)[name].budget(measurer.granted) for name in ("one-way", "select")
        )
        self._rng = stream.generator()
        self._report = report
        shown = showing_marginals(measurer)
        self._exact = {
            clique: ExactMarginal.of(self._domain, clique, shown.exact(clique).astype(float))
            for clique in workload.cliques
        }
        self._used: list[Measurement] = []
        self._rounds: list[Round] = []

    @staticmethod
    def steps(config: PPSynSettings, facts: PublicFacts, candidates: Workload) -> tuple[Step, ...]:
        """As Algorithm 1 sets out, with T rounds; there are more where rounds cost less than their part."""
        one_way, scores, rounds = Fraction(config.one_way), Fraction(config.scores), config.rounds
        left, cliques = 1 - one_way - scores, candidates.cliques
        return (
            one_way_step(facts.domain, one_way),
            Step("select", "Selection of a marginal", Asks.CHOICES, scores, times=rounds),
            Step("round", "Marginals over intervals", Asks.MARGINALS, left, cliques, times=rounds),
        )

    def run(self) -> FittedModel:
        """Lines 1 to 13."""
        self._used += one_way_marginals(self._measurer, self._one_way)
        self._tell("one-way marginals")
        model = self._estimate(None)
        while self._measurer.accountant.remaining > self._selection:
            selected = self._select(model)
            if selected is None:
                break
            model = self._round(*selected, model)
        left = self._measurer.accountant.remaining
        if left > 0:
            self._used += one_way_marginals(self._measurer, left)
            model = self._estimate(model, FINAL)
            self._tell("last round")
        # No bounds: they would hold for cells that were measured, not for sums that were spread over cells.
        return ended(
            self._measurer,
            self._steps,
            model,
            self._used,
            averages={},
            rounds=self._rounds,
            selection="exact marginals, read without noise",
            bounds=(),
        )

    def _select(self, model: MarkovRandomField) -> tuple[Clique, Requirement] | None:
        """Algorithm 2, among what can be paid for and leaves the model small enough; None where nothing."""
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
        measured = [measurement.clique for measurement in self._used]
        place = TreeGrowth(self._domain, measured).first_within(order, self._config.max_model_mb)
        if place is None:
            return None
        self._charge("select", (), exponential_cost(epsilon))
        return order[place], offers[order[place]][1]

    def _round(self, clique: Clique, needs: Requirement, before: MarkovRandomField) -> MarkovRandomField:
        """Lines 7 to 10."""
        rho = Fraction(needs.zcdp_rho)
        self._charge("round", clique, rho)
        sigma = self._measurer.expected_sigma(clique, rho)
        exact = self._exact[clique]
        # Intervals of sorted codes are no boxes of codes, so that no protocol can be asked for their sums.
        values = spread(exact.counts, exact.labels(needs.boxes), self._rng.normal(0, sigma, needs.boxes))
        self._used.append(Measurement(clique, values, sigma, needs.zcdp_rho))
        model = self._estimate(before)
        learned = float(np.abs(model.marginal(clique) - before.marginal(clique)).sum())
        self._rounds.append(Round(clique, sigma, needs.zcdp_rho, learned, False, model.size_mb))
        self._tell("round", clique)
        return model

    def _charge(self, step: str, clique: Clique, rho: Fraction) -> None:
        self._measurer.charge(Charge(step, clique, rho))

    def _estimate(self, warm_start: MarkovRandomField | None, tolerance: float = DRAFT) -> MarkovRandomField:
        total = self._measurer.record_count
        return estimate(self._domain, self._used, total=total, warm_start=warm_start, tolerance=tolerance)

    def _tell(self, step: str, clique: Clique = ()) -> None:
        accountant = self._measurer.accountant
        spent = accountant.spent_share
        self._report(Progress(step, clique, len(self._rounds), spent))
