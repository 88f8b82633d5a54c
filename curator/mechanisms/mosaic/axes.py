"""How the cells of interactions vary together along one attribute's values.

Neighbouring ages differ from the rest in the same way, and so do small countries; in the interaction with one
attribute as in that with another. The cells of an interaction are therefore taken to have a tensor normal
distribution: the covariance of two cells is the product, over the attributes, of the covariance of their two
values. Along the eigenvectors of these matrices an interaction falls into independent coefficients: few of
them large, where a plain cell-by-cell view sees many small cells.

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
"""Share of the variance that is taken to change smoothly along the values, until more is known."""

_REACH = 0.5
"""Share of the records after which the correlation has fallen to 1 / e."""

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
        """From a matrix whose rows and columns sum to zero, of any trace."""
        covariance = covariance / np.trace(covariance)
        variances, vectors = np.linalg.eigh(covariance)
        # The first belongs to the vector of ones, along which no interaction varies.
        return cls(covariance, np.maximum(variances[1:], _NEGLIGIBLE), vectors[:, 1:])


def expected_axis(margin: Array) -> Axis:
    """What to expect of an attribute before any of its interactions is known.

    Part of the variance is that of independent counts given their sum, part that of shares that change
    smoothly from value to value. Codes in no order have nothing of the latter, which does little harm.

    Args:
        margin: shape (n,): records with each value; two values at least.
    """
    shares = np.maximum(margin, _LEAST_COUNT)
    shares = shares / shares.sum()
    counts = np.diag(shares) - np.outer(shares, shares)
    middle = np.cumsum(shares) - shares / 2
    smooth = np.outer(shares, shares) * np.exp(-np.abs(middle[:, None] - middle) / _REACH)
    smooth -= np.outer(shares, smooth.sum(axis=0))
    smooth -= np.outer(smooth.sum(axis=1), shares)
    return Axis.of((1 - _SMOOTH) * counts / np.trace(counts) + _SMOOTH * smooth / np.trace(smooth))


def along(values: Array, matrices: Sequence[Array]) -> Array:
    """A tensor with one matrix applied along each of its axes."""
    for axis, matrix in enumerate(matrices):
        values = np.moveaxis(np.tensordot(matrix, values, axes=(1, axis)), 0, axis)
    return values


def expected_variances(axes: Sequence[Axis]) -> Array:
    """Variances of the coefficients of an interaction whose expected L1 norm is 1.

    Returns:
        Shape (n_1 - 1, n_2 - 1, ...).
    """
    variances = axes[0].variances
    for axis in axes[1:]:
        variances = np.multiply.outer(variances, axis.variances)
    norm = EXPECTED_L1 * math.prod(float(np.sqrt(np.diag(axis.covariance)).sum()) for axis in axes)
    return np.asarray(variances / norm**2)
