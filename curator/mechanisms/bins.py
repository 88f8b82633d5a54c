"""One-way marginals at several resolutions, from which bins are chosen; it makes no table of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from ...common.crypto.randomness import RandomStream
from ...common.data.attributes.texts import has_open_categories
from ...common.data.boxes import Box
from ...common.data.domain import Clique
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
"""Number of resolutions at which a marginal is measured, at most."""

_ONE_RESOLUTION_CELLS = 32
"""So few cells are measured at one resolution, with less noise."""

_GRAIN = 2**80
"""Costs are rounded down to multiples of one part of so many."""


def resolutions_of(cells: int) -> int:
    """The number of resolutions at which a marginal of so many cells is measured."""
    return 1 if cells <= _ONE_RESOLUTION_CELLS else RESOLUTIONS


@dataclass(frozen=True)
class Bins(GaussianMechanism):
    """Measures the one-way marginals of its workload, each at several resolutions, and finds labels.

    The sums over few large boxes have as much noise as a single cell, so that sparse tables still show where
    their values are. Of open categories the frequent labels are asked for, at the cost of a whole attribute.
    The weights of the workload divide the budget.
    """

    name: ClassVar[str] = CHOICE

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """See `Mechanism.steps`."""
        if any(len(clique) != 1 for clique in workload.cliques):
            raise DataError(
                "mechanism bins: expected single attributes as its workload, got larger marginals"
            )
        cliques = tuple(workload.cliques)
        # By which `allocate` would divide the budget as the weights do.
        sizes = tuple(weight**1.5 for weight in workload.weights)
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
        """Spends the whole grant by the weights; see `Mechanism.run`."""
        (step,) = self.steps(measurer, workload)
        costs = _costs(measurer.granted, workload)
        texts = [clique for clique in step.cliques if has_open_categories(measurer.domain[clique[0]])]
        labels = {clique[0]: measurer.find_labels(clique[0], costs[clique], step.name) for clique in texts}
        queries = []
        for clique in step.cliques:
            if clique not in texts:
                cells = measurer.domain.cells(clique)
                levels = resolutions_of(cells)
                queries += [
                    Query(View(clique, boxes=boxes_of(cells, level)), costs[clique] / levels, step.name)
                    for level in reversed(range(levels))
                ]
        measurements = measurer.measure(queries)
        model = estimate(measurer.domain, measurements, total=measurer.record_count)
        report(Progress(step.title, (), 0, 1.0))
        averages = averages_of(measurer, workload.cliques, measurements)
        return replace(ended(measurer, (step,), model, measurements, averages=averages), labels=labels)


def _costs(granted: Fraction, workload: Workload) -> dict[Clique, Fraction]:
    """What is spent on each marginal, zCDP, all its resolutions together."""
    whole = sum(map(Fraction, workload.weights))
    shares = {
        one: Fraction(weight) / whole for one, weight in zip(workload.cliques, workload.weights, strict=True)
    }
    return {one: Fraction(int(granted * share * _GRAIN), _GRAIN) for one, share in shares.items()}


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
