"""PPSyn: measure the marginal that improves the model most for its cost, over boxes instead of cells.

Source: Zhang, Deng and Yin, "Partition-based differentially private synthetic data generation",
    Algorithms 1 and 2.

The paper computes partitions, required budgets and scores from the table's exact marginals, and releases
them: that is not private. `variant="paper"` follows it in simulation (`paper.py`). In the default all
three are public:

- A partition follows from the noisy one-way marginals (`WithinBoxDeviation`): the finer, the more it shows
  of how the table deviates from the model. By how much it does is a noisy score, of sensitivity 1 whatever
  the number of cells.
- A partition of k boxes that hides a share h of the contribution C needs rho = k^2 / pi (eta C - h C)^2, so
  the one that needs least is the same for every C. A marginal measured before is measured over smaller
  boxes.
- Inside a box the model keeps the shape that all other measurements give it, instead of a uniform one.
- Scores for all candidates cost as much as one for each: a round selects as many as it can afford.
- What is left in the end measures everything once more that the model is made of, each over the boxes that
  promise the smallest error (Theorem 3).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from ....common.crypto.randomness import RandomStream
from ....common.data.workload import Workload
from ....common.privacy.budget import Budget
from ...measurers.measurer import Measurer
from ..parts.fitted import FittedModel, Report
from ..parts.steps import PublicFacts, Step
from .paper import PaperRun
from .run import PartitionRun
from .settings import PPSynSettings


@dataclass(frozen=True)
class PPSyn(PPSynSettings):
    """Partitioned marginals, by contribution for each unit of budget; parameters as in `PPSynSettings`."""

    @classmethod
    def of_the_paper(cls) -> PPSyn:
        """The shares of Algorithm 1; T is not given in the paper."""
        return cls(variant="paper", scores=0.1, rounds=50)

    @property
    def name(self) -> str:
        """As on the command line."""
        return "ppsyn"

    def granted(self, budget: Budget) -> Fraction:
        """Exact for the default, Gaussian alone; zCDP for the paper's exponential mechanism."""
        return budget.granted(gaussian_only=self.variant == "default")

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        return {"name": self.name, **asdict(self)}

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """The variant's; see `Mechanism.steps`."""
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
