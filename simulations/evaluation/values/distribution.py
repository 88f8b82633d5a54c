"""How the numbers of a column are distributed, and how far others are from them, block by block."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_POINTS = 2**14
"""Numbers at which a distribution function is kept. Between two of them it rises by less than 1/16,000."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of the numbers of a column: how many are below, and at most, each of some of them.

    Attributes:
        points: shape (k,): the different numbers, ascending, or about `MOST_POINTS` quantiles of them.
        below: shape (k,): how many values are less than each point.
        ends: shape (k,): how many are at most each point.
        count: how many values there are.
        mean: mean of the values; None without any.
        zeros: share of zeros among all records, missing values included.
    """

    points: Array
    below: NDArray[np.int64]
    ends: NDArray[np.int64]
    count: int
    mean: float | None
    zeros: float

    @classmethod
    def of(cls, numbers: Array) -> Distribution:
        """The distribution of numbers, NaN being a missing value."""
        held = numbers[~np.isnan(numbers)]
        mean = float(held.mean()) if len(held) else None
        held.sort()
        last = np.flatnonzero(np.append(held[1:] != held[:-1], True)[: len(held)])
        ends = last + 1
        below = np.append(0, ends)[:-1]
        if len(last) > MOST_POINTS:
            ranks = np.arange(1, MOST_POINTS + 1) * len(held) / MOST_POINTS
            kept = np.unique(np.searchsorted(ends, ranks))
            last, below, ends = last[kept], below[kept], ends[kept]
        zeros = np.count_nonzero(numbers == 0) / max(len(numbers), 1)
        return cls(held[last], below, ends, len(held), mean, zeros)


class Compared:
    """Numbers beside those of a distribution; thread-safe.

    Args:
        real: the distribution.
    """

    def __init__(self, real: Distribution) -> None:
        self.real = real
        self._lock = threading.Lock()
        # For each number of points: the values with so many points at most, and less than, them.
        self._least, self._less = np.zeros((2, len(real.points) + 1), dtype=np.int64)
        self._sums: list[float] = []
        self._records = self._zeros = self._count = 0

    def add(self, numbers: Array) -> None:
        """Counts more numbers, NaN being a missing value."""
        points = self.real.points
        held = numbers[~np.isnan(numbers)]
        total = float(held.sum())
        # The search is faster from number to number in order.
        held.sort()
        found = np.searchsorted(points, held, side="right")
        at_point = np.append(np.nan, points)[found] == held
        least = np.bincount(found, minlength=len(points) + 1)
        less = np.bincount(found - at_point, minlength=len(points) + 1)
        zeros = int(np.count_nonzero(held == 0))
        with self._lock:
            self._least += least
            self._less += less
            self._sums.append(total)
            self._records += len(numbers)
            self._count += len(held)
            self._zeros += zeros

    @property
    def zeros(self) -> float:
        """Share of zeros among all records, missing values included."""
        return self._zeros / max(self._records, 1)

    @property
    def mean(self) -> float | None:
        """Mean of the values; None without any."""
        # The sum does not depend on the order in which threads added.
        return math.fsum(self._sums) / self._count if self._count else None

    @property
    def kolmogorov(self) -> float:
        """The largest difference of both distribution functions at a point and just before it.

        Between two steps of the real function the other one only rises, so that it is furthest from it at
        its steps; between points that are quantiles it may be further, by less than 1 / `MOST_POINTS`.
        Without any value in one column it is 1, in both 0.
        """
        real = self.real
        if not (real.count and self._count):
            return float(bool(real.count) != bool(self._count))
        before = real.below / real.count - np.cumsum(self._least)[:-1] / self._count
        at = real.ends / real.count - np.cumsum(self._less)[:-1] / self._count
        return float(np.abs([before, at]).max())
