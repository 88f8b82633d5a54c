"""What a mechanism is to its callers: the steps it states, and a run that hands back a fitted model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from ...common.crypto.randomness import RandomStream
from ...common.data.workload import Workload
from ...common.privacy.budget import Budget
from ..measurers.measurer import Measurer
from .parts.fitted import FittedModel, Report
from .parts.steps import PublicFacts, Step


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

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """What a run will ask, in order, before anything is measured: `run` and forecasts read it.

        A run charges under these names alone. The shares add up to 1; where the data decide how often a step
        is taken, they are those that the mechanism sets out with.

        Args:
            facts: of the measurer, or of a release that is only planned.
            workload: the marginals that matter.

        Raises:
            DataError: the mechanism cannot run over this protocol, or no marginal is small enough.
        """
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
