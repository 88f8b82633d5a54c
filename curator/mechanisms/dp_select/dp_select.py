"""DP-Select: a pool of records from a DP-GAN, and those of them whose marginals come close to the table's.

Source: Ebrahimianghazani, "DP-Select: Improving Utility and Privacy in Tabular Data Synthesis with
Differentially Private Generative Adversarial Networks and Differentially Private Selection" (2023).
`variant="paper"` follows its text and is not private (`dp_select_paper`). What differs, and why, is in
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
from typing import Any, Literal

from ....common.crypto.randomness import RandomStream
from ....common.data.workload import Workload
from ....common.errors import DataError
from ....common.extras import require_extra
from ....common.privacy.budget import Budget
from ...measurers.central import central
from ...measurers.measurer import Measurer
from ..dp_gan.settings import GanSettings
from ..parts.fitted import FittedModel, Report
from .distances import DISTANCES, Distance
from .paper import PaperSelectRun
from .run import SelectRun


@dataclass(frozen=True)
class DPSelect(GanSettings):
    """Selection from a DP-GAN's pool, with the parameters of `GanSettings` and these.

    Attributes:
        variant: "default", or "paper" for the paper's own text.
        gan: share of the budget for training; in the paper's variant of epsilon (its epsilon ratio).
        scores: share of the budget for scoring all marginals of the workload.
        reference: "measured" for marginals that are measured once, with noise; "exact" for exponential
            mechanisms over exact marginals.
        pool: records that are generated for each one that is selected.
        marginals: share of the workload's marginals that records are selected by.
        distance: between marginals.
        candidates: in each step.
        at_once: records of one candidate.
        sections: that the pool is cut into, and with exact marginals the table.
    """

    variant: Literal["default", "paper"] = "default"
    gan: float = 0.3
    scores: float = 0.1
    reference: Literal["measured", "exact"] = "measured"
    pool: int = 10
    marginals: float = 0.3
    distance: Distance = "density"
    candidates: int = 100
    at_once: int = 1
    sections: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in ("default", "paper"):
            raise DataError(f"variant: expected 'default' or 'paper', got {self.variant!r}")
        for name in ("gan", "scores"):
            if not 0 < getattr(self, name) < 1:
                raise DataError(f"{name}: expected a share in (0, 1), got {getattr(self, name)}")
        if not 0 < self.marginals <= 1:
            raise DataError(f"marginals: expected a share in (0, 1], got {self.marginals}")
        if self.one_way + self.gan + self.scores >= 1:
            raise DataError("one_way, scores and gan leave nothing for the selection; lower them")
        if self.reference not in ("measured", "exact"):
            raise DataError(f"reference: expected 'measured' or 'exact', got {self.reference!r}")
        if self.distance not in DISTANCES:
            raise DataError(f"distance: expected one of {', '.join(DISTANCES)}, got {self.distance!r}")
        if self.candidates < 2 or min(self.pool, self.at_once, self.sections) < 1:
            raise DataError("expected candidates >= 2, and pool, at_once and sections >= 1")
        if self.variant == "paper" and self.checkpoint is not None:
            raise DataError("checkpoint: the variant 'paper' keeps none, as its start is not private")

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

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the grant; the workload says which marginals may matter. See `Mechanism.run`.

        Raises:
            MissingExtraError: PyTorch or Opacus is not installed; nothing was charged.
            DataError: the protocol keeps records where they are; nothing was charged.
        """
        require_extra("gan")
        holder = central(measurer, self.name)
        run = PaperSelectRun if self.variant == "paper" else SelectRun
        return run(self, holder, workload, stream, report).run()
