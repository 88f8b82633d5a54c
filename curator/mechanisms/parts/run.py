"""What the runs of mechanisms share: budgets of steps, measurements, fits, progress and the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ....common.data.domain import Clique
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer
from ...pgm.fitting.estimation import estimate
from ...pgm.model import MarkovRandomField
from ...pgm.structure.junction_tree import TreeGrowth
from .allocation import measure_split, measure_step
from .bounds import ScoredDistance
from .ending import averages_of, ended
from .fitted import FittedModel, Progress, Report, Round
from .released import ReleasedModel
from .schedule import Schedule
from .scoring import DRAFT, FINAL, SELECTED_BY, rounds_of, score_against
from .steps import Step, by_name


class Run:
    """One run of a mechanism.

    Args:
        measurer: answers queries and charges them.
        steps: steps of the mechanism.
        report: called with the progress after every step.
    """

    def __init__(self, measurer: Measurer, steps: tuple[Step, ...], report: Report) -> None:
        self._measurer = measurer
        self._domain = measurer.domain
        self._steps = steps
        self._named = by_name(steps)
        self._report = report
        self._used: list[Measurement] = []
        self._rounds: list[Round] = []

    def _budget(self, step: str) -> Fraction:
        """Budget of a step each time, zCDP."""
        return self._named[step].budget(self._measurer.granted)

    def _measured_cliques(self) -> list[Clique]:
        """All cliques that were measured, in order."""
        return list(dict.fromkeys(measurement.clique for measurement in self._used))

    def _estimate(self, warm_start: MarkovRandomField | None, tolerance: float = FINAL) -> MarkovRandomField:
        """The model that fits all measurements."""
        total = self._measurer.record_count
        return estimate(self._domain, self._used, total=total, warm_start=warm_start, tolerance=tolerance)

    def _measure_again(self, left: Fraction) -> list[Measurement]:
        """Measures all marginals of the model once more, with this budget, zCDP."""
        measured = self._measured_cliques()
        cells = [self._domain.cells(clique) for clique in measured]
        return measure_split(self._measurer, measured, cells, left, "last round")

    def _spent_share(self, cost: Fraction = Fraction(0)) -> float:
        """Share of the budget spent, this cost included."""
        accountant = self._measurer.accountant
        return float((accountant.spent + cost) / accountant.granted)

    def _tell(self, step: str, clique: Clique = (), number: int | None = None) -> None:
        """Reports progress; the number of the round is that of rounds done, unless it is given."""
        done = len(self._rounds) if number is None else number
        self._report(Progress(step, clique, done, self._spent_share()))

    def _small(self, cliques: Iterable[Clique], model: MarkovRandomField, limit_mb: float) -> list[Clique]:
        """The cliques inside the model, and those that keep it within a limit."""
        growth, asked = TreeGrowth(self._domain, self._measured_cliques()), list(cliques)
        return [
            clique
            for clique, cells in zip(asked, growth.cells_with(asked), strict=True)
            if cells <= limit_mb * 2**17 or model.tree.home(clique) is not None
        ]

    def _result(self, model: ReleasedModel, wanted: Iterable[Clique] = (), **found: Any) -> FittedModel:
        """The result, with error bounds for wanted cliques that were measured; see `ended`."""
        averages = averages_of(self._measurer, wanted, self._used)
        given = {"averages": averages, "rounds": self._rounds, **found}
        return ended(self._measurer, self._steps, model, self._used, **given)


class ScoredRounds(Run, ABC):
    """Rounds that score all candidates, select several and measure them.

    Then all marginals of the model are measured once more, and its candidates are scored a last time.

    Attributes:
        selected_by: the values by which marginals are selected, in words.

    Args:
        measurer: a measurer with `scores_exactly`.
        steps: "one-way", "scores", "round" and "last round".
        weights: the candidates and their weights.
        max_model_mb: limit of the model's size; grows to this with the rounds.
        report: called with the progress after every step.
    """

    selected_by = SELECTED_BY

    def __init__(
        self,
        measurer: Measurer,
        steps: tuple[Step, ...],
        weights: Mapping[Clique, float],
        max_model_mb: float,
        report: Report,
    ) -> None:
        super().__init__(measurer, steps, report)
        self._weights = weights
        self._schedule = Schedule(self._named["round"].times, max_model_mb)
        self._scored: dict[Clique, ScoredDistance] = {}

    def run(self) -> FittedModel:
        """Spends the whole grant."""
        self._used += self._one_way()
        self._tell("one-way marginals", number=0)
        model = self._estimate(None, DRAFT)
        self._prepare(model)
        for number in range(1, self._schedule.rounds + 1):
            self._score(model, number)
            found = self._round(number)
            if found:
                before, self._used = model, self._used + found
                model = self._estimate(before, DRAFT)
                self._rounds += rounds_of(found, before, model)
                self._tell("round", number=number)
        # The last scores are paid for beforehand.
        self._used += self._measure_again(self._measurer.accountant.remaining - self._budget("scores"))
        model = self._estimate(model)
        self._tell("last round", number=self._schedule.rounds)
        self._score(model, self._schedule.rounds)
        return self._result(model, self._weights, scored=self._scored, selection=self.selected_by)

    def _one_way(self) -> Sequence[Measurement]:
        return measure_step(self._measurer, self._named["one-way"])

    def _prepare(self, model: MarkovRandomField) -> None:
        """What follows from the first model, before the first round."""

    @abstractmethod
    def _round(self, number: int) -> list[Measurement]:
        """Selects marginals by the scores, and measures them; none if none is worth it."""

    def _score(self, model: MarkovRandomField, number: int) -> None:
        """Noisy distances between table and model, for every candidate that the model can compute."""
        scored = score_against(self._measurer, model, list(self._weights), self._budget("scores"))
        self._scored = scored or self._scored
        self._tell("scores", number=number)
