"""Marginals over parties of which some may drop out for good."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...common.canonical.queries import encode_asked
from ...common.data.view import View
from ...common.messages import Acceptance, Introduction
from ...common.promises.dropout import Dropout
from ...common.protocols.dropouts.plan import DropoutPlan
from ...common.protocols.masked.bounds import AnswerBounds, marginal_bounds
from ...common.queries import MarginalQuery
from .masked import MaskedMeasurer
from .rounds import Rounds


class DropoutMeasurer(MaskedMeasurer):
    """Measures through the parties that remain.

    Counts without some parties are multiplied by the number of all records for each that is counted. For the
    arguments see `MaskedMeasurer`.
    """

    @cached_property
    def _rounds(self) -> Rounds:
        assert isinstance(self._plan, DropoutPlan), "the terms say that parties may drop out"
        return Rounds(self._terms, self._plan, self._clients, self._asking)

    @property
    def dropouts(self) -> tuple[Dropout, ...]:
        """See `Measurer.dropouts`."""
        return self._rounds.dropouts

    def expected_sigma(self, view: View, zcdp_rho: Fraction) -> float:
        """See `Measurer.expected_sigma`; of the parties that remain."""
        parties, gone = len(self._clients), self._rounds.gone
        share = math.sqrt((parties - len(gone)) / parties)
        return super().expected_sigma(view, zcdp_rho) * share * self._multiple(gone)

    def _introduce(self, acceptances: tuple[Acceptance, ...]) -> None:
        self._rounds.begin(Introduction(self._release_id, acceptances))

    def _ask(self, asked: MarginalQuery, step: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
        # Each party is waited for by itself.
        return self._asking.ask_once(asked.query_id, encode_asked(asked), step)

    def _shares(self, asked: MarginalQuery) -> Iterator[NDArray[np.int64]]:
        yield self._rounds.open_sum(asked, asked.view.sent_count(self.domain))

    def _factor(self, asked: MarginalQuery) -> float:
        return self._multiple(self._rounds.absent_from(asked))

    def _parties_in(self, asked: MarginalQuery) -> int:
        return len(self._clients) - len(self._rounds.absent_from(asked))

    def _counts_part(self, asked: MarginalQuery) -> bool:
        return bool(self._rounds.absent_from(asked))

    def _bounds(self, asked: MarginalQuery) -> AnswerBounds:
        counted = self._records_without(self._rounds.absent_from(asked))
        return marginal_bounds(self._plan, asked.view, asked.sigma, counted=counted)

    def _records_without(self, absent: Sequence[int]) -> int:
        """Records of the parties that are not absent."""
        return sum(entry.record_count for p, entry in enumerate(self._plan.roster) if p not in absent)

    def _multiple(self, absent: Sequence[int]) -> float:
        """All records for each that is counted; 1 if nothing is left to count."""
        return self._plan.record_count / (self._records_without(absent) or self._plan.record_count or 1)
