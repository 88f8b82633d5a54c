"""One-way marginals and nothing else: the floor that every other mechanism is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ...common.crypto.randomness import RandomStream
from ...common.data.workload import Workload
from ...common.measurement import Measurement
from ..measurers.measurer import Measurer
from ..pgm.estimation import estimate
from .mechanism import GaussianMechanism
from .parts.allocation import measure_split
from .parts.bounds import error_bounds, weighted_average
from .parts.fitted import FittedModel, Progress, Report


@dataclass(frozen=True)
class Independent(GaussianMechanism):
    """Measures every one-way marginal once and takes the attributes to be independent."""

    name: ClassVar[str] = "independent"

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant on one-way marginals; see `Mechanism.run`."""
        measurements = one_way_marginals(measurer, measurer.accountant.remaining)
        model = estimate(measurer.domain, measurements, total=measurer.record_count)
        report(Progress("one-way marginals", (), 0, 1.0))
        averages = (weighted_average(measurer.domain, clique, measurements) for clique in workload.cliques)
        known = {c: a for c, a in zip(workload.cliques, averages, strict=True) if a is not None}
        bounds = error_bounds(model, known, (), measurer.record_count)
        return FittedModel(model, tuple(measurements), (), bounds)


def one_way_marginals(measurer: Measurer, budget: Fraction) -> list[Measurement]:
    """Measures every attribute's marginal, the budget split by `allocate`."""
    cliques = [(name,) for name in measurer.domain]
    return measure_split(measurer, cliques, measurer.domain.sizes, budget, "one-way")
