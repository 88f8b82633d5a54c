"""An interaction as independent normal variables: their posterior, and the likelihood of their scale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .axes import Axis, along

Array = NDArray[np.float64]

CLASSES = 24
"""Number of classes of variables with similar deviations, used where only sums over them are needed."""

NEGLIGIBLE = 1e-3
"""Values of at most this probability are left out."""


@dataclass(frozen=True, eq=False)
class View:
    """A measured interaction as normal variables that are modelled as independent.

    Attributes:
        profile: their deviations for D = 1, shape (k,).
        away: their measured values, shape (k,).
        noise: variance of the noise of each variable.
        share: dimensions of the interaction divided by k.
        axes: axes of the coefficients; empty if the variables are cells.
    """

    profile: Array
    away: Array
    noise: float
    share: float = 1.0
    axes: tuple[Axis, ...] = ()

    def log_likelihood(self, scales: Array) -> Array:
        """Log-likelihood of each value of D, shape (scales,)."""
        profile, squares, counts = self._classes
        variance = ((scales[:, None] * profile) ** 2 + self.noise) / self.share
        return np.asarray(-0.5 * (self.share * counts * np.log(variance) + squares / variance).sum(axis=1))

    @cached_property
    def _classes(self) -> tuple[Array, Array, Array]:
        return grouped(self.profile, self.away**2)

    def posterior(self, scales: Array, weights: Array) -> tuple[Array, Array]:
        """Means and variances of the variables, both of shape (k,), for values of D with their weights."""
        likely = weights > NEGLIGIBLE * weights.max()
        scales, weights = scales[likely], weights[likely] / weights[likely].sum()
        prior = (scales[:, None] * self.profile) ** 2
        kept = prior / (prior + self.noise)
        mean = weights @ kept
        spread = weights @ (kept - mean) ** 2
        return mean * self.away, self.noise * mean + spread * self.away**2

    def cells(self, means: Array, variances: Array) -> tuple[Array, Array]:
        """Means and variances of the cells, from those of the variables; shape (n_r,)."""
        if not self.axes:
            return means, variances
        counts = [len(axis.variances) for axis in self.axes]
        vectors = [axis.vectors for axis in self.axes]
        spread = along(variances.reshape(counts), [matrix**2 for matrix in vectors])
        return along(means.reshape(counts), vectors).ravel(), spread.ravel()


def grouped(profile: Array, squares: Array) -> tuple[Array, Array, Array]:
    """Classes of cells: root mean square of the profile, sum of squares, and number of cells."""
    order = np.argsort(profile)
    counts, starts = _even(len(order))
    levels = np.sqrt(np.add.reduceat(profile[order] ** 2, starts) / counts)
    return levels, np.add.reduceat(squares[order], starts), counts


def classes_of(deviations: Array) -> tuple[Array, Array]:
    """Deviations of cells in classes: root mean squares and numbers of cells, each of shape (CLASSES,).

    If there are fewer cells than classes, the last classes are empty.
    """
    counts, starts = _even(len(deviations))
    levels, sizes = np.zeros((2, CLASSES))
    levels[: len(counts)] = np.sqrt(np.add.reduceat(np.sort(deviations) ** 2, starts) / counts)
    sizes[: len(counts)] = counts
    return levels, sizes


def _even(count: int) -> tuple[Array, NDArray[np.int64]]:
    """Numbers of cells of classes of about as many cells each, and where each class starts."""
    classes = np.arange(min(CLASSES, count))
    least, more = divmod(count, len(classes))
    return np.where(classes < more, least + 1.0, least), classes * least + np.minimum(classes, more)
