"""A run of Mosaic: which interactions are scored and measured, when, and at what cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.table import Table
from ....common.data.workload import Workload
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer, Query
from ...pgm.estimation import estimate
from ...pgm.junction_tree import TreeGrowth
from ...pgm.model import MarkovRandomField
from ...pgm.supplemented import SupplementedModel
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
from .growth import ORDERS, candidates_within, drawn_rows, tells_much, worth_measuring
from .knowledge import Knowledge
from .larger import Larger
from .outside import pairs_outside, supplemented
from .splitting import Splitting

_LEAST_PART = 1e-6

LEARNED = 0.1
"""Share of the last measurements for the pairs from which dependencies are learned."""

LARGER = 0.15
"""Share of the budget that is kept until larger interactions are scored."""


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
        self._named = by_name(steps)
        self._schedule = schedule
        self._seconds = seconds
        self._stream = stream
        self._report = report
        self._known = Knowledge(measurer.domain, measurer.record_count, measurer.before)
        self._larger = Larger(self._known)
        self._splitting = Splitting(measurer, self._known, self._larger, workload)
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
            model = self._last_round(draft)
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
            selected=[*self._known.chosen, *self._larger.chosen],
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
        gains = self._splitting.gains(cliques, total)
        gain = dict(zip(cliques, gains, strict=True))
        before, needed = {*known.chosen}, {*zeros_of(self._domain).learned}
        others = [c for c in known.effects if c not in before and (gain[c] > 0 or c in needed)]
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
        return chosen

    def _last_round(self, model: MarkovRandomField) -> ReleasedModel:
        """Measures all interactions once more, and larger ones if they are found; the last fit."""
        kept = self._budget("scores") if "scores" in self._named else Fraction(0)
        if "larger" not in self._named:
            self._measure_again(kept)
            found = self._released(model, FINAL)
        else:
            self._measure_again(kept + self._measurer.granted * Fraction(LARGER))
            draft = self._larger_rounds(self._released(model, DRAFT))
            self._measure_again(kept)
            found = self._with_larger(self._released(draft.model, FINAL))
        return found if found.pairs or found.larger or found.grouped else found.model

    def _measure_again(self, kept: Fraction) -> None:
        """Spends the rest, except for what is kept, where it improves the workload most.

        Pairs that do not fit into the model are measured too, if that is worth it, and larger interactions.
        """
        known, larger = self._known, self._larger
        left = self._measurer.accountant.remaining - kept
        budget = float(left) * (1 - 1e-9)
        known.learn_sizes()
        cliques = self._of_workload()
        learned = [pair for pair in zeros_of(self._domain).learned if pair in known.chosen]
        reserved = LEARNED * budget if learned else 0.0
        parts, _ = self._splitting.split(cliques, budget - reserved, larger.chosen)
        for pair in learned:
            parts[cliques.index(pair)] += reserved / len(learned)
        paid = {
            clique: Fraction(float(part))
            for clique, part in zip([*cliques, *larger.chosen], parts, strict=True)
            if part > _LEAST_PART * float(left)
        }
        if paid:
            self._measure(list(paid), list(paid.values()), self._named["last round"].name)

    def _released(self, start: MarkovRandomField, tolerance: float) -> SupplementedModel:
        """A fit from this model, with the pairs and larger marginals to which rows are adjusted."""
        return supplemented(self._fit(start, tolerance), self._known, self._workload)

    def _larger_rounds(self, model: SupplementedModel) -> SupplementedModel:
        """Scores interactions of three attributes, then of ever more, and measures the large ones."""
        larger, scores, step = self._larger, self._named["larger scores"], self._named["larger"]
        rho = self._budget(scores.name)
        larger.learn_profiles(model)
        for number, order in enumerate(ORDERS, start=1):
            wanted = candidates_within(
                self._measurer, larger, order, rho, self._seconds, self._workload.cliques
            )
            if not wanted:
                continue
            rows = self._draw(model)
            references = larger.references(wanted, rows)
            whole = (np.rint(reference).astype(np.int64) for reference in references)
            groups = [larger.groups[clique] for clique in wanted]
            found = self._measurer.score(wanted, whole, rho, scores.name, groups)
            larger.score(wanted, references, found, rows.record_count)
            self._report_progress(scores.name, number)
            chosen = self._select_larger(wanted)
            if not chosen:
                break
            larger.chosen += chosen
            sizes = [math.prod(larger.shape(clique)) for clique in chosen]
            self._measure(chosen, allocate(self._budget(step.name), sizes), step.name)
            self._report_progress(step.name, number)
            model = replace(model, grouped=(*model.grouped, *larger.marginals(chosen, rows)))
        return model

    def _select_larger(self, scored: Sequence[Clique]) -> list[Clique]:
        """The interactions with the largest gains, so many that the workload's error rises little."""
        cliques, total = self._of_workload(), float(self._measurer.accountant.remaining)
        before = self._larger.chosen
        gains = self._splitting.gains(cliques, total, [*before, *scored])[-len(scored) :]
        worth = worth_measuring(self._measurer, self._larger, scored, gains, self._seconds)
        while worth:
            parts, tolerated = self._splitting.split(cliques, total, [*before, *worth])
            if not tolerated:
                worth = worth[: len(worth) // 2]
                continue
            paid = zip(worth, map(Fraction, parts[-len(worth) :].tolist()), strict=True)
            kept = [c for c, rho in paid if tells_much(self._measurer, self._larger, c, rho)]
            if len(kept) == len(worth):
                break
            worth = kept
        return worth

    def _with_larger(self, model: SupplementedModel) -> SupplementedModel:
        """The model with marginals of larger interactions, each made from rows adjusted to smaller ones."""
        larger = self._larger
        for order in ORDERS:
            cliques = [clique for clique in larger.chosen if len(clique) == order]
            if cliques:
                grouped = larger.marginals(cliques, self._draw(model))
                model = replace(model, grouped=(*model.grouped, *grouped))
        return model

    def _draw(self, model: SupplementedModel) -> Table:
        """Rows of an unfinished model."""
        return drawn_rows(model, self._measurer.record_count, self._stream)

    def _of_workload(self) -> list[Clique]:
        """Interactions in the model and pairs outside it."""
        return [*self._known.ones, *self._known.chosen, *pairs_outside(self._known)]

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
        grouped = self._larger.effects
        groups = [self._larger.groups[clique] if clique in grouped else () for clique in cliques]
        queries = [
            Query(clique, rho, step, interaction=self._alone(clique), groups=of)
            for clique, rho, of in zip(cliques, parts, groups, strict=True)
        ]
        found = self._measurer.measure(queries)
        self._larger.measure([one for one in found if one.clique in grouped])
        self._known.measure([one for one in found if one.clique not in grouped])
        self._used += found
        return found

    def _alone(self, clique: Clique) -> bool:
        """Whether a clique's interaction can be measured without the whole marginal."""
        grouped = clique in self._larger.effects
        shape = self._larger.shape(clique) if grouped else self._domain.shape(clique)
        return measurable_as_interaction(shape)

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
