"""The seam between a mechanism and whoever runs it, and what a mechanism hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

from ...common.crypto.randomness import RandomStream
from ...common.domain import Clique
from ...common.measurement import Measurement
from ...common.privacy.budget import Budget
from ...common.table import Table
from ...common.workload import Workload
from ..measurers.measurer import Measurer
from .bounds import ErrorBound, bounds_of_rows
from .released import ReleasedModel


@dataclass(frozen=True)
class Progress:
    """Where a run stands; public facts only.

    Attributes:
        step: what was just done.
        clique: the marginal that it was done for; empty for a phase over many.
        round: number of the round; 0 before the first.
        spent: share of the budget spent, in 0..1.
    """

    step: str
    clique: Clique
    round: int
    spent: float


Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Round:
    """One round of select, measure, estimate.

    Attributes:
        clique: what was selected.
        sigma: scale of its noise, in counts.
        zcdp_rho: what the round cost.
        learned: L1 distance between the clique's marginals in the models after and before, in records.
        annealed: little was learned, so the next round gets more.
        model_mb: size of the model after the round.
    """

    clique: Clique
    sigma: float
    zcdp_rho: float
    learned: float
    annealed: bool
    model_mb: float


@dataclass(frozen=True)
class FittedModel:
    """What a mechanism releases; everything in it is differentially private.

    Attributes:
        model: the distribution that synthetic rows come from.
        measurements: all noisy marginals, in the order they were taken.
        rounds: what the rounds did.
        bounds: one-sided confidence bounds on its error, one for each workload marginal measured or scored.
        selection: what marginals were selected by; empty where none were.
    """

    model: ReleasedModel
    measurements: tuple[Measurement, ...]
    rounds: tuple[Round, ...]
    bounds: tuple[ErrorBound, ...]
    selection: str = ""

    def bounded_for(self, rows: Table, records: int) -> FittedModel:
        """With bounds on the error of these rows in place of the model's.

        Args:
            rows: made from the model.
            records: of the table.
        """
        return replace(self, bounds=bounds_of_rows(self.bounds, self.model, rows, records))


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


def ignore(progress: Progress) -> None:
    """Reports nowhere."""
