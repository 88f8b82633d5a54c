"""One-sided confidence bounds on the error of the model's marginals, from noisy values only.

Source: RandDPGen, Theorems 5.2 to 5.4 and Corollaries 5.1 and 5.2, after AIM (McKenna et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.table import Table
from ....common.measurement import Measurement
from ...pgm.rows.counting import pairs_on_cores
from .released import ReleasedModel

CONFIDENCE = 0.95


_SIGMAS = 3.0
"""A noisy number of records is farther off with probability .003, which bounds leave as slack."""


@dataclass(frozen=True)
class ErrorBound:
    """With probability at least `confidence`, a marginal is within L1 distance `l1` of the table's.

    Attributes:
        clique: the marginal.
        l1: bound on the L1 distance, in records.
        total_variation: the bound as a total variation distance, l1 / (2 N), at most 1.
        confidence: of this bound, not of all bounds simultaneously.
        selected: whether a round measured this marginal or a superset of it.
    """

    clique: Clique
    l1: float
    total_variation: float
    confidence: float
    selected: bool


@dataclass(frozen=True, eq=False)
class WeightedAverage:
    """Unbiased estimate of a marginal from all measurements that contain it (Theorem 5.2).

    The paper states its variance as a sum over the measurements; here it is the variance of an
    inverse-variance weighted mean, the inverse of the sum of inverses.

    Attributes:
        values: estimated counts, shape (n_r,).
        sigma: standard deviation of one cell; infinite without measurements.
        gaussian: whether the noise of the cells is independent and Gaussian.
    """

    values: NDArray[np.float64]
    sigma: float
    gaussian: bool

    def with_measurement(self, domain: Domain, clique: Clique, measurement: Measurement) -> WeightedAverage:
        """The estimate with one more measurement, of a clique that contains this one."""
        summed = tuple(i for i, name in enumerate(measurement.clique) if name not in clique)
        marginal = measurement.values.reshape(domain.shape(measurement.clique)).sum(axis=summed).ravel()
        before = self.sigma**-2
        added = marginal.size / (measurement.values.size * measurement.sigma**2)
        values = (before * self.values + added * marginal) / (before + added)
        return WeightedAverage(values, (before + added) ** -0.5, self.gaussian and measurement.gaussian)


@dataclass(frozen=True, eq=False)
class ScoredDistance:
    """A noisy L1 distance between the table's marginal and a public one.

    Attributes:
        distance: in records, with Gaussian noise.
        sigma: standard deviation of the noise.
        reference: the public marginal, shape (n_r,).
    """

    distance: float
    sigma: float
    reference: NDArray[np.int64]


def weighted_average(
    domain: Domain, clique: Clique, measurements: Sequence[Measurement]
) -> WeightedAverage | None:
    """The estimate of Theorem 5.2; None if no measurement of single cells contains the clique."""
    average = None
    for measurement in measurements:
        if set(clique) <= set(measurement.clique) and measurement.view.is_plain:
            # Only now: a marginal that nobody measured may be too large for the memory.
            average = average or WeightedAverage(np.zeros(domain.cells(clique)), math.inf, True)
            average = average.with_measurement(domain, clique, measurement)
    return average


def containing(cliques: Sequence[Clique]) -> Callable[[Clique], list[int]]:
    """What gives the places of the cliques that contain another one, increasing."""
    places: dict[str, set[int]] = {}
    for place, clique in enumerate(cliques):
        for name in clique:
            places.setdefault(name, set()).add(place)
    nowhere: set[int] = set()
    return lambda part: sorted(set.intersection(*(places.get(name, nowhere) for name in part)))


def noise_bound(cells: int, sigma: float, gaussian: bool, failure: float) -> float:
    """Upper bound on the L1 norm of a marginal's noise that fails with probability at most `failure`.

    Gaussian noise: sqrt(2 log 2) sigma n + lambda sigma sqrt(2 n) with exp(-lambda^2) = failure
    (Theorem 5.3). Other noise of the same root mean square: n sigma / sqrt(failure), by Chebyshev's
    inequality for the L2 norm and the Cauchy-Schwarz inequality.
    """
    if not gaussian:
        return cells * sigma / math.sqrt(failure)
    deviation = math.sqrt(-math.log(failure))
    return sigma * (math.sqrt(2 * math.log(2)) * cells + deviation * math.sqrt(2 * cells))


def error_bounds(
    model: ReleasedModel,
    averages: Mapping[Clique, WeightedAverage],
    selected: Sequence[Clique],
    records: int,
    *,
    first: ReleasedModel | None = None,
    candidates: Sequence[Measurement] = (),
    scored: Mapping[Clique, ScoredDistance] | None = None,
) -> tuple[ErrorBound, ...]:
    """Bounds for every measured or scored clique whose marginal the model can compute.

    At most two bounds hold for a clique, each with failure probability (1 - confidence) / 2, and the smaller
    one is reported:

    - Corollary 5.1: the distance between the model and the weighted average of all noisy marginals that
      contain the clique, plus a bound on that average's noise.
    - Corollary 5.2, for Gaussian noise: the distances from the model to the first model, and from that to
      the candidate's noisy marginal, plus lambda sigma sqrt(n). Lemma A.2 requires a model that does not
      depend on that noise: this holds for the first model, but not for the later ones that the paper uses.
      Theorem 5.4's bound on the second distance is not needed, because the noisy marginals are released and
      the distance is known.
    - For a scored clique: the distance from the model to the public marginal that it was scored against, plus
      the score and a quantile of its noise (the triangle inequality).

    Args:
        model: the released distribution.
        averages: for each clique, the average of all noisy marginals that contain it.
        selected: cliques that the rounds selected.
        records: of the table.
        first: model fitted without the candidates' noisy marginals; required with candidates.
        candidates: noisy marginals, of cliques in `averages`, that the first model does not depend on.
        scored: scores of cliques; not together with candidates.
    """
    failure = (1 - CONFIDENCE) / 2
    scored = scored or {}
    cliques = list(dict.fromkeys([*averages, *scored]))
    marginals = dict(zip(cliques, model.marginals_within_limits(cliques), strict=True))
    bounds: dict[Clique, float] = {}
    for clique, marginal in marginals.items():
        if marginal is not None and clique in scored:
            bounds[clique] = _score_bound(scored[clique], marginal, failure)
        if marginal is not None and clique in averages:
            average = averages[clique]
            distance = float(np.abs(marginal - average.values).sum())
            noise = noise_bound(marginal.size, average.sigma, average.gaussian, failure)
            bounds[clique] = min(bounds.get(clique, math.inf), distance + noise)
    for clique, bound in _candidate_bounds(first, candidates, marginals, failure).items():
        bounds[clique] = min(bounds[clique], bound)
    chosen = containing(selected)
    return tuple(
        ErrorBound(
            clique,
            l1,
            min(1.0, l1 / (2 * records)),
            CONFIDENCE,
            bool(chosen(clique)),
        )
        for clique, l1 in bounds.items()
    )


def _score_bound(known: ScoredDistance, marginal: NDArray[np.float64], failure: float) -> float:
    """Bound on the distance between a model's marginal and the table's, from a score of a public one."""
    quantile = NormalDist().inv_cdf(1 - failure)
    moved = float(np.abs(marginal - known.reference).sum())
    return moved + max(0.0, known.distance + quantile * known.sigma)


def _candidate_bounds(
    first: ReleasedModel | None,
    candidates: Sequence[Measurement],
    marginals: Mapping[Clique, NDArray[np.float64] | None],
    failure: float,
) -> dict[Clique, float]:
    """Corollary 5.2, for the candidates whose marginals both models can compute."""
    gaussian = [] if first is None else [c for c in candidates if c.gaussian]
    starts = [] if first is None else first.marginals_within_limits([c.clique for c in gaussian])
    bounds = {}
    for candidate, start in zip(gaussian, starts, strict=True):
        marginal = marginals[candidate.clique]
        if start is None or marginal is None:
            continue
        moved = float(np.abs(marginal - start).sum())
        distance = float(np.abs(start - candidate.values).sum())
        noise = math.sqrt(-2 * math.log(failure)) * candidate.sigma * math.sqrt(start.size)
        bounds[candidate.clique] = moved + distance + noise
    return bounds


def bounds_of_rows(
    bounds: Sequence[ErrorBound], model: ReleasedModel, rows: Table, records: int, sigma: float = 0.0
) -> tuple[ErrorBound, ...]:
    """The bounds for rows drawn from a model: their known distance from the model is added.

    Args:
        bounds: bounds of marginals that the model can compute.
        model: the released distribution.
        rows: rows drawn from it; their counts are scaled to the number of records.
        records: of the table.
        sigma: standard deviation of the noise of their number, of which bounds get `_SIGMAS`.
    """
    cliques = [bound.clique for bound in bounds]
    marginals = model.marginals_within_limits(cliques)
    counted = rows.marginals(cliques, pairs=pairs_on_cores)
    scale = records / rows.record_count
    found = []
    for bound, marginal, counts in zip(bounds, marginals, counted, strict=True):
        assert marginal is not None
        l1 = bound.l1 + float(np.abs(scale * counts - marginal).sum()) + _SIGMAS * sigma
        found.append(replace(bound, l1=l1, total_variation=min(1.0, l1 / (2 * records))))
    return tuple(found)
