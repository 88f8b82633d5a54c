"""A run of ABSyn's default variant; see `absyn.py`."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer, Scores
from ...pgm.fitting.estimation import estimate
from ...pgm.fitting.estimator import Estimator
from ...pgm.fitting.parallel import estimate_in_parallel
from ...pgm.model import MarkovRandomField
from ..independent import one_way_marginals
from ..parts.allocation import EXPECTED_L1, check_smallest, measure_split
from ..parts.bounds import ScoredDistance
from ..parts.consistency import consistent
from ..parts.fitted import FittedModel, Report
from ..parts.run import Run
from ..parts.scoring import SELECTED_BY, check_scores, measurable_cliques
from ..parts.steps import Asks, PublicFacts, Step, one_way_step
from .batch_selection import Candidates, select_batch
from .settings import ABSynSettings


class BatchRun(Run):
    """One run of Algorithm 2.

    Attributes:
        difference: how CR-scores are computed; see `cr_scores`.

    Args:
        config: parameters of the mechanism.
        measurer: a measurer with `scores_exactly`.
        workload: marginals to compute error bounds for.
        stream: source of randomness.
        report: called with the progress after every step.
    """

    difference: ClassVar[bool] = False

    def __init__(
        self,
        config: ABSynSettings,
        measurer: Measurer,
        workload: Workload,
        stream: RandomStream,
        report: Report,
    ) -> None:
        super().__init__(measurer, self.steps(config, measurer), report)
        self._config = config
        self._workload = workload
        self._stream = stream

    @staticmethod
    def steps(config: ABSynSettings, facts: PublicFacts) -> tuple[Step, ...]:
        """One-way marginals, scores of all pairs, and the rest of the budget for the selected pairs.

        Raises:
            DataError: the protocol gives no scores.
        """
        check_scores(facts, "absyn")
        one_way, scores = Fraction(config.one_way), Fraction(config.scores)
        pairs = tuple(measurable_cliques(facts, list(itertools.combinations(facts.domain.names, 2))))
        if not pairs:
            scores = Fraction(0)
        first = one_way_step(facts.domain, one_way)
        measured, left = (*pairs, *first.cliques), 1 - one_way - scores
        return (
            first,
            *([Step("scores", "Scores of all pairs", Asks.SCORES, scores, pairs, pairs)] if pairs else []),
            Step(
                "measure",
                "Selected pairs, and attributes in no selected pair",
                Asks.MARGINALS,
                left,
                measured,
            ),
        )

    def run(self) -> FittedModel:
        """Lines 6 to 14."""
        self._check()
        self._used += self._one_way()
        self._tell("one-way marginals")
        scored = self._r_scores(self._used)
        self._tell("scores")
        selected = self._select(scored)
        self._used += self._measure(selected)
        self._tell("measurements")
        model = self._fit(consistent(self._domain, self._used, self._measurer.record_count))
        wanted = self._workload.cliques
        return self._result(
            model,
            wanted,
            scored={clique: scored[clique] for clique in wanted if clique in scored},
            selected=selected,
            selection=SELECTED_BY,
        )

    def _check(self) -> None:
        scores = self._named.get("scores")
        check_smallest(self._domain, scores.cliques if scores else (), self._config.max_model_mb)

    def _one_way(self) -> list[Measurement]:
        """Line 6."""
        return one_way_marginals(self._measurer, self._budget("one-way"))

    def _r_scores(self, one_way: Sequence[Measurement]) -> dict[Clique, ScoredDistance]:
        """Distances of all pairs from independence, in records (Algorithm 3, lines 5 to 8).

        Guarantee: zCDP at the share `scores` of the budget. One record changes the L1 distance from a public
            table by at most 1.
        """
        step = self._named.get("scores")
        if step is None:
            return {}
        independent = estimate(self._domain, one_way, total=self._measurer.record_count)
        references = [np.rint(m).astype(np.int64) for m in independent.marginals(step.cliques)]
        budget = self._budget(step.name)
        scores = self._with_paper_noise(self._measurer.score(step.asked, references, budget, step.name))
        return {
            pair: ScoredDistance(float(value), scores.sigma, reference)
            for pair, value, reference in zip(step.cliques, scores.values, references, strict=True)
        }

    def _with_paper_noise(self, scores: Scores) -> Scores:
        """The scores as measured; the paper's variant adds noise for a larger sensitivity."""
        return scores

    def _select(self, scored: Mapping[Clique, ScoredDistance]) -> list[Clique]:
        """Line 8."""
        left = self._measurer.accountant.remaining
        noise = {
            pair: EXPECTED_L1 * self._measurer.expected_sigma(View(pair), left) * self._domain.cells(pair)
            for pair in scored
        }
        distances = {pair: known.distance for pair, known in scored.items()}
        return select_batch(
            self._domain,
            Candidates(distances, noise, self._measurer.record_count),
            max_clique_cells=self._config.max_clique_cells,
            max_model_mb=self._config.max_model_mb,
            difference=self.difference,
        )

    def _measure(self, selected: Sequence[Clique]) -> list[Measurement]:
        """Lines 10 and 11: the selected pairs, and the attributes in no selected pair."""
        held = set(itertools.chain(*selected))
        cliques = [*selected, *((name,) for name in self._domain if name not in held)]
        cells = [self._domain.cells(clique) for clique in cliques]
        return measure_split(self._measurer, cliques, cells, self._measurer.accountant.remaining, "measure")

    def _fit(self, measurements: Sequence[Measurement]) -> MarkovRandomField:
        """Line 14."""
        fit: Estimator = self._fit_in_parallel if self._config.estimator == "parallel" else estimate
        return fit(self._domain, measurements, total=self._measurer.record_count)

    @property
    def _fit_in_parallel(self) -> Estimator:
        return estimate_in_parallel
