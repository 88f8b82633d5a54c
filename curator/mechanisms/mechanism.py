"""The seam between a mechanism and whoever runs it, and what a mechanism hands back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from ...common.crypto.randomness import RandomStream
from ...common.data.workload import Workload
from ...common.privacy.budget import Budget
from ..measurers.measurer import Measurer
from .parts.fitted import FittedModel, Report


class Mechanism(Protocol):
    """Selects marginals, measures them through a Measurer and fits a model."""

    @property
    def name(self) -> str:
        """As on the command line."""
        ...

    def granted(self, budget: Budget) -> Fraction:
        """The rho that the mechanism may spend so that its steps together keep the budget's promise."""
        ...

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        ...

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the measurer's grant.

        Args:
            measurer: answers queries and keeps the accounts.
            workload: the marginals that matter.
            stream: randomness of the mechanism's own choices.
            report: called after every step.
        """
        ...


@dataclass(frozen=True)
class GaussianMechanism:
    """What mechanisms share that add Gaussian noise, post-process, and have no variants.

    Subclasses state their name; their fields are their parameters.
    """

    name: ClassVar[str]

    def granted(self, budget: Budget) -> Fraction:
        """Gaussian noise and post-processing alone: the exact calibration."""
        return budget.granted(gaussian_only=True)

    def describe(self) -> dict[str, Any]:
        """Name and parameters, for the certificate."""
        return {"name": self.name, "variant": "default", **asdict(self)}
