"""ABSyn: score all pairs once, select pairs in one batch, measure them, make them consistent, fit.

Source: Jia et al., "ABSyn: An Accurate Differentially Private Data Synthesis Scheme With Adaptive Selection
and Batch Processes", Algorithm 2. `variant="paper"` follows its text, which is private but spends more than
necessary. The default differs (docs/adr/0015):

- A pair's R-score is its distance from the product of the noisy one-way marginals, which are already public,
  and not of the exact ones: its sensitivity is 1, not 4.
- epsilon is converted to rho exactly, and one-way marginals share their budget by number of cells.
- Paths of selected pairs explain a share of a pair's R-score; they are not subtracted from it (`cr_scores`).
- The model is fitted as a whole.

In both variants, attributes in no selected pair get a part of the budget for measurements, as in the authors'
program; the paper's text leaves them only the tenth for one-way marginals.
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
from .run import BatchRun
from .settings import ABSynSettings


@dataclass(frozen=True)
class ABSyn(ABSynSettings, GaussianMechanism):
    """Adaptive selection in a batch; all pairs have the same weight, whatever the workload.

    Parameters: see `ABSynSettings`.
    """

    name: ClassVar[str] = "absyn"

    @classmethod
    def of_the_paper(cls) -> ABSyn:
        """The paper's parameters (section VI.B), with parallel fits."""
        return cls(variant="paper", estimator="parallel")

    def granted(self, budget: Budget) -> Fraction:
        """The exact calibration for the default, which is Gaussian; Theorem 4 for the paper's variant."""
        if self.variant == "paper":
            return budget.granted_by_bun_steinke()
        return budget.granted(gaussian_only=True)

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """The same in both variants; see `Mechanism.steps`."""
        return BatchRun.steps(self, facts)

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the whole grant; see `Mechanism.run`.

        Raises:
            DataError: the protocol gives no exact distances; nothing has been measured.
            ModelError: the smallest pair makes too large a model; nothing has been measured.
        """
        run = PaperRun if self.variant == "paper" else BatchRun
        return run(self, measurer, workload, stream, report).run()
