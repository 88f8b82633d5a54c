"""A run of Mosaic: which interactions are scored and measured, when, and at what cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

import numpy as np

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.interactions import freedom, interaction
from ....common.data.view import View
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer, Query
from ...pgm.fitting.estimation import estimate
from ...pgm.model import MarkovRandomField
from ...pgm.structure.junction_tree import TreeGrowth
from ...pgm.structure.zeros import zeros_of
from ...pgm.supplemented import SupplementedModel
from ..parts.allocation import allocate
from ..parts.bounds import ScoredDistance
from ..parts.ending import ended
from ..parts.fitted import FittedModel, Report, Round
from ..parts.released import ReleasedModel
from ..parts.schedule import Schedule
from ..parts.scoring import DRAFT, FINAL, SELECTED_BY, rounds_of, score_against, score_cells
from ..parts.steps import Step
from .budget_split import Measuring, Splitting
from .earlier import EarlierTable
from .grouped_rounds import GroupedRounds
from .knowledge import Knowledge, largest_forest
from .released import supplement_model, unbiased_averages
from .settings import SETTINGS

PATIENCE = 256
"""A round ends when so many of the most promising candidates in a row make the model too large."""


class Run:
    """One run.

    Args:
        measurer: answers queries and charges them.
        workload: marginals to preserve, with weights.
        steps: result of `Mosaic.steps`.
        schedule: schedule of the rounds.
        seconds: time limit of the release.
        stream: randomness of rows of unfinished models.
        report: called with the progress after every step.
    """

    def __init__(
        self,
        measurer: Measurer,
        workload: Workload,
        steps: tuple[Step, ...],
        schedule: Schedule,
        seconds: float,
        stream: RandomStream,
        report: Report,
    ) -> None:
        self._measurer = measurer
        self._domain = measurer.domain
        self._workload = workload
        self._steps = steps
        self._schedule = schedule
        earlier = None if measurer.prior is None else EarlierTable(measurer.prior, measurer.prior_sigma)
        self._known = Knowledge(measurer.domain, measurer.record_count, measurer.before, earlier)
        self._splitting = Splitting(measurer, self._known, workload)
        self._measuring = Measuring(measurer, self._known, steps, report)
        self._grouped = GroupedRounds(
            self._measuring, self._known, self._splitting, workload, seconds, stream
        )
        self._rounds: list[Round] = []
        self._surveyed: dict[Clique, Measurement] = {}

    def run(self) -> FittedModel:
        """Spends the whole grant."""
        by_scores, more = "scores" in self._measuring.steps, len(self._steps) > 1
        self._measuring.take("one-way")
        self._measuring.report_step("one-way marginals", 0)
        draft = self._fit(None, DRAFT)
        model: ReleasedModel = draft
        scored: Mapping[Clique, ScoredDistance] = {}
        if more:
            self._check_earlier()
            self._survey(draft)
            draft = self._rounds_by_scores(draft) if by_scores else self._select_surveyed(draft)
            model = self._last_round(draft)
            self._measuring.report_step("last round", self._schedule.rounds)
        if by_scores:
            scored = self._last_scores(model)
        selection = SELECTED_BY if by_scores else "noisy interactions of pairs" if more else ""
        return ended(
            self._measurer,
            self._steps,
            model,
            self._measuring.used,
            averages=unbiased_averages(self._known, self._workload.cliques, self._measuring.used),
            scored=scored,
            rounds=self._rounds,
            selected=[*self._known.chosen, *self._known.beside],
            selection=selection,
        )

    def _rounds_by_scores(self, model: MarkovRandomField) -> MarkovRandomField:
        scores, rounds = self._measuring.steps["scores"], self._measuring.steps["round"]
        sizes = dict(zip(rounds.cliques, rounds.sizes_in(self._domain), strict=True))
        for number in range(1, rounds.times + 1):
            wanted = self._known.ready(rounds.cliques)
            budget = self._measuring.budget("scores")
            self._score(model, wanted, budget)
            self._measuring.report_step("scores", number)
            most = self._schedule.most(number, len(rounds.cliques))
            reserved = budget * (scores.times - number)
            self._refer(model, self._surveyed_outside())
            chosen = self._select(most, self._schedule.limit_mb(number), reserved)
            if chosen:
                self._known.chosen += chosen
                new = [c for c in chosen if c not in self._surveyed and not self._is_told(c, chosen[c])]
                parts = allocate(self._budget_of({c: chosen[c] for c in new}), [sizes[c] for c in new])
                found = [self._surveyed[clique] for clique in chosen if clique in self._surveyed]
                found += self._measuring.measure(new, parts, rounds.name) if new else []
                after = self._fit(model, DRAFT)
                self._rounds += rounds_of(found, model, after)
                model = after
                self._measuring.report_step("round", number)
        return model

    def _score(self, model: MarkovRandomField, wanted: Sequence[Clique], budget: Fraction) -> None:
        """Scores candidates: beside the model, or an earlier table where that is likely right."""
        step, known = self._measuring.steps["scores"].name, self._known
        marginals = zip(wanted, model.marginals_within_limits(wanted), strict=True)
        cells = {clique: cells for clique, cells in marginals if cells is not None}
        expected = known.expected_early([*cells])
        scored = score_cells(self._measurer, cells | expected, budget, step)
        known.score(scored, {clique: cells[clique] for clique in expected})

    def _check_earlier(self) -> None:
        """Measures a few interactions of an earlier table that say whether it is right, if noise is small."""
        earlier, measurer = self._known.earlier, self._measurer
        if earlier is None or "round" not in self._measuring.steps:
            return
        telling = earlier.telling(measurer.record_count)
        if not telling.views:
            return
        most = measurer.granted * Fraction(SETTINGS.earlier_asked) / len(telling.views)
        power = telling.power(_deviation(measurer, telling.views[0], most))
        if power < SETTINGS.earlier_tells:
            return
        rho = most * Fraction(min(1.0, (SETTINGS.earlier_enough / power) ** 2))
        step = self._measuring.steps["round"].name
        found = measurer.measure([Query(view, rho, step) for view in telling.views])
        cells = np.array([interaction(one.values, (2, 2))[0] for one in found])
        self._known.tell(telling.ratio(cells, _deviation(measurer, telling.views[0], rho)))

    def _is_told(self, clique: Clique, part: float) -> bool:
        """Whether a selected interaction is not measured, since an earlier table says enough of it."""
        if self._known.effect(clique).earlier is None or clique in zeros_of(self._domain).learned:
            return False
        return part <= SETTINGS.least_part * float(self._measurer.accountant.remaining)

    def _budget_of(self, new: Mapping[Clique, float]) -> Fraction:
        """Budget of a round: at most what the split gives these interactions, unless dependencies need it."""
        budget = self._measuring.budget("round")
        if any(clique in new for clique in zeros_of(self._domain).learned):
            return budget
        return min(budget, Fraction(sum(new.values())))

    def _survey(self, model: MarkovRandomField) -> None:
        """Measures pairs that are not scored."""
        pairs = list(self._measuring.steps["survey"].cliques) if "survey" in self._measuring.steps else []
        self._refer(model, pairs)
        self._surveyed = {m.clique: m for m in self._measuring.take("survey")} if pairs else {}
        self._measuring.report_step("survey", 1)

    def _surveyed_outside(self) -> list[Clique]:
        """The measured pairs that are not in the model."""
        inside = {*self._known.chosen}
        return [clique for clique in self._surveyed if clique not in inside]

    def _refer(self, model: MarkovRandomField, pairs: Sequence[Clique]) -> None:
        """Takes a model's marginals as references of these pairs."""
        for clique, cells in zip(pairs, model.marginals_within_limits(pairs), strict=True):
            if cells is not None:
                self._known.refer(clique, cells)

    def _select_surveyed(self, model: MarkovRandomField) -> MarkovRandomField:
        """Without scores: selects among the measured pairs, a forest first."""
        known = self._known
        for forest in (True, False):
            rest = self._surveyed_outside()
            self._refer(model, rest)
            chosen = self._select(len(rest), self._schedule.max_model_mb, Fraction(0), forest)
            known.chosen += chosen
            after = self._fit(model, DRAFT)
            self._rounds += rounds_of([self._surveyed[clique] for clique in chosen], model, after)
            model = after
        return model

    def _select(
        self, most: int, limit_mb: float, reserved: Fraction, forest: bool = False
    ) -> dict[Clique, float]:
        """Greedy selection of the candidates with the largest gains that keep the model small enough.

        Pairs from which dependencies are learned come first. No others are selected whose measurement the
        predicted error is not worth.

        Returns:
            The parts of the budget that the split gives the selected interactions, zCDP.
        """
        known = self._known
        total = float(self._measurer.accountant.remaining - reserved)
        of_codes = known.in_codes()
        cliques = [*known.ones, *of_codes]
        known.learn_sizes()
        parts, gains = self._splitting.parts_and_gains(cliques, total)
        part, gain = dict(zip(cliques, parts, strict=True)), dict(zip(cliques, gains, strict=True))
        before, needed = {*known.chosen}, {*zeros_of(self._domain).learned}
        paid = (
            c
            for c, effect in of_codes.items()
            if part[c] > SETTINGS.least_part * total or effect.observed or effect.earlier
        )
        worth = {clique for clique in paid if gain[clique] > 0} | needed
        others = [c for c in of_codes if c not in before and c in worth]
        if forest:
            others = largest_forest({clique: gain[clique] for clique in others})
        promising = sorted(others, key=lambda c: (c not in needed, -gain[c]))
        chosen: list[Clique] = []
        while len(chosen) < most:
            growth = TreeGrowth(self._domain, [*known.ones, *known.chosen, *chosen])
            place = growth.first_within(promising[:PATIENCE], limit_mb)
            if place is None:
                break
            chosen.append(promising[place])
            # A candidate that makes the model too large now still does after others are added.
            promising = promising[place + 1 :]
        return {clique: float(part[clique]) for clique in chosen}

    def _last_round(self, model: MarkovRandomField) -> ReleasedModel:
        """Measures all interactions once more, and larger ones if they are found; the last fit."""
        kept = self._measuring.budget("scores") if "scores" in self._measuring.steps else Fraction(0)
        if "larger" not in self._measuring.steps:
            self._measure_again(kept)
            found = self._fit_with_supplement(model, FINAL)
        else:
            self._grouped.pairs(model)
            self._grouped.few_groups(model)
            self._measure_again(kept + self._measurer.granted * Fraction(SETTINGS.larger_kept))
            draft = self._grouped.larger(self._fit_with_supplement(model, DRAFT))
            self._measure_again(kept)
            found = self._grouped.complete(self._fit_with_supplement(draft.model, FINAL))
        return found if found.pairs or found.larger or found.grouped else found.model

    def _measure_again(self, kept: Fraction) -> None:
        """Spends the rest, except for what is kept, where it improves the workload most.

        Pairs that do not fit into the model are measured too, if that is worth it, and larger interactions.
        """
        known = self._known
        left = self._measurer.accountant.remaining - kept
        budget = float(left) * (1 - 1e-9)
        known.learn_sizes()
        cliques = self._grouped.of_workload()
        learned = [pair for pair in zeros_of(self._domain).learned if pair in known.chosen]
        reserved = SETTINGS.learned * budget if learned else 0.0
        more = self._grouped.beyond_workload()
        parts, _ = self._splitting.split(cliques, budget - reserved, more)
        for pair in learned:
            parts[cliques.index(pair)] += reserved / len(learned)
        paid = {
            clique: Fraction(float(part))
            for clique, part in zip([*cliques, *more], parts, strict=True)
            if part > SETTINGS.least_part * float(left)
        }
        if paid:
            self._measuring.measure(list(paid), list(paid.values()), self._measuring.steps["last round"].name)

    def _fit_with_supplement(self, start: MarkovRandomField, tolerance: float) -> SupplementedModel:
        """A fit from this model, with the pairs and larger marginals to which rows are adjusted.

        The largest pairs that make no cycle say most of what others are, so these are estimated beside them.
        """
        known = self._known
        self._refer(self._fit_to((), None, DRAFT), known.pairs())
        forest = known.forest()
        inside = {*forest}
        others = [pair for pair in known.pairs() if pair not in inside]
        if others:
            self._refer(self._fit_to(forest, None, DRAFT), others)
        return supplement_model(self._fit(start, tolerance), known, self._workload)

    def _last_scores(self, model: ReleasedModel) -> dict[Clique, ScoredDistance]:
        """Scores of the released model on the workload, with the rest of the budget."""
        scores = self._measuring.steps["scores"]
        may = {*scores.cliques}
        wanted = [clique for clique in self._workload.cliques if clique in may]
        rest = self._measurer.accountant.remaining
        scored = score_against(self._measurer, model, wanted, rest, scores.name)
        self._measuring.report_step("scores", self._schedule.rounds)
        return scored

    def _fit(self, warm_start: MarkovRandomField | None, tolerance: float) -> MarkovRandomField:
        """Learns from all that is known, and fits the model to its marginals."""
        self._known.learn(last=tolerance == FINAL)
        return self._fit_to(self._known.chosen, warm_start, tolerance)

    def _fit_to(
        self, cliques: Collection[Clique], warm_start: MarkovRandomField | None, tolerance: float
    ) -> MarkovRandomField:
        """A model fitted to one-way and these marginals."""
        targets, total = self._known.targets(cliques), self._measurer.record_count
        return estimate(self._domain, targets, total=total, warm_start=warm_start, tolerance=tolerance)


def _deviation(measurer: Measurer, view: View, rho: Fraction) -> float:
    """Standard deviation of the noise of a cell of an interaction of two groups by two, at this cost."""
    return measurer.expected_sigma(view, rho) * math.sqrt(freedom((2, 2)))
