"""The end of every mechanism: model, measurements and error bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ....common.data.domain import Clique
from ....common.measurement import Measurement
from ...measurers.measurer import Measurer
from .bounds import (
    ErrorBound,
    ScoredDistance,
    WeightedAverage,
    containing,
    error_bounds,
    weighted_average,
)
from .fitted import FittedModel, Round
from .released import ReleasedModel
from .steps import Step


def averages_of(
    measurer: Measurer, cliques: Iterable[Clique], measurements: Sequence[Measurement]
) -> dict[Clique, WeightedAverage]:
    """For each clique, the average of all measurements that contain it (RandDPGen, Theorem 5.2)."""
    places, domain = containing([one.clique for one in measurements]), measurer.domain
    held = ((clique, [measurements[place] for place in places(clique)]) for clique in cliques)
    found = ((clique, weighted_average(domain, clique, those)) for clique, those in held)
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
    """The result of a run, with error bounds; post-processing.

    Args:
        measurer: measurer of the run.
        steps: steps of the mechanism.
        model: the released distribution.
        measurements: all noisy marginals, in the order they were taken.
        averages: for each clique, the average of all noisy marginals that contain it (`averages_of`).
        scored: scores of cliques.
        rounds: report of each round.
        selected: selected cliques; by default those of the rounds.
        selection: the values by which marginals were selected, in words.
        bounds: replace those of `error_bounds`.
    """
    if selected is None:
        selected = [done.clique for done in rounds]
    if bounds is None:
        bounds = error_bounds(model, averages, selected, measurer.record_count, scored=scored)
    return FittedModel(model, tuple(measurements), tuple(rounds), tuple(bounds), selection, tuple(steps))
