"""DP-Select: generates a pool of records by a DP-GAN, selects those whose marginals are close to the table's.

Source: Ebrahimianghazani, "DP-Select: Improving Utility and Privacy in Tabular Data Synthesis with
Differentially Private Generative Adversarial Networks and Differentially Private Selection" (2023).
`variant="paper"` follows its text and is not private (`paper.py`). The differences (docs/adr/0017):

- The important marginals are found and weighted by noisy scores instead of exact mutual information.
- The last state of the GAN is used, not the one that is best on private records.
- Marginals are measured once, with noise, and records are selected by these, which is post-processing.
  `reference="exact"` uses the paper's exponential mechanisms over exact marginals.
- All steps share one budget at one Rényi order, instead of epsilons that are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....common.crypto.randomness import RandomStream
from ....common.data.workload import Workload
from ....common.extras import require_extra
from ...measurers.capabilities import holding_records
from ...measurers.measurer import Measurer
from ..parts.fitted import FittedModel, Report
from ..parts.steps import PublicFacts, Step
from .paper import PaperSelectRun
from .run import SelectRun
from .settings import SelectSettings


@dataclass(frozen=True)
class DPSelect(SelectSettings):
    """Selection from the pool of a DP-GAN; parameters: see `SelectSettings`."""

    name: ClassVar[str] = "dp-select"

    @classmethod
    def of_the_paper(cls) -> DPSelect:
        """The paper's variant: one record at a time, T = 20, and its best epsilon ratio."""
        return cls(variant="paper", gan=0.2, reference="exact", marginals=0.1, candidates=20)

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        return {"name": self.name, **self.without_checkpoint()}

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """The steps of the variant; see `Mechanism.steps`."""
        return self._variant.steps(self, facts, workload)

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the budget; the workload has the candidate marginals. See `Mechanism.run`.

        Raises:
            MissingExtraError: PyTorch or Opacus is not installed; nothing was charged.
            DataError: the protocol keeps the records at the parties; nothing was charged.
        """
        require_extra("gan")
        return self._variant(self, holding_records(measurer, self.name), workload, stream, report).run()

    @property
    def _variant(self) -> type[SelectRun]:
        return PaperSelectRun if self.variant == "paper" else SelectRun
