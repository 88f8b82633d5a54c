"""How a budget is split over interactions so that the predicted error of a workload is least.

The predicted L1 error of an interaction that is measured with noise of variance v in each cell is
sqrt(2 / pi) times the sum over cells of tau / sqrt(1 + tau^2 / v): its own size where the noise is large, and
the noise where that is small. The error of a marginal is the root of the sum of squares over its
interactions, the error of the workload the weighted sum over its marginals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..parts.allocation import EXPECTED_L1

Array = NDArray[np.float64]

_AMOUNTS = np.concatenate([[0.0], np.geomspace(1e-7, 1, 120)])
"""Parts of the budget that one interaction may get."""

_REWEIGHTINGS = 4
_LEAST_WEIGHT = 0.05


@dataclass(frozen=True, eq=False)
class SplitProblem:
    """Interactions that may be measured, and the workload that they serve.

    Attributes:
        deviations: shape (interactions, classes): tau of the cells of each class, in counts.
        cells: shape (interactions, classes): number of cells of each.
        known: shape (interactions,): one over the variance of a cell as measured so far; 0 if it was not.
        price: shape (interactions,): variance of a cell times what it costs, in counts^2 rho.
        marginals: shape (marginals, most interactions of one): which interactions each has; -1 for none.
        weights: shape (marginals,): how much each matters.
    """

    deviations: Array
    cells: Array
    known: Array
    price: Array
    marginals: NDArray[np.int64]
    weights: Array

    def split(self, total: float) -> tuple[Array, Array]:
        """The parts of the budget for which the predicted error of the workload is least.

        Convex in the parts for fixed weights of the interactions, which follow from their errors: solved by
        one multiplier for each of a few reweightings.

        Args:
            total: what there is to split, zCDP; positive.

        Returns:
            The parts, which add up to at most the total, and what each interaction improves if it is in the
            model: the weight of its marginals times the fall of its predicted error. Both of shape
            (interactions,).
        """
        amounts = _AMOUNTS * total
        precision = self.known[:, None] + amounts / self.price[:, None]
        errors = np.empty_like(precision)
        slopes = np.empty_like(precision)
        for i in range(precision.shape[1]):
            shrunk = 1 / np.sqrt(1 + precision[:, i, None] * self.deviations**2)
            errors[:, i] = EXPECTED_L1 * (self.cells * self.deviations * shrunk).sum(axis=1)
            bend = (self.cells * (self.deviations * shrunk) ** 3).sum(axis=1)
            slopes[:, i] = EXPECTED_L1 / 2 * bend / self.price
        matter = self._matter(np.ones_like(self.marginals, dtype=float))
        weights = matter
        for _ in range(_REWEIGHTINGS):
            chosen = self._solved(slopes * weights[:, None], amounts, total)
            now = errors[np.arange(len(chosen)), chosen]
            weights = np.maximum(self._pull(now), _LEAST_WEIGHT * matter)
        parts = amounts[chosen]
        left_out = EXPECTED_L1 * (self.cells * self.deviations).sum(axis=1)
        return parts * (total / max(float(parts.sum()), 1e-300)), matter * (left_out - now)

    def _solved(self, slopes: Array, amounts: Array, total: float) -> NDArray[np.int64]:
        """The places of the amounts at which all slopes are alike and the budget is spent."""
        low, high = -80.0, 80.0
        for _ in range(60):
            middle = (low + high) / 2
            places = self._places(slopes, np.exp(middle))
            if amounts[places].sum() > total:
                low = middle
            else:
                high = middle
        return self._places(slopes, np.exp(high))

    def _places(self, slopes: Array, least: float) -> NDArray[np.int64]:
        """For each interaction the last amount that still improves the error by `least` for each rho."""
        return np.asarray(np.maximum((slopes > least).sum(axis=1) - 1, 0))

    def _pull(self, errors: Array) -> Array:
        """The derivative of the workload's error in each interaction's error."""
        inside = self.marginals >= 0
        of_each = np.where(inside, errors[np.maximum(self.marginals, 0)], 0.0)
        of_all = np.sqrt((of_each**2).sum(axis=1, keepdims=True))
        return self._matter(of_each / np.maximum(of_all, 1e-300))

    def _matter(self, shares: Array) -> Array:
        """Sums over marginals of weight times share, for each interaction."""
        inside = self.marginals >= 0
        sums = np.zeros(len(self.price))
        np.add.at(sums, self.marginals[inside], (self.weights[:, None] * shares)[inside])
        return sums


def interactions_of(parts: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Lists of places as rows of one array, filled up with -1."""
    rows = np.full((len(parts), max(map(len, parts))), -1, dtype=np.int64)
    for row, places in zip(rows, parts, strict=True):
        row[: len(places)] = places
    return rows
