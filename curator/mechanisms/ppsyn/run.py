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
from ...pgm.fitting.estimation import estimate
from ...pgm.model import MarkovRandomField
from ...pgm.structure.junction_tree import TreeGrowth
from ..independent import one_way_marginals
from ..parts.allocation import EXPECTED_L1, allocate
from ..parts.bounds import ScoredDistance
from ..parts.ending import averages_of, ended
from ..parts.fitted import FittedModel, Progress, Report, Round
from ..parts.schedule import Schedule
from ..parts.scoring import (
    DRAFT,
    FINAL,
    SELECTED_BY,
    check_scores,
    measurable_cliques,
    rounds_of,
    score_against,
)
from ..parts.steps import Asks, PublicFacts, Step, by_name, one_way_step
from .partition_choice import Partitioned
from .partitions import WithinBoxDeviation, sequence_of
from .settings import PPSynSettings


class PartitionRun:
    """One run of the default variant.

    Args:
        config: parameters of the mechanism.
        measurer: a measurer with `scores_exactly`.
        workload: candidates.
        stream: not used, because all noise comes from the measurer.
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
        self._config = config
        self._measurer = measurer
        self._domain = measurer.domain
        self._steps = self.steps(config, measurer, workload)
        self._schedule = Schedule(self._step("round").times, config.max_model_mb)
        weights = dict(zip(workload.cliques, workload.weights, strict=True))
        self._weights = {clique: weights[clique] for clique in self._step("round").cliques}
        self._report = report
        self._used: list[Measurement] = []
        self._rounds: list[Round] = []
        self._scored: dict[Clique, ScoredDistance] = {}

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

    def run(self) -> FittedModel:
        """Algorithm 1 with several marginals in each round."""
        one_way = self._step("one-way")
        ways = one_way_marginals(self._measurer, one_way.budget(self._measurer.granted))
        self._used += ways
        self._report_progress("one-way marginals", 0)
        model = self._estimate(None)
        self._candidates = self._partitioned(model, ways)
        for number in range(1, self._schedule.rounds + 1):
            self._score(model)
            self._report_progress("scores", number)
            chosen = self._select(number)
            if chosen:
                model = self._measure(chosen, model)
                self._report_progress("round", number)
        model = self._measure_again(model)
        self._report_progress("last round", self._schedule.rounds)
        self._score(model)
        self._report_progress("scores", self._schedule.rounds)
        return ended(
            self._measurer,
            self._steps,
            model,
            self._used,
            averages=averages_of(self._measurer, self._weights, self._used),
            scored=self._scored,
            rounds=self._rounds,
            selection=f"{SELECTED_BY}, for each unit of budget",
        )

    def _partitioned(
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

    def _score(self, model: MarkovRandomField) -> None:
        """Algorithm 2, line 2: noisy distances between table and model, for computable marginals."""
        scored = score_against(self._measurer, model, list(self._weights), self._score_budget())
        self._scored = scored or self._scored

    def _select(self, number: int) -> dict[Clique, tuple[int, Fraction]]:
        """Lines 3 to 6: the best scores for each unit of budget, as many as the round can pay for.

        Returns:
            For each selected clique, its number of boxes and its budget.
        """
        # The remaining rounds and the last round get equal parts.
        left = self._left() / (self._schedule.rounds + 2 - number)
        limit = self._schedule.limit_mb(number)
        most = self._schedule.most(number, len(self._candidates))
        offers: dict[Clique, tuple[float, int, Fraction]] = {}
        for clique, scored in self._scored.items():
            contribution = self._contribution(scored)
            if contribution > 0:
                known = self._candidates[clique]
                boxes, rho = self._required(clique, contribution)
                offers[clique] = known.weight * contribution / float(rho), boxes, rho
        chosen: dict[Clique, tuple[int, Fraction]] = {}
        promising = sorted(offers, key=lambda clique: -offers[clique][0])
        measured = self._measured()
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

    def _required(self, clique: Clique, contribution: float) -> tuple[int, Fraction]:
        """Algorithm 2, line 3: the number of boxes that needs the least budget, and that budget."""
        boxes, root = self._candidates[clique].cheapest(self._config.eta)
        # The noise of one sum has the expected absolute value sqrt(unit / rho).
        granted = self._measurer.granted
        unit = (EXPECTED_L1 * self._measurer.expected_sigma(View(clique), granted)) ** 2 * granted
        return boxes, Fraction(unit) * Fraction(root / contribution) ** 2

    def _measure(
        self, chosen: dict[Clique, tuple[int, Fraction]], before: MarkovRandomField
    ) -> MarkovRandomField:
        """Algorithm 1, lines 7 to 10."""
        queries = [self._query(clique, boxes, rho, "round") for clique, (boxes, rho) in chosen.items()]
        found = self._measurer.measure(queries)
        self._used += found
        for clique, (boxes, _) in chosen.items():
            known = self._candidates[clique]
            first = known.contribution or self._contribution(self._scored[clique])
            self._candidates[clique] = replace(known, boxes=max(known.boxes, boxes), contribution=first)
        model = self._estimate(before)
        self._rounds += rounds_of(found, before, model)
        return model

    def _query(self, clique: Clique, boxes: int, rho: Fraction, step: str) -> Query:
        known = self._candidates.get(clique)
        if known is None or boxes == known.cells:
            return Query(View(clique), rho, step)
        return Query(View(clique, boxes=known.sequence.boxes(boxes)), rho, step)

    def _measure_again(self, model: MarkovRandomField) -> MarkovRandomField:
        """The last round: the rest, except for the last scores, goes to all marginals of the model."""
        measured = self._measured()
        left = self._left()
        counts: list[int] = [self._domain.cells(clique) for clique in measured]
        # Fewer boxes get a smaller part, which leaves more to others; three iterations nearly converge.
        for _ in range(3):
            for place, rho in enumerate(allocate(left, counts)):
                known = self._candidates.get(measured[place])
                if known and known.boxes:
                    sigma = self._measurer.expected_sigma(View(measured[place]), rho)
                    counts[place] = known.finest_worthwhile(EXPECTED_L1 * sigma)
        parts = allocate(left, counts)
        queries = [
            self._query(c, k, rho, "last round") for c, k, rho in zip(measured, counts, parts, strict=True)
        ]
        self._used += self._measurer.measure(queries)
        return self._estimate(model, FINAL)

    def _score_budget(self) -> Fraction:
        return self._step("scores").budget(self._measurer.granted)

    def _left(self) -> Fraction:
        """The remaining budget without that of the last scores."""
        return self._measurer.accountant.remaining - self._score_budget()

    def _measured(self) -> list[Clique]:
        return list(dict.fromkeys(measurement.clique for measurement in self._used))

    def _estimate(self, warm_start: MarkovRandomField | None, tolerance: float = DRAFT) -> MarkovRandomField:
        total = self._measurer.record_count
        return estimate(self._domain, self._used, total=total, warm_start=warm_start, tolerance=tolerance)

    def _step(self, name: str) -> Step:
        return by_name(self._steps)[name]

    def _report_progress(self, step: str, number: int) -> None:
        spent = self._measurer.accountant.spent_share
        self._report(Progress(step, (), number, spent))
