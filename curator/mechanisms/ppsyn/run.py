"""A run of PPSyn's default variant; see `ppsyn.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer, Query
from ...pgm.model import MarkovRandomField
from ...pgm.structure.junction_tree import TreeGrowth
from ..independent import one_way_marginals
from ..parts.allocation import EXPECTED_L1, allocate
from ..parts.bounds import ScoredDistance
from ..parts.fitted import Report
from ..parts.run import ScoredRounds
from ..parts.scoring import (
    SELECTED_BY,
    check_scores,
    measurable_cliques,
)
from ..parts.steps import Asks, PublicFacts, Step, by_name, one_way_step
from .partition_choice import Partitioned
from .partitions import WithinBoxDeviation, sequence_of
from .settings import PPSynSettings


class PartitionRun(ScoredRounds):
    """One run of the default variant: Algorithm 1 with several marginals in each round.

    Attributes:
        selected_by: see `ScoredRounds`.

    Args:
        config: parameters of the mechanism.
        measurer: a measurer with `scores_exactly`.
        workload: candidates.
        stream: not used, because all noise comes from the measurer.
        report: called with the progress after every step.
    """

    selected_by = f"{SELECTED_BY}, for each unit of budget"

    def __init__(
        self,
        config: PPSynSettings,
        measurer: Measurer,
        workload: Workload,
        stream: RandomStream,
        report: Report,
    ) -> None:
        steps = self.steps(config, measurer, workload)
        candidates = workload.weights_of(by_name(steps)["round"].cliques)
        super().__init__(measurer, steps, candidates, config.max_model_mb, report)
        self._config = config

    @staticmethod
    def steps(config: PPSynSettings, facts: PublicFacts, candidates: Workload) -> tuple[Step, ...]:
        """Steps of the default; rounds and last round have equal parts if each round spends its part.

        The model is scored once in each round and once more at the end.

        Raises:
            DataError: the protocol gives no scores.
        """
        check_scores(facts, "ppsyn")
        one_way, scores, rounds = Fraction(config.one_way), Fraction(config.scores), config.rounds
        weights = dict(zip(candidates.cliques, candidates.weights, strict=True))
        cliques = tuple(c for c in measurable_cliques(facts, candidates.cliques) if weights[c])
        first = one_way_step(facts.domain, one_way)
        part = (1 - one_way - scores) / (rounds + 1)
        again = tuple(dict.fromkeys((*first.cliques, *cliques)))
        return (
            first,
            Step(
                "scores", "Scores of candidates in each round", Asks.SCORES, scores, cliques, times=rounds + 1
            ),
            Step(
                "round",
                "Selected marginals in each round, over boxes",
                Asks.MARGINALS,
                part * rounds,
                cliques,
                times=rounds,
            ),
            Step(
                "last round",
                "All marginals of the model once more, over boxes",
                Asks.MARGINALS,
                part,
                again,
                first.cliques,
            ),
        )

    def _one_way(self) -> list[Measurement]:
        return one_way_marginals(self._measurer, self._budget("one-way"))

    def _prepare(self, model: MarkovRandomField) -> None:
        self._candidates = self._partition_candidates(model, self._used)

    def _partition_candidates(
        self, model: MarkovRandomField, ways: Sequence[Measurement]
    ) -> dict[Clique, Partitioned]:
        """Partitions of every candidate from noisy one-way marginals; sigma is a lower bound of counts."""
        masses = {}
        for way in ways:
            counts = np.maximum(model.marginal(way.clique), way.sigma)
            masses[way.clique[0]] = counts / counts.sum()
        found = {}
        for clique, weight in self._weights.items():
            error = WithinBoxDeviation([masses[name] for name in clique])
            sequence = sequence_of(self._domain.shape(clique), error)
            found[clique] = Partitioned(sequence, self._domain.cells(clique), weight)
        return found

    def _round(self, number: int) -> list[Measurement]:
        """Algorithm 1, lines 7 to 10, for all marginals of the round."""
        chosen = self._select(number)
        if not chosen:
            return []
        queries = [self._query(clique, boxes, rho, "round") for clique, (boxes, rho) in chosen.items()]
        found = self._measurer.measure(queries)
        for clique, (boxes, _) in chosen.items():
            known = self._candidates[clique]
            first = known.contribution or self._contribution(self._scored[clique])
            self._candidates[clique] = replace(known, boxes=max(known.boxes, boxes), contribution=first)
        return found

    def _select(self, number: int) -> dict[Clique, tuple[int, Fraction]]:
        """Lines 3 to 6: the best scores for each unit of budget, as many as the round can pay for.

        Returns:
            For each selected clique, its number of boxes and its budget.
        """
        # The remaining rounds and the last round get equal parts.
        left = (self._measurer.accountant.remaining - self._budget("scores")) / (
            self._schedule.rounds + 2 - number
        )
        limit = self._schedule.limit_mb(number)
        most = self._schedule.most(number, len(self._candidates))
        offers: dict[Clique, tuple[float, int, Fraction]] = {}
        for clique, scored in self._scored.items():
            contribution = self._contribution(scored)
            if contribution > 0:
                known = self._candidates[clique]
                boxes, rho = self._cheapest_boxes(clique, contribution)
                offers[clique] = known.weight * contribution / float(rho), boxes, rho
        chosen: dict[Clique, tuple[int, Fraction]] = {}
        promising = sorted(offers, key=lambda clique: -offers[clique][0])
        measured = self._measured_cliques()
        new = 0
        while True:
            promising = [c for c in promising if offers[c][2] <= left and (new < most or c in measured)]
            place = TreeGrowth(self._domain, [*measured, *chosen]).first_within(promising, limit)
            if place is None:
                return chosen
            clique = promising[place]
            _, boxes, rho = offers[clique]
            chosen[clique] = boxes, rho
            left -= rho
            new += clique not in measured
            # Earlier candidates make the model too large; with one more clique they still do.
            promising = promising[place + 1 :]

    def _contribution(self, scored: ScoredDistance) -> float:
        """A score minus the deviation of its noise, because the largest are selected; at most 2 N records."""
        return min(scored.distance - scored.sigma, 2.0 * self._measurer.record_count)

    def _cheapest_boxes(self, clique: Clique, contribution: float) -> tuple[int, Fraction]:
        """Algorithm 2, line 3: the number of boxes that needs the least budget, and that budget."""
        boxes, root = self._candidates[clique].cheapest(self._config.eta)
        # The noise of one sum has the expected absolute value sqrt(unit / rho).
        granted = self._measurer.granted
        unit = (EXPECTED_L1 * self._measurer.expected_sigma(View(clique), granted)) ** 2 * granted
        return boxes, Fraction(unit) * Fraction(root / contribution) ** 2

    def _query(self, clique: Clique, boxes: int, rho: Fraction, step: str) -> Query:
        known = self._candidates.get(clique)
        if known is None or boxes == known.cells:
            return Query(View(clique), rho, step)
        return Query(View(clique, boxes=known.sequence.boxes(boxes)), rho, step)

    def _measure_again(self, left: Fraction) -> list[Measurement]:
        """The last round, over boxes."""
        measured = self._measured_cliques()
        counts: list[int] = [self._domain.cells(clique) for clique in measured]
        # Fewer boxes get a smaller part, which leaves more to others; three iterations nearly converge.
        for _ in range(3):
            for place, rho in enumerate(allocate(left, counts)):
                known = self._candidates.get(measured[place])
                if known and known.boxes:
                    sigma = self._measurer.expected_sigma(View(measured[place]), rho)
                    counts[place] = known.finest_worthwhile(EXPECTED_L1 * sigma)
        parts = allocate(left, counts)
        return self._measurer.measure(
            [self._query(c, k, rho, "last round") for c, k, rho in zip(measured, counts, parts, strict=True)]
        )
