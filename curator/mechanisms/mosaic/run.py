"""A run of Mosaic: which interactions are scored and measured, when, and at what cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.grouping import grouped_shape
from ....common.data.interactions import freedom
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
from .budget_split import SplitProblem, interactions_of
from .effects import Effect
from .knowledge import Knowledge, parts_of
from .larger import Larger, most_cells, most_scored
from .outside import pairs_outside, supplemented
from .views import CLASSES, classes_of

_LEFT = 0.7
"""Share of the noise's variance of an interaction that remains after all marginals are fitted together."""

_LEAST_PART = 1e-6

LARGER = 0.1
ORDERS = (3, 4, 5)
WEIGHTS = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)
TOLERATED = 0.01
MOST_CHOSEN = 100
DRAFT_ROWS = 1 << 17
TEST = 0.02
LEFT = 0.8
LARGE = 0.05
DEBUG = False

LEARNED = 0.1
"""Share of the last measurements for the pairs from which dependencies are learned."""


PATIENCE = 256
"""A round ends when so many of the most promising candidates in a row make the model too large."""


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
        stream: RandomStream,
        report: Report,
    ) -> None:
        self._stream = stream
        self._measurer = measurer
        self._domain = measurer.domain
        self._workload = workload
        self._steps = steps
        self._named = by_name(steps)
        self._schedule = schedule
        self._report = report
        self._known = Knowledge(measurer.domain, measurer.record_count, measurer.before)
        self._larger = Larger(self._known)
        self._used: list[Measurement] = []
        self._rounds: list[Round] = []

    def run(self) -> FittedModel:
        """Spends the whole grant."""
        by_scores, more = "scores" in self._named, len(self._steps) > 1
        self._take("one-way")
        self._report_progress("one-way marginals", 0)
        draft = self._fit(None, DRAFT)
        model: ReleasedModel = draft
        scored: Mapping[Clique, ScoredDistance] = {}
        if more:
            draft = self._rounds_by_scores(draft) if by_scores else self._survey(draft)
            model = self._measure_again(draft)
            self._report_progress("last round", self._schedule.rounds)
            if "larger scores" in self._named:
                model = self._with_larger(model)
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
            chosen = self._select(most, self._schedule.limit_mb(number), reserved)
            if chosen:
                self._known.chosen += chosen
                parts = allocate(self._budget("round"), [sizes[clique] for clique in chosen])
                found = self._measure(chosen, parts, rounds.name)
                after = self._fit(model, DRAFT)
                self._rounds += rounds_of(found, model, after)
                model = after
                self._report_progress("round", number)
        return model

    def _survey(self, model: MarkovRandomField) -> MarkovRandomField:
        """Without scores: measures pairs, and selects by these measurements."""
        pairs = list(self._named["survey"].cliques) if "survey" in self._named else []
        for clique, cells in zip(pairs, model.marginals_within_limits(pairs), strict=True):
            if cells is not None:
                self._known.effects[clique] = Effect(self._domain.shape(clique), cells)
        found = {m.clique: m for m in self._take("survey")} if pairs else {}
        self._report_progress("survey", 1)
        self._known.chosen = self._select(len(pairs), self._schedule.max_model_mb, Fraction(0))
        after = self._fit(model, DRAFT)
        self._rounds += rounds_of([found[clique] for clique in self._known.chosen], model, after)
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
            place = growth.first_within(promising[:PATIENCE], limit_mb)
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
        kept = self._budget("scores") if "scores" in self._named else Fraction(0)
        if "larger scores" in self._named:
            kept += self._measurer.granted * Fraction(LARGER)
        self._spend(kept)
        return self._released(model)

    def _spend(self, kept: Fraction) -> None:
        """Measures all interactions once more, for all that is left of the budget except for `kept`."""
        known = self._known
        left = self._measurer.accountant.remaining - kept
        budget = float(left) * (1 - 1e-9)
        known.learn_sizes()
        cliques = [*known.ones, *known.chosen, *pairs_outside(known)]
        learned = [pair for pair in zeros_of(self._domain).learned if pair in known.chosen]
        reserved = LEARNED * budget if learned else 0.0
        parts, _ = self._split_with_larger(cliques, budget - reserved)
        cliques += self._larger.chosen
        for pair in learned:
            parts[cliques.index(pair)] += reserved / len(learned)
        paid = {
            clique: Fraction(float(part))
            for clique, part in zip(cliques, parts, strict=True)
            if part > _LEAST_PART * float(left)
        }
        if paid:
            self._measure(list(paid), list(paid.values()), self._named["last round"].name)

    def _released(self, model: MarkovRandomField | SupplementedModel) -> ReleasedModel:
        """The last fit, with the marginals to which rows are adjusted."""
        start = model.model if isinstance(model, SupplementedModel) else model
        return supplemented(self._fit(start, FINAL), self._known, self._workload)

    def _with_larger(self, model: ReleasedModel) -> ReleasedModel:
        """Looks for larger interactions, measures those that are worth it, and spends the rest."""
        larger, records = self._larger, self._measurer.record_count
        scores, step = self._named["larger scores"], self._named["larger"]
        rows = self._draft_rows(model)
        for place, order in enumerate(ORDERS):
            rho = scores.budget(self._measurer.granted)
            sigma = self._measurer.expected_sigma(step.cliques[0], self._measurer.granted * Fraction(1, 20))
            cells = most_cells(records, sigma)
            most = most_scored(records, float(rho))
            wanted = larger.find(order, rows, cells, most, self._workload.cliques)
            if not wanted:
                break
            references = larger.references(wanted, rows)
            groups = [larger.groups[clique] for clique in wanted]
            found = self._measurer.score(wanted, references, rho, scores.name, groups)
            larger.score(wanted, references, found.values, found.sigma, rows.record_count)
            chosen = self._select_larger(wanted)
            if DEBUG: print("order", order, len(wanted), "sigma", found.sigma, "cells", cells, "chosen", [(c, larger.shape(c), round(larger._size(c)/records,3)) for c in chosen[:4]], len(chosen))
            if not chosen:
                break
            larger.chosen += chosen
            self._measure(chosen, allocate(step.budget(self._measurer.granted), [math.prod(larger.shape(c)) for c in chosen]), step.name)
            self._report_progress("larger", place)
            rows = self._draft_rows(self._adjusted(model, rows))
        self._spend(self._budget("scores"))
        model = self._released(model)
        for order in ORDERS:
            if any(len(c) == order for c in larger.chosen):
                rows = self._draft_rows(model)
                model = self._adjusted(model, rows, order)
        if DEBUG:
            for c in larger.chosen[:5]: print("final", c, larger.shape(c), round(larger._size(c)/records,4), larger.effects[c].observed.variance**.5)
        return model

    def _select_larger(self, scored: Sequence[Clique]) -> list[Clique]:
        """The candidates with the largest gains; so many that the workload's error rises little."""
        known = self._known
        cliques = [*known.ones, *known.chosen, *pairs_outside(known)]
        total = float(self._measurer.accountant.remaining)
        _, gains = self._problem(cliques, scored, 1.0).split(total)
        order = np.argsort(-gains[len(cliques) :], kind="stable")
        test = self._measurer.granted * Fraction(TEST)
        worth = [scored[i] for i in order if self._worth(scored[i], test)]
        if len(scored[0]) > 3:
            least = LARGE * self._measurer.record_count
            worth = [c for c in worth if self._larger._size(c) >= least]
        most = min(MOST_CHOSEN, len(worth))
        while most:
            chosen = worth[:most]
            _, weight = self._split_with_larger(cliques, total, chosen)
            if weight:
                return chosen
            most //= 2
        return []

    def _worth(self, clique, rho):
        larger = self._larger
        sigma = self._measurer.expected_sigma(clique, rho, interaction=True, groups=larger.groups[clique])
        noise = (sigma**2 * freedom(larger.shape(clique)))
        d = larger.effects[clique].deviations(self._measurer.record_count)
        return float((d / np.sqrt(1 + d**2 / noise)).sum()) <= LEFT * float(d.sum())

    def _split_with_larger(self, cliques, total, more=()):
        """The split"""
        larger = [*self._larger.chosen, *more]
        problem = self._problem(cliques)
        parts, _ = problem.split(total)
        least = problem.error(parts)
        for weight in WEIGHTS if larger else ():
            both, _ = self._problem(cliques, larger, weight).split(total)
            if problem.error(both[: len(cliques)]) <= (1 + TOLERATED) * least:
                if DEBUG: print(len(larger), "weight", weight, "error", problem.error(both[: len(cliques)])/least, "share", both[len(cliques):].sum()/total)
                return both, weight
        return np.append(parts, np.zeros(len(larger))), 0.0

    def _draft_rows(self, model: ReleasedModel) -> Table:
        rows = min(DRAFT_ROWS, max(DRAFT_ROWS // 4, 2 * self._measurer.record_count))
        return model.generate(rows, self._stream.child("rows", str(len(self._larger.chosen))).generator())

    def _adjusted(self, model: ReleasedModel, rows: Table, order: int | None = None) -> SupplementedModel:
        cliques = [c for c in self._larger.chosen if order is None or len(c) == order]
        grouped = tuple(self._larger.marginals(rows, cliques))
        if isinstance(model, SupplementedModel):
            before = tuple(g for g in model.grouped if g.clique not in cliques)
            return replace(model, grouped=(*before, *grouped))
        return SupplementedModel(model, {}, (), grouped)

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
        groups = self._larger.groups
        queries = [
            Query(
                clique,
                rho,
                step,
                interaction=measurable_as_interaction(self._domain.shape(clique)),
                groups=groups.get(clique, ()),
            )
            for clique, rho in zip(cliques, parts, strict=True)
        ]
        found = self._measurer.measure(queries)
        self._known.measure([one for one in found if one.clique not in self._larger.effects])
        self._larger.measure([one for one in found if one.clique in self._larger.effects])
        self._used += found
        return found

    def _problem(
        self, cliques: Sequence[Clique], larger: Sequence[Clique] = (), weight: float = 0.0
    ) -> SplitProblem:
        """The budget split problem of these interactions for the workload."""
        known, records = self._known, self._measurer.record_count
        every = [*cliques, *larger]
        deviations, cells = np.zeros((len(every), CLASSES)), np.zeros((len(every), CLASSES))
        precision, price = np.zeros(len(every)), np.zeros(len(every))
        probe = self._measurer.accountant.remaining / len(every)
        for i, clique in enumerate(every):
            groups = self._larger.groups[clique] if i >= len(cliques) else ()
            shape = grouped_shape(self._domain.shape(clique), groups)
            if i >= len(cliques):
                effect = self._larger.effects[clique]
                deviations[i], cells[i] = classes_of(effect.deviations(records))
                precision[i] = 0.0 if effect.observed is None else 1 / effect.observed.variance
            elif len(clique) == 1:
                deviations[i, 0], cells[i, 0] = records, shape[0]
            else:
                deviations[i], cells[i] = classes_of(known.effects[clique].deviations(records))
            if i < len(cliques):
                precision[i] = known.precision(clique)
            sigma = self._measurer.expected_sigma(
                clique, probe, interaction=measurable_as_interaction(shape), groups=groups
            )
            left = _LEFT if len(clique) > 1 else 1.0
            price[i] = left * sigma**2 * freedom(shape) * float(probe)
        place = {clique: i for i, clique in enumerate(cliques)}
        wanted = [
            [place[part] for part in parts_of(clique) if part in place] for clique in self._workload.cliques
        ]
        wanted += [[len(cliques) + i] for i in range(len(larger))]
        weights = np.append(self._workload.weights, np.full(len(larger), weight))
        return SplitProblem(deviations, cells, precision, price, interactions_of(wanted), weights)

    def _fit(self, warm_start: MarkovRandomField | None, tolerance: float) -> MarkovRandomField:
        """Fits a model to the current estimates of its marginals."""
        total = self._measurer.record_count
        targets = self._known.targets()
        return estimate(self._domain, targets, total=total, warm_start=warm_start, tolerance=tolerance)

    def _budget(self, name: str) -> Fraction:
        """Budget of a step each time, zCDP."""
        return self._named[name].budget(self._measurer.granted)

    def _report_progress(self, step: str, number: int) -> None:
        self._report(Progress(step, (), number, self._measurer.accountant.spent_share))
