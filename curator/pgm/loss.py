"""What a model's marginals should come close to: noisy measurements and their weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.domain import Clique, Domain
from ...common.errors import ModelError
from ...common.measurement import Measurement

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class QuadraticLoss:
    """The weighted squared distance between the marginals of a model and what was measured.

    Attributes:
        cliques: distinct, each measured once or more often.
        shapes: the shape of each.
        values: shape (n,): the measured cells of all cliques, one clique after another.
        weights: shape (n,): one over the variance of each cell.
    """

    cliques: tuple[Clique, ...]
    shapes: tuple[tuple[int, ...], ...]
    values: Array
    weights: Array

    @classmethod
    def of(cls, domain: Domain, measurements: Sequence[Measurement]) -> QuadraticLoss:
        """Merge the measurements of each clique by weights of one over the variance.

        A measurement of the empty clique says only what the total is, and is left out.

        Raises:
            DataError: a clique names an attribute that the domain lacks.
            ModelError: a clique is not in domain order, or a measurement has another number of cells.
        """
        sums: dict[Clique, Array] = {}
        weights: dict[Clique, float] = {}
        for measurement in measurements:
            clique, weight = measurement.clique, measurement.sigma**-2
            _check(domain, measurement)
            if clique:
                sums[clique] = sums.get(clique, 0.0) + weight * measurement.values
                weights[clique] = weights.get(clique, 0.0) + weight
        shapes = tuple(domain.shape(clique) for clique in sums)
        cells = [len(part) for part in sums.values()]
        return cls(
            tuple(sums),
            shapes,
            np.concatenate([np.empty(0), *(part / weights[clique] for clique, part in sums.items())]),
            np.repeat(np.array([weights[clique] for clique in sums]), cells),
        )

    def of_marginals(self, marginals: Array) -> float:
        """Half the sum over all cells of weight x (marginal - value)^2."""
        return self.curvature(marginals - self.values)

    def gradient(self, marginals: Array) -> Array:
        """Its gradient in the marginals, shape (n,)."""
        return self.weights * (marginals - self.values)

    def curvature(self, step: Array) -> float:
        """Half the sum over all cells of weight x step^2: what the loss has beyond its tangent."""
        return 0.5 * dot(step, self.weights * step)


def minimum_variance_total(measurements: Sequence[Measurement]) -> float:
    """The number of records with the least variance that the sums of the measurements give; at least 1.

    A sum of n cells has variance n sigma^2; sums are weighted by one over it. Without measurements it is 1.
    """
    if not measurements:
        return 1.0
    weights = [1.0 / (len(measurement.values) * measurement.sigma**2) for measurement in measurements]
    sums = [float(measurement.values.sum()) for measurement in measurements]
    return max(1.0, sum(w * s for w, s in zip(weights, sums, strict=True)) / sum(weights))


def split(vector: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Views of a vector as arrays of these shapes, one after another."""
    views, start = [], 0
    for shape in shapes:
        stop = start + math.prod(shape)
        views.append(vector[start:stop].reshape(shape))
        start = stop
    return views


def dot(left: Array, right: Array) -> float:
    """The inner product of two vectors, without BLAS: its threads cost milliseconds where cores are busy."""
    return float(np.sum(left * right))


def _check(domain: Domain, measurement: Measurement) -> None:
    clique = measurement.clique
    if domain.canonical(clique) != clique:
        raise ModelError(
            f"expected the clique {domain.canonical(clique)} in domain order, found {clique}; "
            "measure it in that order"
        )
    if measurement.boxes:
        raise ModelError(f"expected the cells of {clique}, found sums over boxes; measure single cells")
    if len(measurement.values) != domain.cells(clique):
        raise ModelError(
            f"expected {domain.cells(clique)} cells for {clique}, found {len(measurement.values)}; "
            "measure it on the model's domain"
        )
