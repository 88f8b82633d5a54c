"""Intervals of ratios of estimated sums, and of differences of two ratios."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Ratio:
    """A ratio with its interval.

    Attributes:
        value: the ratio of the two estimates.
        low: lower end; NaN if the interval is unbounded.
        high: upper end; NaN if the interval is unbounded.
    """

    value: float
    low: float
    high: float


def fieller(top: float, bottom: float, covariance: Array, z: float) -> Ratio:
    """The interval of all ratios t for which top - t bottom is within z standard errors of zero.

    Unlike an interval around the ratio, it has the right coverage for any error of the denominator. It is
    bounded if the denominator is more than z standard errors from zero.

    Source: Fieller, Some problems in interval estimation (1954).

    Args:
        top: estimate of the numerator.
        bottom: estimate of the denominator.
        covariance: of their errors, shape (2, 2).
        z: standard errors at each side.
    """
    if bottom <= 0:
        return Ratio(np.nan, np.nan, np.nan)
    (tt, tb), (_, bb) = covariance
    # The roots of a t^2 - 2 b t + c.
    a, b, c = bottom**2 - z**2 * bb, top * bottom - z**2 * tb, top**2 - z**2 * tt
    value = top / bottom
    if a <= 0:
        return Ratio(value, np.nan, np.nan)
    half = np.sqrt(max(b**2 - a * c, 0.0)) / a
    return Ratio(value, float(b / a - half), float(b / a + half))


def difference(one: Ratio, other: Ratio, correlation: float) -> Ratio:
    """The difference of two ratios, from the interval of each.

    Source: Zou and Donner, Construction of confidence limits about effect measures (2008): the variance at
        each limit is recovered from the two intervals.

    Args:
        one: a ratio.
        other: the ratio that is subtracted.
        correlation: of their errors.
    """
    value = one.value - other.value

    def away(first: float, second: float) -> float:
        return float(np.sqrt(max(first**2 + second**2 - 2 * correlation * first * second, 0.0)))

    return Ratio(
        value,
        value - away(one.value - one.low, other.high - other.value),
        value + away(one.high - one.value, other.value - other.low),
    )
