"""PPSyn: measures the marginals with the largest gain for their cost, over boxes instead of cells.

Source: Zhang, Deng and Yin, "Partition-based differentially private synthetic data generation",
    Algorithms 1 and 2.

The paper computes partitions, required budgets and scores from the table's exact marginals, and releases
them, which is not private. `variant="paper"` follows it in simulation (`paper.py`). In the default, all three
are public:

- Partitions follow from the noisy one-way marginals (`WithinBoxDeviation`); finer ones hide less of the
  table's deviation from the model. The size of that deviation is a noisy score, of sensitivity 1 whatever the
  number of cells.
- A partition of k boxes that hides a share h of the contribution C needs rho = k^2 / pi (eta C - h C)^2, so
  the cheapest partition is the same for every C. A marginal that was measured before is measured over smaller
  boxes.
- Inside a box, the model keeps the shape from all other measurements, instead of a uniform one.
- All candidates are scored in each round, which selects as many as its budget pays for.
- The rest of the budget measures all marginals of the model once more, each over the partition with the
  smallest expected error (Theorem 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ....common.crypto.randomness import RandomStream
from ....common.data.workload import Workload
from ....common.privacy.budget import Budget
from ...measurers.measurer import Measurer
from ..mechanism import GaussianMechanism
from ..parts.fitted import FittedModel, Report
from ..parts.steps import PublicFacts, Step
from .paper import PaperRun
from .run import PartitionRun
from .settings import PPSynSettings


@dataclass(frozen=True)
class PPSyn(PPSynSettings, GaussianMechanism):
    """Partitioned marginals, selected by contribution for each unit of budget; see `PPSynSettings`."""

    name: ClassVar[str] = "ppsyn"

    @classmethod
    def of_the_paper(cls) -> PPSyn:
        """The shares of Algorithm 1; T is not given in the paper."""
        return cls(variant="paper", scores=0.1, rounds=50)

    def granted(self, budget: Budget) -> Fraction:
        """The exact calibration for the default, which is Gaussian; zCDP for the paper's variant."""
        return budget.granted(gaussian_only=self.variant == "default")

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """The steps of the variant; see `Mechanism.steps`."""
        return self._variant.steps(self, facts, self.candidates(facts.domain, workload))

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: the protocol gives no scores (the paper's variant: no exact marginals), or no
                candidate is small enough; nothing has been charged.
            ModelError: the smallest candidate makes too large a model; nothing has been charged.
        """
        candidates = self.candidates(measurer.domain, workload)
        return self._variant(self, measurer, candidates, stream, report).run()

    @property
    def _variant(self) -> type[PartitionRun] | type[PaperRun]:
        return PaperRun if self.variant == "paper" else PartitionRun
