"""Confidence intervals from estimates and the covariances of their errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ...common.errors import DataError
from ...common.forms.values import SHARE

Array = NDArray[np.float64]

NOTHING_KNOWN = (
    "no interval: it would hold all that the column allows; ask for fewer columns together, or make a "
    "release whose workload contains them"
)
"""Why an estimate has no interval when nothing is known of it."""

INFERRED = "not measured: the interval is what the release's other pairs lead to expect of this one"
"""Of an estimate with an interval, of which measurements tell less than `MEASURED`."""

MEASURED = 0.5
"""Share of a function's variance that measurements determine; see `Totals.reach`."""


def within(lows: Array, highs: Array, least: float, most: float) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Intervals within what is possible, and which of them say nothing; these are NaN.

    Args:
        lows: lower ends, any shape; NaN where there is none.
        highs: upper ends.
        least: smallest possible value.
        most: largest possible value.
    """
    nothing = (lows <= least) & (highs >= most) & (lows < highs)
    low, high = np.clip(lows, least, most), np.clip(highs, least, most)
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high), nothing


def quantile_of(level: float) -> float:
    """The standard normal quantile z for which -z to z has this probability.

    Raises:
        DataError: the level is not between 0 and 1.
    """
    if not SHARE.fits(level):
        raise DataError("expected a level between 0 and 1, such as 0.95, got another; fix the level")
    return float(ndtri((1 + level) / 2))


def wald(estimates: Array, variances: Array, level: float) -> tuple[Array, Array]:
    """Intervals of estimates with normal errors.

    Args:
        estimates: any shape.
        variances: of their errors, same shape; not negative up to rounding.
        level: probability that an interval covers the truth.

    Returns:
        Lower and upper ends, shaped as the estimates.
    """
    half = quantile_of(level) * np.sqrt(np.maximum(variances, 0))
    return estimates - half, estimates + half


def fieller(numerators: Array, denominators: Array, covariances: Array, level: float) -> tuple[Array, Array]:
    """Intervals of ratios of two estimates with normal errors.

    The interval holds each ratio r for which numerator - r denominator does not differ significantly from 0.

    Args:
        numerators: shape (k,).
        denominators: shape (k,), of positive quantities.
        covariances: of the errors of both, shape (k, 2, 2).
        level: probability that an interval covers the truth.

    Returns:
        Lower and upper ends, shape (k,). NaN where the denominator does not differ significantly from 0, so
        that the set of ratios is unbounded, or is negative.

    Source: E. C. Fieller, "Some problems in interval estimation" (1954).
    """
    square = quantile_of(level) ** 2
    above, between, below = covariances[:, 0, 0], covariances[:, 0, 1], covariances[:, 1, 1]
    leading = denominators**2 - square * below
    middle = numerators * denominators - square * between
    last = numerators**2 - square * above
    bounded = (leading > 0) & (denominators > 0)
    root = np.sqrt(np.maximum(middle**2 - leading * last, 0))
    leading = np.where(bounded, leading, 1)
    low, high = (middle - root) / leading, (middle + root) / leading
    return np.where(bounded, low, np.nan), np.where(bounded, high, np.nan)
