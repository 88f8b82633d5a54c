"""PrivBayes: a Bayesian network by noisy scores of pairs, noisy tables for it, and rows drawn from these.

Source: Bao et al., "Synthetic data generation with differential privacy via Bayesian networks" (2021), which
describes the entry to the NIST challenge of 2018. `variant="paper"` follows its text where the seam to
protocols lets it. What differs, and why, is in docs/adr/0014-privbayes-over-parties.md; in short:

- A score is half the L1 distance of a pair's marginal from the product of noisy one-way marginals, in place
  of the exact product: sensitivity 1/2 in place of 2, and parties compute it in shares. In both variants.
- The record count is public here, so nothing is paid for a noisy one.
- The one-way marginals that scores refer to are paid for, so they take part in making tables consistent.
- What sampling alone adds to a score is known, and taken off.
- A parent joins a table if it says more than the noise that its cells bring.
- The tables' budget is split by number of cells.
- Tables are made consistent first and freed of negative counts then, and this again, not the other way.
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
from .run import NetworkRun
from .settings import PrivBayesSettings


@dataclass(frozen=True)
class PrivBayes(PrivBayesSettings):
    """A Bayesian network whose rows can be drawn without replacement.

    Parameters as in `PrivBayesSettings`.
    """

    @classmethod
    def of_the_paper(cls) -> PrivBayes:
        """The paper's text, with the shares that it states."""
        return cls(variant="paper")

    @property
    def name(self) -> str:
        """As on the command line."""
        return "privbayes"

    def granted(self, budget: Budget) -> Fraction:
        """Gaussian noise and post-processing alone: the exact calibration (Lemma 2.1)."""
        return budget.granted(gaussian_only=True)

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        return {"name": self.name, **asdict(self)}

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """The variant's; see `Mechanism.steps`."""
        return self._variant.steps(self, facts, workload)

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; the workload only says what error bounds are wanted for."""
        return self._variant(self, measurer, workload, report).run()

    @property
    def _variant(self) -> type[NetworkRun]:
        return PaperRun if self.variant == "paper" else NetworkRun
