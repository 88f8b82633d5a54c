"""Ring: measures every attribute, and every attribute together with the next one."""

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpmosaic.curator.mechanisms.catalogue import Entry, Needs
from dpmosaic.curator.mechanisms.mechanism import GaussianMechanism
from dpmosaic.curator.mechanisms.parts.allocation import measure_split
from dpmosaic.curator.mechanisms.parts.ending import averages_of, ended
from dpmosaic.curator.mechanisms.parts.fitted import Progress
from dpmosaic.curator.mechanisms.parts.steps import Asks, Step
from dpmosaic.curator.pgm.fitting.estimation import estimate


@dataclass(frozen=True)
class Ring(GaussianMechanism):
    """Pairs of neighbours in the domain's order; `--set one_way=0.3` changes its parameter."""

    name: ClassVar[str] = "ring"
    one_way: float = 0.2

    def steps(self, facts, workload):
        """One-way marginals for a share of the budget, pairs for the rest."""
        names = facts.domain.names
        singles = tuple((name,) for name in names)
        pairs = tuple(itertools.pairwise(names))
        share = Fraction(self.one_way) if pairs else Fraction(1)
        steps = [Step("one-way", "One-way marginals", Asks.MARGINALS, share, singles, singles)]
        if pairs:
            steps.append(Step("ring", "Pairs of neighbours", Asks.MARGINALS, 1 - share, pairs, pairs))
        return tuple(steps)

    def run(self, measurer, workload, stream, report):
        """Measures what the steps say, fits a model to it, and bounds its error."""
        steps, found = self.steps(measurer, workload), []
        for step in steps:
            cells = [measurer.domain.cells(clique) for clique in step.cliques]
            found += measure_split(measurer, step.cliques, cells, step.budget(measurer.granted), step.name)
            report(Progress(step.name, (), 0, measurer.accountant.spent_share))
        model = estimate(measurer.domain, found, total=measurer.record_count)
        averages = averages_of(measurer, workload.cliques, found)
        return ended(measurer, steps, model, found, averages=averages, selected=steps[-1].cliques)


ENTRY = Entry("measures every attribute with the next one", "an example", Needs.MARGINALS, {"default": Ring})
