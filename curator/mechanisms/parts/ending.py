"""What every mechanism ends with: the model, all that was measured, and bounds on the model's error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ....common.data.domain import Clique
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer
from .bounds import ErrorBound, ScoredDistance, WeightedAverage, error_bounds, weighted_average
from .fitted import FittedModel, Round
from .released import ReleasedModel
from .steps import Step


def averages_of(
    measurer: Measurer, cliques: Iterable[Clique], measurements: Sequence[Measurement]
) -> dict[Clique, WeightedAverage]:
    """For each clique that a measurement contains, the average of all that do (RandDPGen, Theorem 5.2)."""
    found = ((clique, weighted_average(measurer.domain, clique, measurements)) for clique in cliques)
    return {clique: average for clique, average in found if average is not None}


def ended(
    measurer: Measurer,
    steps: Sequence[Step],
    model: ReleasedModel,
    measurements: Sequence[Measurement],
    *,
    averages: Mapping[Clique, WeightedAverage],
    scored: Mapping[Clique, ScoredDistance] | None = None,
    rounds: Sequence[Round] = (),
    selected: Sequence[Clique] | None = None,
    selection: str = "",
    bounds: Sequence[ErrorBound] | None = None,
) -> FittedModel:
    """The end of a run, which costs nothing.

    Args:
        measurer: that was asked.
        steps: of the mechanism.
        model: the released distribution.
        measurements: all noisy marginals, in the order they were taken.
        averages: for each clique what all noisy marginals together say of it (`averages_of`).
        scored: what is known of cliques by their scores.
        rounds: what the rounds did.
        selected: cliques that were selected; those of the rounds where left out.
        selection: what marginals were selected by.
        bounds: where a mechanism has others than `error_bounds` gives.
    """
    if selected is None:
        selected = [done.clique for done in rounds]
    if bounds is None:
        bounds = error_bounds(model, averages, selected, measurer.record_count, scored=scored)
    return FittedModel(model, tuple(measurements), tuple(rounds), tuple(bounds), selection, tuple(steps))
