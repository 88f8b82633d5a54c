"""PrivBayes: a Bayesian network from noisy scores of pairs, with noisy tables, and rows drawn from it.

Source: Bao et al., "Synthetic data generation with differential privacy via Bayesian networks" (2021), which
describes the entry to the NIST challenge of 2018. `variant="paper"` follows its text where the interface to
protocols permits. The differences (docs/adr/0014-privbayes-over-parties.md):

- In both variants, a score is half the L1 distance of a pair's marginal from the product of noisy one-way
  marginals, not of the exact ones: its sensitivity is 1/2, not 2, and parties can compute it in shares.
- The number of records is public here, so no budget is spent on it.
- The one-way marginals used by scores also take part in making tables consistent.
- The expected effect of sampling on a score is subtracted.
- A parent joins a table if it adds more information than noise.
- The budget of the tables is split by number of cells.
- Tables are first made consistent and then freed of negative counts, repeatedly; the paper does the reverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....common.crypto.randomness import RandomStream
from ....common.data.workload import Workload
from ...measurers.measurer import Measurer
from ..mechanism import GaussianMechanism
from ..parts.fitted import FittedModel, Report
from ..parts.steps import PublicFacts, Step
from .paper import PaperRun
from .run import NetworkRun
from .settings import PrivBayesSettings


@dataclass(frozen=True)
class PrivBayes(PrivBayesSettings, GaussianMechanism):
    """A Bayesian network from which rows can be drawn without replacement.

    Parameters: see `PrivBayesSettings`.
    """

    name: ClassVar[str] = "privbayes"

    @classmethod
    def of_the_paper(cls) -> PrivBayes:
        """The paper's variant, with its shares of the budget."""
        return cls(variant="paper")

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """The steps of the variant; see `NetworkRun.steps`."""
        return self._variant.steps(self, facts, workload)

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; the workload only determines the error bounds."""
        return self._variant(self, measurer, workload, report).run()

    @property
    def _variant(self) -> type[NetworkRun]:
        return PaperRun if self.variant == "paper" else NetworkRun
