"""What a run reports along the way, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ....common.data.domain import Clique
from ....common.data.table import Table
from ....common.measurement import Measurement
from .bounds import ErrorBound, bounds_of_rows
from .released import ReleasedModel
from .steps import Step


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
        steps: of the mechanism, as it set out.
    """

    model: ReleasedModel
    measurements: tuple[Measurement, ...]
    rounds: tuple[Round, ...]
    bounds: tuple[ErrorBound, ...]
    selection: str = ""
    steps: tuple[Step, ...] = ()

    def bounded_for(self, rows: Table, records: int) -> FittedModel:
        """With bounds on the error of these rows in place of the model's.

        Args:
            rows: made from the model.
            records: of the table.
        """
        return replace(self, bounds=bounds_of_rows(self.bounds, self.model, rows, records))


def ignore(progress: Progress) -> None:
    """Reports nowhere."""
