"""Measurements of a run of Mosaic: queries of interactions, of codes or groups, and their budgets."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ....common.data.domain import Clique
from ....common.data.view import View
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer, Query
from ..parts.allocation import allocate
from ..parts.fitted import Progress, Report
from ..parts.steps import Step, by_name, measurable_as_interaction
from .knowledge import Knowledge
from .larger import Larger


class Measuring:
    """Asks for interactions and hands the answers to what is known.

    Args:
        measurer: answers queries and charges them.
        known: gets interactions of codes.
        larger: knows the groups of cliques that are counted in groups, and gets their interactions.
        steps: result of `Mosaic.steps`.
        report: called with the progress after every step.

    Attributes:
        measurer: as given.
        steps: by name.
        used: all measurements, in the order they were taken.
    """

    def __init__(
        self, measurer: Measurer, known: Knowledge, larger: Larger, steps: tuple[Step, ...], report: Report
    ) -> None:
        self.measurer = measurer
        self.steps = by_name(steps)
        self.used: list[Measurement] = []
        self._known = known
        self._larger = larger
        self._report = report

    def budget(self, name: str) -> Fraction:
        """Budget of a step each time, zCDP."""
        return self.steps[name].budget(self.measurer.granted)

    def report_step(self, step: str, number: int) -> None:
        """Reports that a step was taken for this round."""
        self._report(Progress(step, (), number, self.measurer.accountant.spent_share))

    def take(self, name: str) -> list[Measurement]:
        """Runs a step that measures all its interactions at once."""
        step = self.steps[name]
        if not step.cliques:
            return []
        sizes = step.sizes_in(self.measurer.domain)
        return self.measure(step.cliques, allocate(self.budget(name), sizes), step.name)

    def measure(self, cliques: Sequence[Clique], parts: Sequence[Fraction], step: str) -> list[Measurement]:
        """Measures interactions, each for its part of the budget, zCDP."""
        grouped = self._larger.effects
        groups = [self._larger.groups[clique] if clique in grouped else () for clique in cliques]
        queries = [
            Query(View(clique, groups=of, interaction=self._alone(clique)), rho, step)
            for clique, rho, of in zip(cliques, parts, groups, strict=True)
        ]
        found = self.measurer.measure(queries)
        self._larger.measure([one for one in found if one.clique in grouped])
        self._known.measure([one for one in found if one.clique not in grouped])
        self.used += found
        return found

    def _alone(self, clique: Clique) -> bool:
        """Whether a clique's interaction can be measured without the whole marginal."""
        grouped = clique in self._larger.effects
        shape = self._larger.shape(clique) if grouped else self.measurer.domain.shape(clique)
        return measurable_as_interaction(shape)
