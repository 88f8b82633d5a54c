"""Ratios of estimated sums with their intervals, and differences of two of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Ratio(NamedTuple):
    """A ratio with its interval.

    Attributes:
        value: the ratio of two estimates.
        low: lower end; NaN if the interval is unbounded.
        high: upper end; NaN if the interval is unbounded.
    """

    value: float
    low: float
    high: float


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
