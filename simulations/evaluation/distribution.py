"""How the numbers of a column are distributed: each different number, and how many are not above it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distribution:
    """The numbers of a column, without their rows.

    Attributes:
        points: shape (k,): the different numbers, ascending.
        ends: shape (k,): how many values are at most each of them.
        mean: mean of the values; None without any.
        zeros: share of zeros among all records, missing values included.
    """

    points: Array
    ends: NDArray[np.uint32]
    mean: float | None
    zeros: float

    @classmethod
    def of(cls, numbers: Array) -> Distribution:
        """The distribution of numbers, NaN being a missing value."""
        held = numbers[~np.isnan(numbers)]
        mean = float(held.mean()) if len(held) else None
        held.sort()
        last = np.flatnonzero(np.append(held[1:] != held[:-1], True)[: len(held)])
        zeros = np.count_nonzero(numbers == 0) / max(len(numbers), 1)
        return cls(held[last], (last + 1).astype(np.uint32), mean, zeros)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.points.nbytes + self.ends.nbytes

    def shares(self, numbers: Array, *, below: bool = False) -> Array:
        """The share of the values that are at most each number, or below it."""
        places = np.searchsorted(self.points, numbers, side="left" if below else "right")
        return np.asarray(np.append(np.uint32(0), self.ends)[places] / self.ends[-1])


def kolmogorov_distance(one: Distribution, other: Distribution) -> float:
    """The largest difference of the distribution functions of the values that are not missing.

    Where one has a step, and just before, the other is furthest from it: between two steps of one the other
    only rises. Without any value in one column it is 1, in both 0.
    """
    if not (len(one.points) and len(other.points)):
        return float(len(one.points) != len(other.points))
    fewer, more = sorted((one, other), key=lambda held: len(held.points))
    steps = fewer.ends / fewer.ends[-1]
    before = np.append(0.0, steps[:-1])
    at = np.abs(steps - more.shares(fewer.points))
    ahead = np.abs(before - more.shares(fewer.points, below=True))
    return float(max(at.max(), ahead.max()))
