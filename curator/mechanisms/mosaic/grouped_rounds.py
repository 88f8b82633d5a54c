"""Rounds in which interactions are counted in groups of codes: large pairs, then triples and more.

Which are scored and measured follows from public facts and noisy values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.grouping import group_sums
from ....common.data.interactions import freedom
from ....common.data.table import Table
from ....common.data.view import View
from ....common.data.workload import Workload
from ...measurers.measurer import Measurer
from ...pgm.model import MarkovRandomField
from ...pgm.structure.zeros import zeros_of
from ...pgm.supplemented import SupplementedModel
from ...work.limits import attributes_adjusted, larger_scored, rows_drawn, words_multiplied
from ..parts.allocation import allocate
from ..parts.steps import PublicFacts
from .budget_split import Measuring, Splitting
from .components import Array
from .few_groups import pairs_in_few_groups
from .grouping import Candidates, cliques_in_groups, most_cells
from .knowledge import Knowledge, parts_of
from .released import marginals_beside, pairs_beside, pairs_outside, references
from .settings import SETTINGS

MOST_SCORED = 2000
"""Most cliques that are scored at once."""

_SCORES, _STEP = "larger scores", "larger"


class GroupedRounds:
    """Scores and measures interactions of groups.

    Args:
        measuring: asks for interactions.
        known: what is known of interactions.
        splitting: predicts gains and errors.
        workload: marginals to preserve.
        seconds: time limit of the release.
        stream: randomness of rows of unfinished models.
    """

    def __init__(
        self,
        measuring: Measuring,
        known: Knowledge,
        splitting: Splitting,
        workload: Workload,
        seconds: float,
        stream: RandomStream,
    ) -> None:
        self._measuring = measuring
        self._measurer = measuring.measurer
        self._known = known
        self._candidates = Candidates(known)
        self._splitting = splitting
        self._workload = workload
        self._in_groups = {*cliques_in_groups(measuring.measurer, workload.cliques, seconds)}
        self._seconds = seconds
        self._stream = stream

    def of_workload(self) -> list[Clique]:
        """Interactions in the model, pairs outside it, of codes or groups, and the workload's in groups."""
        known = self._known
        codes = [*known.chosen, *pairs_outside(known)]
        of_codes = [clique for clique in codes if not known.view(clique).interaction]
        larger = [clique for clique in known.beside if clique in self._in_groups]
        return [*known.ones, *of_codes, *pairs_beside(known), *larger]

    def beyond_workload(self) -> list[Clique]:
        """The selected interactions of three and more attributes that no workload names."""
        return [c for c in self._known.beside if len(c) > 2 and c not in self._in_groups]

    def pairs(self, model: MarkovRandomField) -> None:
        """Scores pairs of which single codes would tell little; measures those of which groups tell more."""
        known, domain = self._known, self._measurer.domain
        if 2 not in orders_of(self._measurer):
            return
        known.learn_sizes()
        cliques = self.of_workload()
        parts, _ = self._splitting.split(cliques, self._budget_left)
        in_codes = self._splitting.shares_left(cliques, parts)
        wanted = self._grouped_candidates(
            2, {c for c, share in in_codes.items() if share <= SETTINGS.codes_tell}
        )
        found = zip(wanted, model.marginals_within_limits([view.clique for view in wanted]), strict=True)
        in_model = {
            view: group_sums(cells, domain.shape(view.clique), view.groups)
            for view, cells in found
            if cells is not None
        }
        if not in_model:
            return
        scored = [view.clique for view in in_model]
        self._score([*in_model], [*in_model.values()], math.inf)
        cliques = self.of_workload()
        gains = self._splitting.gains([*cliques, *scored], self._budget_left)[-len(scored) :]
        worth = worth_measuring(self._measurer, known, scored, gains, self._seconds)
        if worth:
            cliques += worth
            parts, _ = self._splitting.split(cliques, self._budget_left)
            in_groups = self._splitting.shares_left(cliques, parts)
            worth = [
                pair for pair in worth if in_groups[pair] <= SETTINGS.groups_tell * in_codes.get(pair, 1.0)
            ]
        known.leave_beside([pair for pair in scored if pair not in worth])
        self._measure(worth)
        self._measuring.report_step(_STEP, 0)

    def few_groups(self, model: MarkovRandomField) -> None:
        """Counts pairs in few groups, from now on, if codes would tell hardly anything of them."""
        known, domain, measurer = self._known, self._measurer.domain, self._measurer
        known.learn_sizes()
        cliques, total = self.of_workload(), self._budget_left
        parts, _ = self._splitting.split(cliques, total)
        left = self._splitting.shares_left(cliques, parts)
        noise = measurer.expected_sigma(View(domain.names[:1]), Fraction(total / len(cliques))) ** 2
        without = {*known.beside, *zeros_of(domain).learned}
        without.update(part for clique in known.chosen if len(clique) > 2 for part in parts_of(clique))
        pairs = (pair for pair in known.in_codes() if len(pair) == 2 and pair not in without)
        candidates = [pair for pair in pairs if not known.is_as_earlier(pair)]
        wanted = pairs_in_few_groups(known, candidates, left, noise)
        most = rows_adjusted_to(measurer, known, 2, self._seconds)
        found = measured_in_time(measurer, wanted, most, self._seconds)
        marginals = zip(found, model.marginals_within_limits([view.clique for view in found]), strict=True)
        known.count_in_groups({view: cells for view, cells in marginals if cells is not None})

    def larger(self, model: SupplementedModel) -> SupplementedModel:
        """Scores interactions of three attributes, then of ever more, and measures the large ones."""
        self._candidates.learn_profiles(model)
        for number, order in enumerate(SETTINGS.orders, start=1):
            wanted = self._grouped_candidates(order, {*self._workload.cliques} - self._in_groups)
            if not wanted:
                continue
            rows = self._draw(model)
            in_rows = references(wanted, rows, self._known.records)
            self._score(wanted, in_rows, rows.record_count)
            self._measuring.report_step(_SCORES, number)
            chosen = self._select_larger([view.clique for view in wanted])
            if not chosen:
                break
            self._measure(chosen)
            self._measuring.report_step(_STEP, number)
            model = replace(model, grouped=(*model.grouped, *marginals_beside(self._known, chosen, rows)))
        return model

    def complete(self, model: SupplementedModel) -> SupplementedModel:
        """A model with marginals of larger interactions, each made from rows adjusted to smaller ones."""
        for order in SETTINGS.orders:
            cliques = [clique for clique in self._known.beside if len(clique) == order]
            if cliques:
                grouped = marginals_beside(self._known, cliques, self._draw(model))
                model = replace(model, grouped=(*model.grouped, *grouped))
        return model

    @property
    def _budget_left(self) -> float:
        """Budget that is left, zCDP."""
        return float(self._measurer.accountant.remaining)

    def _grouped_candidates(self, order: int, without: Collection[Clique]) -> list[View]:
        """The interactions of groups that are scored."""
        rho = self._measuring.budget(_SCORES)
        found = self._candidates.find(order, most_cells(self._measurer), without)
        return scored_in_time(self._measurer, found, rho, self._seconds)

    def _score(self, views: Sequence[View], references: Sequence[Array], rows: float) -> None:
        """Scores interactions beside references from so many rows."""
        whole = (np.rint(reference).astype(np.int64) for reference in references)
        found = self._measurer.score(views, whole, self._measuring.budget(_SCORES), _SCORES)
        self._known.score_beside(views, references, found, rows)

    def _measure(self, chosen: Sequence[Clique]) -> None:
        """Adds interactions to those that are measured, and measures them for the first time."""
        if not chosen:
            return
        self._known.beside += chosen
        sizes = [self._known.view(clique).cells(self._measurer.domain) for clique in chosen]
        self._measuring.measure(chosen, allocate(self._measuring.budget(_STEP), sizes), _STEP)

    def _select_larger(self, scored: Sequence[Clique]) -> list[Clique]:
        """The interactions with the largest gains: of the workload, then others that cost it little."""
        chosen: list[Clique] = []
        for of_workload in (True, False):
            some = [clique for clique in scored if (clique in self._in_groups) == of_workload]
            chosen += self._worth(some, chosen, of_workload) if some else []
        return chosen

    def _worth(self, scored: Sequence[Clique], own: Sequence[Clique], of_workload: bool) -> list[Clique]:
        """Those worth measuring beside these of the workload; others only if its error rises little."""
        cliques, total = [*self.of_workload(), *own], self._budget_left
        before = self.beyond_workload()

        def question(some: Sequence[Clique]) -> tuple[list[Clique], float, list[Clique]]:
            return ([*cliques, *some], total, []) if of_workload else (cliques, total, [*before, *some])

        gains = self._splitting.gains(*question(scored))[-len(scored) :]
        worth = worth_measuring(self._measurer, self._known, scored, gains, self._seconds)
        while worth:
            parts, tolerated = self._splitting.split(*question(worth))
            if not (tolerated or of_workload):
                worth = worth[: len(worth) // 2]
                continue
            kept = self._telling(worth, parts)
            if len(kept) == len(worth):
                break
            worth = kept
        return worth

    def _telling(self, cliques: Sequence[Clique], parts: Array) -> list[Clique]:
        """Those of the cliques about which their parts of the budget, the last ones, tell much."""
        paid = zip(cliques, map(Fraction, parts[-len(cliques) :].tolist()), strict=True)
        return [clique for clique, rho in paid if tells_much(self._measurer, self._known, clique, rho)]

    def _draw(self, model: SupplementedModel) -> Table:
        """Rows of an unfinished model."""
        return drawn_rows(model, self._measurer.record_count, self._stream)


def orders_of(facts: PublicFacts) -> tuple[int, ...]:
    """The numbers of attributes that are counted in groups: pairs only if some are large."""
    sizes = sorted(facts.domain.sizes)[-2:]
    return (2, *SETTINGS.orders) if math.prod(sizes) > most_cells(facts) else SETTINGS.orders


def most_scored(records: int, rho: float, seconds: float) -> int:
    """How many cliques can be scored at once: a record changes all their distances.

    Args:
        records: number of records.
        rho: budget of all scores together, zCDP.
        seconds: time limit of the release.
    """
    detectable = 2 * rho * (SETTINGS.detectable * records) ** 2
    return int(min(MOST_SCORED, detectable, larger_scored(records, seconds)))


def scored_in_time(
    measurer: Measurer, candidates: Iterable[View], rho: Fraction, seconds: float
) -> list[View]:
    """The candidates that are scored: the first ones that can be measured in time, as they are measured.

    Args:
        measurer: measurer of the run.
        candidates: the most promising first.
        rho: budget of all scores together, zCDP.
        seconds: time limit of the release.
    """
    most = most_scored(measurer.record_count, float(rho), seconds)
    return measured_in_time(measurer, candidates, most, seconds)


def measured_in_time(measurer: Measurer, candidates: Iterable[View], most: int, seconds: float) -> list[View]:
    """The first candidates that parties can multiply in time, at most so many, as they are measured."""
    left, granted = words_multiplied(seconds), measurer.granted
    found: list[View] = []
    multiplied: set[Hashable] = set()
    for candidate in candidates:
        if len(found) == most:
            break
        view = View(candidate.clique, measurer.measurable_groups(candidate.groups))
        if math.isfinite(measurer.expected_sigma(replace(view, interaction=True), granted)):
            words = measurer.multiplied(view)
            left -= sum(words[matrix] for matrix in words.keys() - multiplied)
            if left < 0:
                break
            multiplied |= words.keys()
            found.append(view)
    return found


def rows_adjusted_to(measurer: Measurer, known: Knowledge, order: int, seconds: float) -> int:
    """To how many more interactions of so many attributes rows can be adjusted in time."""
    left = attributes_adjusted(measurer.record_count, seconds) - sum(map(len, known.beside))
    return max(0, int(left / order))


def worth_measuring(
    measurer: Measurer, known: Knowledge, scored: Sequence[Clique], gains: Array, seconds: float
) -> list[Clique]:
    """The scored interactions that a measurement would tell much about, those with the largest gains first.

    Of four and more attributes only large ones are worth it, since no marginal of triples needs them. None is
    worth it that is smaller than what is missing of the pairs inside it, which would lose their budget to it.

    Args:
        measurer: measurer of the run.
        known: what is known of interactions.
        scored: cliques of one order.
        gains: of each of them.
        seconds: time limit of the release; rows must be adjusted in time.
    """
    least = 0.0 if len(scored[0]) == 3 else SETTINGS.large * measurer.record_count
    rho = measurer.granted * Fraction(SETTINGS.told_by)
    ranked = (scored[place] for place in np.argsort(-gains, kind="stable").tolist())
    large = (c for c in ranked if known.size(c) >= least and known.stands_out(c))
    worth = (c for c in large if tells_much(measurer, known, c, rho))
    return list(itertools.islice(worth, rows_adjusted_to(measurer, known, len(scored[0]), seconds)))


def tells_much(measurer: Measurer, known: Knowledge, clique: Clique, rho: Fraction) -> bool:
    """Whether measuring a scored interaction for this cost takes its predicted error well below its size."""
    if rho <= 0:
        return False
    view = known.view(clique)
    sigma = measurer.expected_sigma(replace(view, interaction=True), rho)
    variance = sigma**2 * freedom(view.shape(known.domain))
    deviations = known.effects[view].deviations(measurer.record_count)
    left = deviations / np.sqrt(1 + deviations**2 / variance)
    return float(left.sum()) <= SETTINGS.tells * float(deviations.sum())


def drawn_rows(model: SupplementedModel, records: int, stream: RandomStream) -> Table:
    """Rows of an unfinished model."""
    return model.generate(rows_drawn(records), stream.child("larger").generator(), draft=True)
