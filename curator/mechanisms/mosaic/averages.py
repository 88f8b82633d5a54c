"""Unbiased estimates of marginals from their measured interactions, for the error bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ....common.data.domain import Clique
from ....common.data.interactions import freedom
from ....common.measurement import Measurement
from ..parts.bounds import WeightedAverage
from .knowledge import Knowledge, parts_of


def unbiased_averages(
    known: Knowledge, cliques: Iterable[Clique], measurements: Sequence[Measurement]
) -> dict[Clique, WeightedAverage]:
    """Unbiased estimates of those marginals whose interactions are all measured.

    Interactions are orthogonal, so the largest variance of their summed noise in any direction is that of the
    noisiest interaction, spread over the cells. This gives the sigma that bounds the L1 norm of the noise.

    Args:
        known: averages of all measurements.
        cliques: cliques of the marginals.
        measurements: all measurements.
    """
    averages = {}
    domain = known.domain
    gaussian = all(measurement.gaussian for measurement in measurements)
    for clique in cliques:
        parts = [part for part in parts_of(clique) if min(domain.shape(part)) > 1]
        shape = domain.shape(clique)
        measured = {part: observed for part in parts if (observed := known.observed(part)) is not None}
        if len(measured) < len(parts):
            continue
        values, variance = np.full(shape, known.records / math.prod(shape)), 0.0
        for part, observed in measured.items():
            size = domain.cells(part)
            spread = [n if name in part else 1 for name, n in zip(clique, shape, strict=True)]
            share = size / math.prod(shape)
            values = values + observed.values.reshape(spread) * share
            noise = observed.variance / freedom(domain.shape(part))
            variance = max(variance, noise * share)
        if variance > 0:
            averages[clique] = WeightedAverage(values.ravel(), math.sqrt(variance), gaussian)
    return averages
