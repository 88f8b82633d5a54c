"""An interaction as numbers that vary independently: what a measurement says of each, and of their size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .axes import Axis, along

Array = NDArray[np.float64]

CLASSES = 24
"""Numbers of similar deviation are counted together where only sums over them matter."""

NEGLIGIBLE = 1e-3
"""What is no more likely than this is left out."""


@dataclass(frozen=True, eq=False)
class View:
    """A measured interaction as numbers that are taken to vary independently.

    Attributes:
        profile: shape (k,): their deviations where D = 1.
        away: shape (k,): what was measured of them.
        noise: variance of the noise of each.
        share: how many dimensions there are for each of them.
        axes: that the numbers are coefficients along; none for cells.
    """

    profile: Array
    away: Array
    noise: float
    share: float = 1.0
    axes: tuple[Axis, ...] = ()

    def log_likelihood(self, scales: Array) -> Array:
        """Of each value of D, shape (scales,)."""
        profile, squares, counts = grouped(self.profile, self.away**2)
        variance = ((scales[:, None] * profile) ** 2 + self.noise) / self.share
        return np.asarray(-0.5 * (self.share * counts * np.log(variance) + squares / variance).sum(axis=1))

    def posterior(self, scales: Array, weights: Array) -> tuple[Array, Array]:
        """Means and variances of the numbers, both of shape (k,), for values of D with their weights."""
        likely = weights > NEGLIGIBLE * weights.max()
        scales, weights = scales[likely], weights[likely] / weights[likely].sum()
        prior = (scales[:, None] * self.profile) ** 2
        kept = prior / (prior + self.noise)
        mean = weights @ kept
        spread = weights @ (kept - mean) ** 2
        return mean * self.away, self.noise * mean + spread * self.away**2

    def cells(self, means: Array, variances: Array) -> tuple[Array, Array]:
        """Means and variances of the cells that such numbers make up, shape (n_r,)."""
        if not self.axes:
            return means, variances
        counts = [len(axis.variances) for axis in self.axes]
        vectors = [axis.vectors for axis in self.axes]
        spread = along(variances.reshape(counts), [matrix**2 for matrix in vectors])
        return along(means.reshape(counts), vectors).ravel(), spread.ravel()


def grouped(profile: Array, squares: Array) -> tuple[Array, Array, Array]:
    """Classes of cells: root mean square of the profile, sum of the squares, number of cells."""
    order = np.argsort(profile)
    classes = np.arange(min(CLASSES, len(order)))
    least, more = divmod(len(order), len(classes))
    starts = classes * least + np.minimum(classes, more)
    counts = np.where(classes < more, least + 1.0, least)
    levels = np.sqrt(np.add.reduceat(profile[order] ** 2, starts) / counts)
    return levels, np.add.reduceat(squares[order], starts), counts


def classes_of(deviations: Array) -> tuple[Array, Array]:
    """Deviations of cells in classes: root mean squares and numbers of cells, each of shape (CLASSES,).

    Where there are fewer cells, the last classes have none.
    """
    levels, _, counts = grouped(deviations, deviations)
    missing = (0, CLASSES - len(levels))
    return np.pad(levels, missing), np.pad(counts, missing)
