"""Priors of the sizes of interactions, on the grid on which these are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SCALES = np.geomspace(1e-4, 2, 48)
"""Grid of values of D, as shares of the number of records."""

_TAIL = 3


def log_prior(typical: float) -> Array:
    """Log-prior of the values of D: a Lomax density times their spacing, which is geometric."""
    logs = np.log(SCALES) - _TAIL * np.log1p(SCALES / typical)
    return np.asarray(logs - np.logaddexp.reduce(logs))


def log_prior_around(share: float | Array, spread: float) -> Array:
    """Log-prior of sizes or distances that vary little: log-normal around a share of the records.

    Args:
        share: one or several.
        spread: standard deviation of the logarithm.

    Returns:
        Shape (*share, values of D).
    """
    logs = -0.5 * (np.log(SCALES / np.asarray(share)[..., None]) / spread) ** 2
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))
