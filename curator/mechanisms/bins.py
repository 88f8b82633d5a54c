"""One-way marginals at several resolutions, from which bins are chosen; it makes no table of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from ...common.crypto.randomness import RandomStream
from ...common.data.attributes.texts import has_open_categories
from ...common.data.boxes import Box
from ...common.data.view import View
from ...common.data.workload import Workload
from ...common.errors import DataError
from ...common.protocols.chosen import CHOICE
from ..measurers.measurer import Measurer, Query
from ..pgm.fitting.estimation import estimate
from .mechanism import GaussianMechanism
from .parts.ending import averages_of, ended
from .parts.fitted import FittedModel, Progress, Report
from .parts.steps import Asks, PublicFacts, Step

RESOLUTIONS = 3
"""Number of resolutions at which each marginal is measured."""


@dataclass(frozen=True)
class Bins(GaussianMechanism):
    """Measures the one-way marginals of its workload, each at several resolutions, and finds labels.

    The sums over few large boxes have as much noise as a single cell, so that sparse tables still show where
    their values are. Of open categories the frequent labels are asked for, at the cost of a whole attribute.
    """

    name: ClassVar[str] = CHOICE

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """See `Mechanism.steps`."""
        if any(len(clique) != 1 for clique in workload.cliques):
            raise DataError(
                "mechanism bins: expected single attributes as its workload, got larger marginals"
            )
        cliques = tuple(workload.cliques)
        sizes = (1.0,) * len(cliques)
        return (
            Step(
                "bins",
                "One-way marginals of which bins are chosen",
                Asks.MARGINALS,
                Fraction(1),
                cliques,
                cliques,
                times=RESOLUTIONS,
                sizes=sizes,
            ),
        )

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant in equal parts; see `Mechanism.run`."""
        (step,) = self.steps(measurer, workload)
        each = Fraction(int(step.budget(measurer.granted) / len(step.cliques) * 2**80), 2**80)
        texts = [clique for clique in step.cliques if has_open_categories(measurer.domain[clique[0]])]
        labels = {name: measurer.find_labels(name, RESOLUTIONS * each, step.name) for (name,) in texts}
        measurements = measurer.measure(
            [
                Query(View(clique, boxes=boxes_of(measurer.domain.cells(clique), level)), each, step.name)
                for clique in step.cliques
                if clique not in texts
                for level in reversed(range(RESOLUTIONS))
            ]
        )
        model = estimate(measurer.domain, measurements, total=measurer.record_count)
        report(Progress(step.title, (), 0, 1.0))
        averages = averages_of(measurer, workload.cliques, measurements)
        return replace(ended(measurer, (step,), model, measurements, averages=averages), labels=labels)


def boxes_of(size: int, level: int) -> tuple[Box, ...]:
    """Boxes of neighbouring codes, each of which holds several boxes of the level below.

    Args:
        size: number of codes.
        level: resolution; at level 0 the boxes are single codes, and none are returned.
    """
    branches = next(b for b in range(1, size + 1) if b**RESOLUTIONS >= size)
    width = branches**level
    if width == 1:
        return ()
    return tuple(((first, min(first + width, size)),) for first in range(0, size, width))
