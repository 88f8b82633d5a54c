"""Rounds in which interactions are counted in groups of codes: large pairs, then triples and more."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.randomness import RandomStream
from ....common.data.domain import Clique
from ....common.data.grouping import group_sums
from ....common.data.table import Table
from ....common.data.view import View
from ....common.data.workload import Workload
from ...pgm.model import MarkovRandomField
from ...pgm.supplemented import SupplementedModel
from ..parts.allocation import allocate
from .growth import ORDERS, PAIRS, candidates_within, drawn_rows, orders_of, tells_much, worth_measuring
from .knowledge import Knowledge
from .larger import Larger
from .measuring import Measuring
from .outside import pairs_outside
from .splitting import Splitting

LEAST_PART = 1e-6
"""Share of the budget below which an interaction is not measured."""

TOLD, CLOSER = 0.3, 0.8
"""Pairs are scored in groups if the split leaves their predicted error above the first share of their size,
and measured in groups if that leaves at most the second share of what single codes would leave."""

_SCORES, _STEP = "larger scores", "larger"


class GroupedRounds:
    """Scores and measures interactions of groups.

    Args:
        measuring: asks for interactions.
        known: what is known of interactions of codes.
        larger: what is known of those of groups.
        splitting: predicts gains and errors.
        workload: marginals to preserve.
        seconds: time limit of the release.
        stream: randomness of rows of unfinished models.
    """

    def __init__(
        self,
        measuring: Measuring,
        known: Knowledge,
        larger: Larger,
        splitting: Splitting,
        workload: Workload,
        seconds: float,
        stream: RandomStream,
    ) -> None:
        self._measuring = measuring
        self._measurer = measuring.measurer
        self._known = known
        self._larger = larger
        self._splitting = splitting
        self._workload = workload
        self._seconds = seconds
        self._stream = stream

    def of_workload(self) -> list[Clique]:
        """Interactions in the model and pairs outside it, of codes or groups."""
        codes = [*self._known.chosen, *pairs_outside(self._known)]
        of_codes = [clique for clique in codes if clique not in self._larger.effects]
        return [*self._known.ones, *of_codes, *self._larger.pairs()]

    def pairs(self, model: MarkovRandomField) -> None:
        """Scores pairs of which single codes would tell little; measures those of which groups tell more."""
        larger, domain = self._larger, self._measurer.domain
        if PAIRS not in orders_of(self._measurer):
            return
        self._known.learn_sizes()
        cliques = self.of_workload()
        parts, _ = self._splitting.split(cliques, self._left)
        in_codes = self._splitting.shares_left(cliques, parts)
        wanted = self._wanted(PAIRS, {c for c, share in in_codes.items() if share <= TOLD})
        found = zip(wanted, model.marginals_within_limits(wanted), strict=True)
        references = {
            clique: group_sums(cells, domain.shape(clique), larger.groups[clique])
            for clique, cells in found
            if cells is not None
        }
        if not references:
            return
        scored = [*references]
        self._score(scored, [*references.values()], math.inf)
        cliques = self.of_workload()
        gains = self._splitting.gains([*cliques, *scored], self._left)[-len(scored) :]
        worth = worth_measuring(self._measurer, larger, scored, gains, self._seconds)
        if worth:
            cliques += worth
            parts, _ = self._splitting.split(cliques, self._left)
            in_groups = self._splitting.shares_left(cliques, parts)
            worth = [pair for pair in worth if in_groups[pair] <= CLOSER * in_codes.get(pair, 1.0)]
        larger.leave([pair for pair in scored if pair not in worth])
        self._measure(worth)
        self._measuring.reported(_STEP, 0)

    def larger(self, model: SupplementedModel) -> SupplementedModel:
        """Scores interactions of three attributes, then of ever more, and measures the large ones."""
        larger = self._larger
        larger.learn_profiles(model)
        for number, order in enumerate(ORDERS, start=1):
            wanted = self._wanted(order, self._workload.cliques)
            if not wanted:
                continue
            rows = self._draw(model)
            self._score(wanted, larger.references(wanted, rows), rows.record_count)
            self._measuring.reported(_SCORES, number)
            chosen = self._select_larger(wanted)
            if not chosen:
                break
            self._measure(chosen)
            self._measuring.reported(_STEP, number)
            model = replace(model, grouped=(*model.grouped, *larger.marginals(chosen, rows)))
        return model

    def completed(self, model: SupplementedModel) -> SupplementedModel:
        """A model with marginals of larger interactions, each made from rows adjusted to smaller ones."""
        larger = self._larger
        for order in ORDERS:
            cliques = [clique for clique in larger.chosen if len(clique) == order]
            if cliques:
                grouped = larger.marginals(cliques, self._draw(model))
                model = replace(model, grouped=(*model.grouped, *grouped))
        return model

    @property
    def _left(self) -> float:
        """Budget that is left, zCDP."""
        return float(self._measurer.accountant.remaining)

    def _wanted(self, order: int, without: Collection[Clique]) -> list[Clique]:
        """The interactions of groups that are scored."""
        rho = self._measuring.budget(_SCORES)
        return candidates_within(self._measurer, self._larger, order, rho, self._seconds, without)

    def _score(
        self, cliques: Sequence[Clique], references: Sequence[NDArray[np.float64]], rows: float
    ) -> None:
        """Scores interactions beside references from so many rows."""
        whole = (np.rint(reference).astype(np.int64) for reference in references)
        views = [View(clique, self._larger.groups[clique]) for clique in cliques]
        found = self._measurer.score(views, whole, self._measuring.budget(_SCORES), _SCORES)
        self._larger.score(cliques, references, found, rows)

    def _measure(self, chosen: Sequence[Clique]) -> None:
        """Adds interactions to those that are measured, and measures them for the first time."""
        if not chosen:
            return
        self._larger.chosen += chosen
        sizes = [math.prod(self._larger.shape(clique)) for clique in chosen]
        self._measuring.measure(chosen, allocate(self._measuring.budget(_STEP), sizes), _STEP)

    def _select_larger(self, scored: Sequence[Clique]) -> list[Clique]:
        """The interactions with the largest gains, so many that the workload's error rises little."""
        cliques, total = self.of_workload(), self._left
        before = [clique for clique in self._larger.chosen if len(clique) > PAIRS]
        gains = self._splitting.gains(cliques, total, [*before, *scored])[-len(scored) :]
        worth = worth_measuring(self._measurer, self._larger, scored, gains, self._seconds)
        while worth:
            parts, tolerated = self._splitting.split(cliques, total, [*before, *worth])
            if not tolerated:
                worth = worth[: len(worth) // 2]
                continue
            kept = self._telling(worth, parts)
            if len(kept) == len(worth):
                break
            worth = kept
        return worth

    def _telling(self, cliques: Sequence[Clique], parts: NDArray[np.float64]) -> list[Clique]:
        """Those of the cliques about which their parts of the budget, the last ones, tell much."""
        paid = zip(cliques, map(Fraction, parts[-len(cliques) :].tolist()), strict=True)
        return [clique for clique, rho in paid if tells_much(self._measurer, self._larger, clique, rho)]

    def _draw(self, model: SupplementedModel) -> Table:
        """Rows of an unfinished model."""
        return drawn_rows(model, self._measurer.record_count, self._stream)
