"""Progress reports and the result of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ....common.data.domain import Clique
from ....common.data.table import Table
from ....common.measurement import Measurement
from .bounds import ErrorBound, bounds_of_rows
from .released import ReleasedModel
from .steps import Step


@dataclass(frozen=True)
class Progress:
    """Progress of a run; public facts only.

    Attributes:
        step: the step that was just finished.
        clique: the marginal it concerned; empty for several.
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
        clique: the selected marginal.
        sigma: standard deviation of the noise of its cells, in counts.
        zcdp_rho: cost of the round.
        learned: L1 distance between the clique's marginals in the models after and before, in records.
        annealed: whether little was learned, so that the next round gets more budget.
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
    """The result of a mechanism; everything in it is differentially private.

    Attributes:
        model: the distribution that synthetic rows come from.
        measurements: all noisy marginals, in the order they were taken.
        rounds: report of each round.
        bounds: one-sided confidence bounds on its error, one for each workload marginal measured or scored.
        selection: the values by which marginals were selected, in words; empty without selection.
        steps: planned steps of the mechanism.
        labels: of open categories, by name: the frequent labels.
    """

    model: ReleasedModel
    measurements: tuple[Measurement, ...]
    rounds: tuple[Round, ...]
    bounds: tuple[ErrorBound, ...]
    selection: str = ""
    steps: tuple[Step, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def bounded_for(self, rows: Table, records: int, sigma: float = 0.0) -> FittedModel:
        """A copy with bounds on the error of these rows instead of the model's.

        Args:
            rows: rows drawn from the model.
            records: of the table.
            sigma: standard deviation of the noise of their number.
        """
        return replace(self, bounds=bounds_of_rows(self.bounds, self.model, rows, records, sigma))


def ignore(progress: Progress) -> None:
    """Discards the progress report."""
