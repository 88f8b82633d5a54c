"""Budget split over interactions that minimises the predicted error of a workload.

The predicted L1 error of an interaction that is measured with noise of variance v in each cell is
sqrt(2 / pi) times the sum over cells of tau / sqrt(1 + tau^2 / v): the size of the interaction where the
noise is large, and the noise where that is small. The error of a marginal is the root of the sum of squares
over its interactions, the error of the workload the weighted sum over its marginals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..parts.allocation import EXPECTED_L1

Array = NDArray[np.float64]

_AMOUNTS = np.concatenate([[0.0], np.geomspace(1e-7, 1, 120)])
"""Grid of shares of the budget for one interaction."""

_REWEIGHTINGS = 4
_LEAST_WEIGHT = 0.05


@dataclass(frozen=True, eq=False)
class SplitProblem:
    """Interactions that may be measured, and a workload.

    Attributes:
        deviations: tau of the cells of each class, in counts, shape (interactions, classes).
        cells: number of cells of each class, shape (interactions, classes).
        known: inverse variance of a cell as measured so far, 0 if unmeasured; shape (interactions,).
        price: variance of a cell times the cost, in counts^2 rho, shape (interactions,).
        marginals: indices of each marginal's interactions, padded with -1; shape (marginals, any).
        weights: weights of the marginals, shape (marginals,).
    """

    deviations: Array
    cells: Array
    known: Array
    price: Array
    marginals: NDArray[np.int64]
    weights: Array

    def split(self, total: float) -> tuple[Array, Array]:
        """The budget split that minimises the predicted error of the workload.

        The problem is convex for fixed weights of the interactions. These depend on the errors, so it is
        solved by one Lagrange multiplier for each of a few reweightings.

        Args:
            total: budget to split, zCDP; positive.

        Returns:
            The parts, whose sum is at most the total, and the gain of each interaction if it is in the model:
            the weight of its marginals times the decrease of its predicted error. Both of shape
            (interactions,).
        """
        amounts = _AMOUNTS * total
        # A row for each amount: sums over classes and comparisons run along the interactions.
        errors = np.empty((len(amounts), len(self.price)))
        slopes = np.empty_like(errors)
        deviations, cells = np.ascontiguousarray(self.deviations.T), np.ascontiguousarray(self.cells.T)
        squares = deviations**2
        for amount, error, slope in zip(amounts, errors, slopes, strict=True):
            left = deviations / np.sqrt(1 + (self.known + amount / self.price) * squares)
            in_error = cells * left
            error[:] = EXPECTED_L1 * in_error.sum(axis=0)
            in_error *= left
            in_error *= left
            slope[:] = EXPECTED_L1 / 2 * in_error.sum(axis=0) / self.price
        importance = self._summed(np.ones_like(self.marginals, dtype=float))
        weights = importance
        for _ in range(_REWEIGHTINGS):
            chosen = self._solve(slopes * weights, amounts, total)
            now = errors[chosen, np.arange(len(chosen))]
            weights = np.maximum(self._gradient(now), _LEAST_WEIGHT * importance)
        parts = amounts[chosen]
        left_out = self.sizes()
        return parts * (total / max(float(parts.sum()), 1e-300)), importance * (left_out - now)

    def errors(self, parts: Array) -> Array:
        """The predicted L1 error of each interaction if it gets its part, both of shape (interactions,)."""
        precision = self.known + parts / self.price
        left = self.deviations / np.sqrt(1 + precision[:, None] * self.deviations**2)
        return np.asarray(EXPECTED_L1 * (self.cells * left).sum(axis=1))

    def sizes(self) -> Array:
        """The L1 error of each interaction if it is left out, shape (interactions,)."""
        return np.asarray(EXPECTED_L1 * (self.cells * self.deviations).sum(axis=1))

    def error(self, parts: Array) -> float:
        """The predicted error of the workload if each interaction gets its part, shape (interactions,)."""
        errors = self.errors(parts)
        of_each = np.where(self.marginals >= 0, errors[np.maximum(self.marginals, 0)], 0.0)
        return float(self.weights @ np.sqrt((of_each**2).sum(axis=1)))

    def _solve(self, slopes: Array, amounts: Array, total: float) -> NDArray[np.int64]:
        """Indices of the amounts at which all slopes are equal and the budget is spent.

        Args:
            slopes: shape (amounts, interactions).
            amounts: shape (amounts,), zCDP.
            total: budget, zCDP.
        """
        low, high = -80.0, 80.0
        for _ in range(60):
            middle = (low + high) / 2
            places = self._amounts_above(slopes, np.exp(middle))
            if amounts[places].sum() > total:
                low = middle
            else:
                high = middle
        return self._amounts_above(slopes, np.exp(high))

    def _amounts_above(self, slopes: Array, least: float) -> NDArray[np.int64]:
        """For each interaction, the index of the last amount whose slope is above `least`."""
        above = (slopes > least).sum(axis=0, dtype=np.uint8)  # There are fewer amounts than 256.
        return np.asarray(np.maximum(above, 1).astype(np.int64) - 1)

    def _gradient(self, errors: Array) -> Array:
        """The derivative of the workload's error with respect to each interaction's error."""
        inside = self.marginals >= 0
        of_each = np.where(inside, errors[np.maximum(self.marginals, 0)], 0.0)
        of_all = np.sqrt((of_each**2).sum(axis=1, keepdims=True))
        return self._summed(of_each / np.maximum(of_all, 1e-300))

    def _summed(self, shares: Array) -> Array:
        """For each interaction, the sum over its marginals of weight times share."""
        inside = self.marginals >= 0
        sums = np.zeros(len(self.price))
        np.add.at(sums, self.marginals[inside], (self.weights[:, None] * shares)[inside])
        return sums


def interactions_of(parts: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Lists of indices as rows of one array, padded with -1."""
    rows = np.full((len(parts), max(map(len, parts))), -1, dtype=np.int64)
    for row, places in zip(rows, parts, strict=True):
        row[: len(places)] = places
    return rows
