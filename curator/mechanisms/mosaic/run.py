"""A run of Mosaic: which interactions are scored and measured, when, and at what cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from ....common.data.domain import Clique
from ....common.data.interactions import freedom
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer, Query
from ...pgm.estimation import estimate
from ...pgm.junction_tree import TreeGrowth
from ...pgm.model import MarkovRandomField
from ...pgm.zeros import zeros_of
from ..parts.allocation import allocate
from ..parts.bounds import ScoredDistance
from ..parts.ending import ended
from ..parts.fitted import FittedModel, Progress, Report, Round
from ..parts.released import ReleasedModel
from ..parts.schedule import Schedule
from ..parts.scoring import DRAFT, FINAL, SELECTED_BY, rounds_of, score_against
from ..parts.steps import Step, by_name, measurable_as_interaction
from .averages import unbiased_averages
from .budget_split import SplitProblem, interactions_of
from .knowledge import Knowledge, parts_of
from .outside import pairs_outside, supplemented
from .views import CLASSES, classes_of

_LEFT = 0.7
"""Share of the noise's variance of an interaction that remains after all marginals are fitted together."""

_LEAST_PART = 1e-6

LEARNED = 0.1
"""Share of the last measurements for the pairs from which dependencies are learned."""


class Run:
    """One run.

    Args:
        measurer: answers queries and charges them.
        workload: marginals to preserve, with weights.
        steps: result of `Mosaic.steps`.
        schedule: schedule of the rounds.
        report: called with the progress after every step.
    """

    def __init__(
        self,
        measurer: Measurer,
        workload: Workload,
        steps: tuple[Step, ...],
        schedule: Schedule,
        report: Report,
    ) -> None:
        self._measurer = measurer
        self._domain = measurer.domain
        self._workload = workload
        self._steps = steps
        self._named = by_name(steps)
        self._schedule = schedule
        self._report = report
        self._known = Knowledge(measurer.domain, measurer.record_count, measurer.before)
        self._used: list[Measurement] = []
        self._rounds: list[Round] = []
        self._surveyed: dict[Clique, Measurement] = {}

    def run(self) -> FittedModel:
        """Spends the whole grant."""
        by_scores, more = "scores" in self._named, len(self._steps) > 1
        self._take("one-way")
        self._report_progress("one-way marginals", 0)
        draft = self._fit(None, DRAFT)
        model: ReleasedModel = draft
        scored: Mapping[Clique, ScoredDistance] = {}
        if more:
            self._survey(draft)
            draft = self._rounds_by_scores(draft) if by_scores else self._select_surveyed(draft)
            model = self._measure_again(draft)
            self._report_progress("last round", self._schedule.rounds)
        if by_scores:
            scored = self._last_scores(model)
        selection = SELECTED_BY if by_scores else "noisy interactions of pairs" if more else ""
        return ended(
            self._measurer,
            self._steps,
            model,
            self._used,
            averages=unbiased_averages(self._known, self._workload.cliques, self._used),
            scored=scored,
            rounds=self._rounds,
            selected=self._known.chosen,
            selection=selection,
        )

    def _rounds_by_scores(self, model: MarkovRandomField) -> MarkovRandomField:
        scores, rounds = self._named["scores"], self._named["round"]
        sizes = dict(zip(rounds.cliques, rounds.sizes_in(self._domain), strict=True))
        for number in range(1, rounds.times + 1):
            wanted = self._known.ready(rounds.cliques)
            budget = self._budget("scores")
            self._known.score(score_against(self._measurer, model, wanted, budget, scores.name))
            self._report_progress("scores", number)
            most = self._schedule.most(number, len(rounds.cliques))
            reserved = budget * (scores.times - number)
            self._refer(model, self._surveyed)
            chosen = self._select(most, self._schedule.limit_mb(number), reserved)
            if chosen:
                self._known.chosen += chosen
                new = [clique for clique in chosen if clique not in self._surveyed]
                parts = allocate(self._budget("round"), [sizes[clique] for clique in new])
                found = [self._surveyed[clique] for clique in chosen if clique in self._surveyed]
                found += self._measure(new, parts, rounds.name) if new else []
                after = self._fit(model, DRAFT)
                self._rounds += rounds_of(found, model, after)
                model = after
                self._report_progress("round", number)
        return model

    def _survey(self, model: MarkovRandomField) -> None:
        """Measures pairs that are not scored."""
        pairs = list(self._named["survey"].cliques) if "survey" in self._named else []
        self._refer(model, pairs)
        self._surveyed = {m.clique: m for m in self._take("survey")} if pairs else {}
        self._report_progress("survey", 1)

    def _refer(self, model: MarkovRandomField, pairs: Iterable[Clique]) -> None:
        """Takes the model's current marginals as references of pairs that are not in it."""
        inside = {*self._known.chosen}
        outside = [clique for clique in pairs if clique not in inside]
        for clique, cells in zip(outside, model.marginals_within_limits(outside), strict=True):
            if cells is not None:
                self._known.refer(clique, cells)

    def _select_surveyed(self, model: MarkovRandomField) -> MarkovRandomField:
        """Without scores: selects among the measured pairs."""
        most = len(self._surveyed)
        self._known.chosen = self._select(most, self._schedule.max_model_mb, Fraction(0))
        after = self._fit(model, DRAFT)
        self._rounds += rounds_of([self._surveyed[clique] for clique in self._known.chosen], model, after)
        return after

    def _select(self, most: int, limit_mb: float, reserved: Fraction) -> list[Clique]:
        """Greedy selection of the candidates with the largest gains that keep the model small enough.

        Pairs from which dependencies are learned come first.
        """
        known = self._known
        total = float(self._measurer.accountant.remaining - reserved)
        cliques = [*known.ones, *known.effects]
        known.learn_sizes()
        _, gains = self._problem(cliques).split(total)
        gain = dict(zip(cliques, gains, strict=True))
        before, needed = {*known.chosen}, {*zeros_of(self._domain).learned}
        others = [c for c in known.effects if c not in before and (gain[c] > 0 or c in needed)]
        promising = sorted(others, key=lambda c: (c not in needed, -gain[c]))
        chosen: list[Clique] = []
        while len(chosen) < most:
            growth = TreeGrowth(self._domain, [*known.ones, *known.chosen, *chosen])
            place = growth.first_within(promising, limit_mb)
            if place is None:
                break
            chosen.append(promising[place])
            # A candidate that makes the model too large now still does after others are added.
            promising = promising[place + 1 :]
        return chosen

    def _measure_again(self, model: MarkovRandomField) -> ReleasedModel:
        """Spends the rest, except for the last scores, where it improves the workload most.

        Pairs that do not fit into the model are measured too, if that is worth it.
        """
        known = self._known
        scores = self._budget("scores") if "scores" in self._named else Fraction(0)
        left = self._measurer.accountant.remaining - scores
        budget = float(left) * (1 - 1e-9)
        known.learn_sizes()
        cliques = [*known.ones, *known.chosen, *pairs_outside(known)]
        learned = [pair for pair in zeros_of(self._domain).learned if pair in known.chosen]
        reserved = LEARNED * budget if learned else 0.0
        parts, _ = self._problem(cliques).split(budget - reserved)
        for pair in learned:
            parts[cliques.index(pair)] += reserved / len(learned)
        paid = {
            clique: Fraction(float(part))
            for clique, part in zip(cliques, parts, strict=True)
            if part > _LEAST_PART * float(left)
        }
        if paid:
            self._measure(list(paid), list(paid.values()), self._named["last round"].name)
        return supplemented(self._fit(model, FINAL), known, self._workload)

    def _last_scores(self, model: ReleasedModel) -> dict[Clique, ScoredDistance]:
        """Scores of the released model on the workload, with the rest of the budget."""
        scores = self._named["scores"]
        may = {*scores.cliques}
        wanted = [clique for clique in self._workload.cliques if clique in may]
        rest = self._measurer.accountant.remaining
        scored = score_against(self._measurer, model, wanted, rest, scores.name)
        self._report_progress("scores", self._schedule.rounds)
        return scored

    def _take(self, name: str) -> list[Measurement]:
        """Runs a step that measures all its interactions at once."""
        step = self._named[name]
        if not step.cliques:
            return []
        return self._measure(
            step.cliques, allocate(self._budget(name), step.sizes_in(self._domain)), step.name
        )

    def _measure(self, cliques: Sequence[Clique], parts: Sequence[Fraction], step: str) -> list[Measurement]:
        queries = [
            Query(clique, rho, step, interaction=measurable_as_interaction(self._domain.shape(clique)))
            for clique, rho in zip(cliques, parts, strict=True)
        ]
        found = self._measurer.measure(queries)
        self._known.measure(found)
        self._used += found
        return found

    def _problem(self, cliques: Sequence[Clique]) -> SplitProblem:
        """The budget split problem of these interactions for the workload."""
        known, records = self._known, self._measurer.record_count
        deviations, cells = np.zeros((len(cliques), CLASSES)), np.zeros((len(cliques), CLASSES))
        precision, price = np.zeros(len(cliques)), np.zeros(len(cliques))
        probe = self._measurer.accountant.remaining / len(cliques)
        for i, clique in enumerate(cliques):
            shape = self._domain.shape(clique)
            if len(clique) == 1:
                deviations[i, 0], cells[i, 0] = records, shape[0]
            else:
                deviations[i], cells[i] = classes_of(known.effects[clique].deviations(records))
            precision[i] = known.precision(clique)
            sigma = self._measurer.expected_sigma(clique, probe, interaction=measurable_as_interaction(shape))
            left = _LEFT if len(clique) > 1 else 1.0
            price[i] = left * sigma**2 * freedom(shape) * float(probe)
        place = {clique: i for i, clique in enumerate(cliques)}
        marginals = interactions_of(
            [[place[part] for part in parts_of(clique) if part in place] for clique in self._workload.cliques]
        )
        return SplitProblem(deviations, cells, precision, price, marginals, np.array(self._workload.weights))

    def _fit(self, warm_start: MarkovRandomField | None, tolerance: float) -> MarkovRandomField:
        """Fits a model to the current estimates of its marginals."""
        total = self._measurer.record_count
        targets = self._known.targets(last=tolerance == FINAL)
        return estimate(self._domain, targets, total=total, warm_start=warm_start, tolerance=tolerance)

    def _budget(self, name: str) -> Fraction:
        """Budget of a step each time, zCDP."""
        return self._named[name].budget(self._measurer.granted)

    def _report_progress(self, step: str, number: int) -> None:
        self._report(Progress(step, (), number, self._measurer.accountant.spent_share))
