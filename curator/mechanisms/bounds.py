"""How far the model's marginals are from the table's, as one-sided confidence bounds from noisy values alone.

Source: RandDPGen, Theorems 5.2 to 5.4 and Corollaries 5.1 and 5.2, after AIM (McKenna et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.domain import Clique, Domain
from ...common.measurement import Measurement
from ..pgm.model import MarkovRandomField

CONFIDENCE = 0.95


@dataclass(frozen=True)
class ErrorBound:
    """With probability at least `confidence`, the model's marginal is no further from the table's than `l1`.

    Attributes:
        clique: the marginal.
        l1: bound on the L1 distance, in records.
        total_variation: the same as a total variation distance, l1 / (2 N), at most 1.
        confidence: for this marginal alone, not for all together.
        selected: a round measured this marginal or a larger one; else only the first phase did.
    """

    clique: Clique
    l1: float
    total_variation: float
    confidence: float
    selected: bool


@dataclass(frozen=True, eq=False)
class WeightedAverage:
    """Unbiased estimate of a marginal from all measurements that contain it (Theorem 5.2).

    The paper states its variance as a sum over the measurements; the variance of an inverse-variance
    weighted mean is the inverse of the sum of inverses, which is what stands here.

    Attributes:
        values: shape (n_r,), counts.
        sigma: standard deviation of one cell; infinite before the first measurement.
        gaussian: the noise of the cells is independent and Gaussian.
    """

    values: NDArray[np.float64]
    sigma: float
    gaussian: bool

    def with_measurement(self, domain: Domain, clique: Clique, measurement: Measurement) -> WeightedAverage:
        """The estimate of the clique's marginal once a measurement of a clique that contains it is added."""
        summed = tuple(i for i, name in enumerate(measurement.clique) if name not in clique)
        marginal = measurement.values.reshape(domain.shape(measurement.clique)).sum(axis=summed).ravel()
        before = self.sigma**-2
        added = marginal.size / (measurement.values.size * measurement.sigma**2)
        values = (before * self.values + added * marginal) / (before + added)
        return WeightedAverage(values, (before + added) ** -0.5, self.gaussian and measurement.gaussian)


def weighted_average(
    domain: Domain, clique: Clique, measurements: Sequence[Measurement]
) -> WeightedAverage | None:
    """The estimate of Theorem 5.2; None where no measurement contains the clique."""
    average = WeightedAverage(np.zeros(domain.cells(clique)), math.inf, True)
    for measurement in measurements:
        if set(clique) <= set(measurement.clique):
            average = average.with_measurement(domain, clique, measurement)
    return average if average.sigma < math.inf else None


def noise_bound(cells: int, sigma: float, gaussian: bool, confidence: float) -> float:
    """Upper bound on the L1 norm of the noise of a marginal, with this probability.

    Gaussian noise: sqrt(2 log 2) sigma n + lambda sigma sqrt(2 n) with 1 - exp(-lambda^2) = confidence
    (Theorem 5.3). Any other noise of that root mean square: n sigma / sqrt(1 - confidence), by Chebyshev's
    inequality for the L2 norm and Cauchy's between the norms.
    """
    if not gaussian:
        return cells * sigma / math.sqrt(1 - confidence)
    deviation = math.sqrt(-math.log(1 - confidence))
    return sigma * (math.sqrt(2 * math.log(2)) * cells + deviation * math.sqrt(2 * cells))


def error_bounds(
    model: MarkovRandomField,
    cliques: Sequence[Clique],
    measurements: Sequence[Measurement],
    selected: Sequence[Clique],
    records: int,
) -> tuple[ErrorBound, ...]:
    """Bounds for every clique that some measurement contains (Corollary 5.1).

    For a marginal that no round selected, the paper's Theorem 5.4 argues through the exponential mechanism
    from the distance of the selected one. Selection here is post-processing of noisy marginals that are
    released, so Corollary 5.1 applies to those directly, and holds whatever was selected.

    Args:
        model: the released distribution.
        cliques: which marginals.
        measurements: all noisy marginals.
        selected: cliques of the rounds.
        records: of the table.
    """
    bounds = []
    for clique, marginal in zip(cliques, model.marginals(cliques), strict=True):
        average = weighted_average(model.domain, clique, measurements)
        if average is None:
            continue
        distance = float(np.abs(marginal - average.values).sum())
        l1 = distance + noise_bound(marginal.size, average.sigma, average.gaussian, CONFIDENCE)
        contained = any(set(clique) <= set(larger) for larger in selected)
        bounds.append(ErrorBound(clique, l1, min(1.0, l1 / (2 * records)), CONFIDENCE, contained))
    return tuple(bounds)
