"""Components of an interaction: a basis in which it is independent normal variables, and priors of its size.

A basis is the cells, or the eigenvectors of the covariances of cells along each attribute. Neighbouring ages
differ from the other ages in similar ways, in all interactions of the attribute. So for the second basis,
cells have a tensor normal distribution: the covariance of two cells is the product, over the attributes, of
the covariances of their values. Along the eigenvectors of these matrices, an interaction has independent
coefficients, of which only few are large.

Source: the matrix normal distribution of Dawid, "Some matrix-variate distribution theory" (1981).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..parts.allocation import EXPECTED_L1
from .settings import SETTINGS

Array = NDArray[np.float64]

SCALES = np.geomspace(1e-4, 2, 48)
"""Grid of values of D, as shares of the number of records."""

DEVIATION_CLASSES = 24
"""Number of classes of variables with similar deviations, used where only sums over them are needed."""

UNLIKELY = 1e-3
"""Values of at most this probability are left out."""


def log_prior(typical: float) -> Array:
    """Log-prior of the values of D: a Lomax density times their spacing, which is geometric."""
    logs = np.log(SCALES) - SETTINGS.tail * np.log1p(SCALES / typical)
    return np.asarray(logs - np.logaddexp.reduce(logs))


def log_prior_around(share: float | Array, spread: float) -> Array:
    """Log-prior of sizes or distances that vary little: log-normal around a share of the records.

    Args:
        share: one or several; of zero, such as of counts that are all zero, the least value of D is certain.
        spread: standard deviation of the logarithm.

    Returns:
        Shape (*share, values of D).
    """
    around = np.maximum(np.asarray(share), np.finfo(np.float64).tiny)[..., None]
    logs = -0.5 * ((np.log(SCALES) - np.log(around)) / spread) ** 2
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Component:
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
        return cell_classes(self.profile, self.away**2)

    def posterior(self, scales: Array, weights: Array) -> tuple[Array, Array]:
        """Means and variances of the variables, both of shape (k,), for values of D with their weights."""
        likely = weights > UNLIKELY * weights.max()
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


def cell_classes(profile: Array, squares: Array) -> tuple[Array, Array, Array]:
    """Classes of cells: root mean square of the profile, sum of squares, and number of cells."""
    order = np.argsort(profile)
    counts, starts = _even(len(order))
    levels = np.sqrt(np.add.reduceat(profile[order] ** 2, starts) / counts)
    return levels, np.add.reduceat(squares[order], starts), counts


def classes_of(deviations: Array) -> tuple[Array, Array]:
    """Deviations of cells in classes: root mean squares and numbers of cells, shape (DEVIATION_CLASSES,).

    If there are fewer cells than classes, the last classes are empty.
    """
    counts, starts = _even(len(deviations))
    levels, sizes = np.zeros((2, DEVIATION_CLASSES))
    levels[: len(counts)] = np.sqrt(np.add.reduceat(np.sort(deviations) ** 2, starts) / counts)
    sizes[: len(counts)] = counts
    return levels, sizes


def _even(count: int) -> tuple[Array, NDArray[np.int64]]:
    """Numbers of cells of classes of about as many cells each, and where each class starts."""
    classes = np.arange(min(DEVIATION_CLASSES, count))
    least, more = divmod(count, len(classes))
    return np.where(classes < more, least + 1.0, least), classes * least + np.minimum(classes, more)


@dataclass(frozen=True, eq=False)
class Axis:
    """The covariance of an interaction's cells along one attribute of n values.

    Attributes:
        covariance: shape (n, n); rows and columns sum to zero, the trace is 1.
        variances: shape (n - 1,): its eigenvalues; positive.
        vectors: shape (n, n - 1): its eigenvectors, of length 1.
    """

    covariance: Array
    variances: Array
    vectors: Array

    @classmethod
    def of(cls, covariance: Array) -> Axis:
        """The axis of a matrix of any trace whose rows and columns sum to zero."""
        covariance = covariance / np.trace(covariance)
        variances, vectors = np.linalg.eigh(covariance)
        # The first eigenvector is that of ones, along which no interaction varies.
        return cls(covariance, np.maximum(variances[1:], 1e-12), vectors[:, 1:])

    def leading(self, count: int) -> Axis:
        """Only the eigenvectors with the largest variances, at most so many."""
        return Axis(self.covariance, self.variances[-count:], self.vectors[:, -count:])


def expected_axis(margin: Array) -> Axis:
    """The prior covariance along an attribute, before any of its interactions is known.

    One part is the covariance of independent counts given their sum, the other that of shares that change
    smoothly from value to value. The latter does not fit codes without an order, but does little harm there.

    Args:
        margin: number of records with each value, shape (n,), n >= 2.
    """
    shares = np.maximum(margin, 1.0)
    shares = shares / shares.sum()
    counts = np.diag(shares) - np.outer(shares, shares)
    middle = np.cumsum(shares) - shares / 2
    smooth = np.outer(shares, shares) * np.exp(
        -np.abs(middle[:, None] - middle) / SETTINGS.correlation_length
    )
    smooth -= np.outer(shares, smooth.sum(axis=0))
    smooth -= np.outer(smooth.sum(axis=1), shares)
    return Axis.of(
        (1 - SETTINGS.smooth) * counts / np.trace(counts) + SETTINGS.smooth * smooth / np.trace(smooth)
    )


def along(values: Array, matrices: Sequence[Array]) -> Array:
    """A tensor with one matrix applied along each of its axes."""
    for axis, matrix in enumerate(matrices):
        values = np.moveaxis(np.tensordot(matrix, values, axes=(1, axis)), 0, axis)
    return values


def expected_variances(axes: Sequence[Axis], coupling: Array | None = None) -> Array:
    """Variances of the coefficients of an interaction whose expected L1 norm is 1.

    Args:
        axes: one for each attribute.
        coupling: of two attributes, factors of the variances by the ranks of both coefficients, the largest
            first, shape (SETTINGS.ranks, SETTINGS.ranks); the last ones are those of all further ranks.

    Returns:
        Shape (n_1 - 1, n_2 - 1, ...).
    """
    variances = axes[0].variances
    for axis in axes[1:]:
        variances = np.multiply.outer(variances, axis.variances)
    if coupling is None or len(axes) != 2:
        norm = EXPECTED_L1 * math.prod(float(np.sqrt(np.diag(axis.covariance)).sum()) for axis in axes)
    else:
        variances = variances * coupling[np.ix_(*(ranks(axis) for axis in axes))]
        norm = EXPECTED_L1 * float(np.sqrt(along(variances, [axis.vectors**2 for axis in axes])).sum())
    return np.asarray(variances / norm**2)


def ranks(axis: Axis) -> NDArray[np.int64]:
    """Ranks of the coefficients by their variances, the largest first, up to `ranks` - 1; shape (n - 1,)."""
    return np.minimum(np.arange(len(axis.variances))[::-1], SETTINGS.ranks - 1)
