"""One-way marginals and nothing else: the baseline of every other mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ...common.crypto.randomness import RandomStream
from ...common.data.workload import Workload
from ...common.measurement import Measurement
from ..measurers.measurer import Measurer
from ..pgm.fitting.estimation import estimate
from .mechanism import GaussianMechanism
from .parts.allocation import measure_split, measure_step
from .parts.ending import averages_of, ended
from .parts.fitted import FittedModel, Progress, Report
from .parts.steps import PublicFacts, Step, one_way_step


@dataclass(frozen=True)
class Independent(GaussianMechanism):
    """Measures every one-way marginal once and models the attributes as independent."""

    name: ClassVar[str] = "independent"

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """See `Mechanism.steps`."""
        return (one_way_step(facts.domain, Fraction(1)),)

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant on one-way marginals; see `Mechanism.run`."""
        steps = self.steps(measurer, workload)
        measurements = measure_step(measurer, steps[0])
        model = estimate(measurer.domain, measurements, total=measurer.record_count)
        report(Progress("one-way marginals", (), 0, 1.0))
        averages = averages_of(measurer, workload.cliques, measurements)
        return ended(measurer, steps, model, measurements, averages=averages)


def one_way_marginals(measurer: Measurer, budget: Fraction) -> list[Measurement]:
    """Measures every attribute's marginal; `allocate` splits the budget."""
    cliques = [(name,) for name in measurer.domain]
    return measure_split(measurer, cliques, measurer.domain.sizes, budget, "one-way")
