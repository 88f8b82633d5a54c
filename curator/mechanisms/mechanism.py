"""The interface of a mechanism: its steps, and a run that returns a fitted model."""

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
        """Name on the command line."""
        ...

    def granted(self, budget: Budget) -> Fraction:
        """The rho that the mechanism may spend so that all its steps together satisfy the budget."""
        ...

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        ...

    def steps(self, facts: PublicFacts, workload: Workload) -> tuple[Step, ...]:
        """The steps of a run, in order, known before anything is measured; `run` and forecasts use them.

        A run charges only under these names. The shares add up to 1; where the number of times of a step
        depends on the data, they are the planned shares.

        Args:
            facts: public facts of the measurer, or of a planned release.
            workload: marginals to preserve, with weights.

        Raises:
            DataError: the mechanism cannot run over this protocol, or no marginal is small enough.
        """
        ...

    def run(
        self, measurer: Measurer, workload: Workload, stream: RandomStream, report: Report
    ) -> FittedModel:
        """Spends the measurer's budget.

        Args:
            measurer: answers queries and charges them.
            workload: marginals to preserve, with weights.
            stream: randomness of the mechanism's own choices.
            report: called with the progress after every step.
        """
        ...


@dataclass(frozen=True)
class GaussianMechanism:
    """Base class of mechanisms that only add Gaussian noise and post-process; others say what is `granted`.

    Subclasses set `name`; their fields are their parameters, with `variant` if they have several.
    """

    name: ClassVar[str]

    def granted(self, budget: Budget) -> Fraction:
        """The exact calibration for Gaussian noise and post-processing."""
        return budget.granted(gaussian_only=True)

    def describe(self) -> dict[str, Any]:
        """Name, variant and parameters, for the certificate."""
        return {"name": self.name, "variant": "default", **asdict(self)}
