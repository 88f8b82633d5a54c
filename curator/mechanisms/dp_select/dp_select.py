"""DP-Select: draws a pool of records from a DP-GAN, selects those whose marginals are close to the table's.

Source: Ebrahimianghazani, "DP-Select: Improving Utility and Privacy in Tabular Data Synthesis with
Differentially Private Generative Adversarial Networks and Differentially Private Selection" (2023).
`variant="paper"` follows its text and is not private (`paper.py`). What differs, and why, is in
docs/adr/0017; in short:

- The marginals that matter are found by noisy scores, and weighted by them, in place of exact mutual
  information.
- The last state of the GAN is taken, not the one that looks best on private records.
- Marginals are measured once, with noise, and records selected by what was measured, which costs nothing
  more. `reference="exact"` has the paper's exponential mechanisms over exact marginals.
- All steps share one budget, at one Rényi order, in place of epsilons that add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ....common.crypto.randomness import RandomStream
from ....common.data.workload import Workload
from ....common.extras import require_extra
from ....common.privacy.budget import Budget
from ...measurers.capabilities import holding_records
from ...measurers.measurer import Measurer
from ..parts.fitted import FittedModel, Report
from ..parts.steps import PublicFacts, Step
from .paper import PaperSelectRun
from .run import SelectRun
from .settings import SelectSettings


@dataclass(frozen=True)
class DPSelect(SelectSettings):
    """Selection from a DP-GAN's pool, with the parameters of `SelectSettings`."""

    @classmethod
    def of_the_paper(cls) -> DPSelect:
        """The paper's text: one record at a time, T = 20, and the epsilon ratio that it found best."""
        return cls(variant="paper", gan=0.2, reference="exact", marginals=0.1, candidates=20)

    @property
    def name(self) -> str:
        """As on the command line."""
        return "dp-select"

    def granted(self, budget: Budget) -> Fraction:
        """What may be spent at one Rényi order, since sampled noise has no zCDP."""
        return Fraction(budget.order.zcdp_rho)

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        return {"name": self.name, **self.described()}

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """The variant's; see `Mechanism.steps`."""
        return self._variant.steps(self, facts, workload)

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the grant; the workload says which marginals may matter. See `Mechanism.run`.

        Raises:
            MissingExtraError: PyTorch or Opacus is not installed; nothing was charged.
            DataError: the protocol leaves records with the parties; nothing was charged.
        """
        require_extra("gan")
        return self._variant(self, holding_records(measurer, self.name), workload, stream, report).run()

    @property
    def _variant(self) -> type[SelectRun]:
        return PaperSelectRun if self.variant == "paper" else SelectRun
