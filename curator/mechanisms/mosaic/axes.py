"""Covariance of the cells of interactions along the values of one attribute.

Neighbouring ages differ from the other ages in similar ways, in all interactions of the attribute. The cells
of an interaction are therefore modelled by a tensor normal distribution: the covariance of two cells is the
product, over the attributes, of the covariances of their values. Along the eigenvectors of these matrices, an
interaction has independent coefficients, of which only few are large.

Source: the matrix normal distribution of Dawid, "Some matrix-variate distribution theory" (1981).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..parts.allocation import EXPECTED_L1

Array = NDArray[np.float64]

_SMOOTH = 0.7
"""Prior share of the variance that changes smoothly along the values."""

_CORRELATION_LENGTH = 0.5
"""Distance, as a share of the records, at which the prior correlation is 1 / e."""

RANKS = 6
"""Number of ranks of coefficients that are told apart."""

_LEAST_COUNT = 1.0
_NEGLIGIBLE = 1e-12


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
        return cls(covariance, np.maximum(variances[1:], _NEGLIGIBLE), vectors[:, 1:])

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
    shares = np.maximum(margin, _LEAST_COUNT)
    shares = shares / shares.sum()
    counts = np.diag(shares) - np.outer(shares, shares)
    middle = np.cumsum(shares) - shares / 2
    smooth = np.outer(shares, shares) * np.exp(-np.abs(middle[:, None] - middle) / _CORRELATION_LENGTH)
    smooth -= np.outer(shares, smooth.sum(axis=0))
    smooth -= np.outer(smooth.sum(axis=1), shares)
    return Axis.of((1 - _SMOOTH) * counts / np.trace(counts) + _SMOOTH * smooth / np.trace(smooth))


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
            first, shape (RANKS, RANKS); the last ones are those of all further ranks.

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
    """Ranks of the coefficients by their variances, 0 for the largest, at most RANKS - 1; shape (n - 1,)."""
    return np.minimum(np.arange(len(axis.variances))[::-1], RANKS - 1)
