"""Intervals of numbers that are not linear in sums over the real table: by draws of the sums.

Source: Krinsky and Robb, On approximating the statistical properties of elasticities (1986).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SUM_DRAWS = 2_000
"""How many draws there are."""

_SEED = 0


def draw_sums(values: Array, covariance: Array, stream: int = 0) -> Array:
    """Draws of sums with normal errors, in pairs around the estimates; the same for the same arguments.

    Args:
        values: estimates, shape (q,).
        covariance: of their errors, shape (q, q).
        stream: draws of other streams are independent.

    Returns:
        Shape (`SUM_DRAWS`, q).
    """
    scale = np.sqrt(np.maximum(covariance.diagonal(), 0))
    unit = np.where(scale > 0, scale, 1)
    sizes, axes = np.linalg.eigh(covariance / np.outer(unit, unit))
    # The symmetric root: another one would turn with the axes of equal sizes, which are any.
    root = (axes * np.sqrt(np.maximum(sizes, 0))) @ axes.T
    drawn = np.random.default_rng([_SEED, stream]).standard_normal((SUM_DRAWS // 2, len(values)))
    steps = drawn @ root.T * scale
    return np.concatenate([values + steps, values - steps])


def ends_of(draws: Array, level: float) -> tuple[Array, Array]:
    """The ends of the intervals that hold a share of the draws, of shape (draws, k), with equal tails."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high
