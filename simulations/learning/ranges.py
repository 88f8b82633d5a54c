"""Where a column's numbers are: from a grid over all magnitudes to a fine one around the records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.data.cells import unbounded
from ...common.data.lattice import Lattice
from ...curator.releasing.noisy_counts import NoisyCounts

FINE = 4096
"""Cells of a grid around the records; of so many whole units, each has a cell of its own."""

_REACH = 62
"""Grids over all magnitudes reach from -2^62 to 2^62."""

_SMALLEST = -40
"""Real numbers are told apart from 2^-40 on."""

_CERTAIN = 3.5
"""Records beyond a place are seen if they exceed so many deviations of their noisy number."""

_LIKELY = 1.5
"""The same, near to where records were seen for certain."""

_CROWDED = 16
"""The grid is drawn again around the records if they have less than one in so many of its cells."""

_SKEWED = 32
"""Numbers that reach so many times farther than their median are divided on a logarithmic scale."""


@dataclass(frozen=True, eq=False)
class Ruler:
    """Cells of neighbouring numbers.

    Attributes:
        edges: shape (cells + 1,), increasing; a cell is closed below.
        unit: numbers are multiples of it; None for any.
    """

    edges: NDArray[np.float64]
    unit: float | None

    @classmethod
    def of_all(cls, unit: float | None) -> Ruler:
        """Eight cells for each doubling on both sides of zero, and one for each small multiple of the unit."""
        lattice = None if unit is None else Lattice(unit)
        return cls(unbounded(lattice, _REACH, _SMALLEST), unit)

    @classmethod
    def between(cls, low: float, high: float, unit: float | None) -> Ruler:
        """At most `FINE` cells of equal width.

        Args:
            low: the smallest number.
            high: the largest, or of multiples the last one.
            unit: numbers are multiples of it; None for any.
        """
        if unit is None:
            return cls(np.linspace(low, high, FINE + 1), None)
        first, last = round(low / unit), round(high / unit)
        step = -(-(last - first + 1) // FINE)
        places = np.arange(first, last + step + 1, step, dtype=np.float64)
        return cls((places - 0.5) * unit, unit)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.edges) - 1

    @property
    def single(self) -> bool:
        """Whether each cell holds one multiple of the unit."""
        return self.unit is not None and bool(np.all(np.diff(self.edges) <= self.unit * 1.5))

    def counted(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of numbers in each cell; those beyond the ends are in the outer cells."""
        known = numbers[~np.isnan(numbers)]
        places = np.searchsorted(self.edges, known, side="right") - 1
        return np.bincount(places.clip(0, self.cells - 1), minlength=self.cells)

    def numbers(self, first: int, stop: int) -> tuple[float, float]:
        """The smallest and the largest number of the cells first to stop - 1."""
        low, high = float(self.edges[first]), float(self.edges[stop])
        if self.unit is None:
            return low, high
        least, beyond = Lattice(self.unit).first_from(np.array([low, high]))
        low, high = Lattice(self.unit).values(np.array([least, max(least, beyond - 1)]))
        return float(low), float(high)


@dataclass(frozen=True)
class Range:
    """Where numbers were found.

    Attributes:
        low: the smallest one, about.
        high: the largest.
        middle: their median, about.
        certain: whether records were seen for certain.
    """

    low: float
    high: float
    middle: float
    certain: bool

    @property
    def skewed(self) -> bool:
        """Whether they reach many times farther than their median."""
        reach = max(abs(self.low), abs(self.high))
        return reach > _SKEWED * max(abs(self.middle), 1e-12) and reach > _SKEWED


def found_range(ruler: Ruler, counts: NoisyCounts) -> Range:
    """Where the records are, from noisy counts of the cells of a ruler.

    An end lies where the records beyond it can be told from none; near to it, less certainty is asked for.
    """
    cells = ruler.cells
    deviations = counts.deviations()
    below = counts.sums
    above = counts.sums[cells] - below
    seen_below = np.flatnonzero(below[1:] > _CERTAIN * deviations[0][1:])
    seen_above = np.flatnonzero(above[:-1] > _CERTAIN * deviations[1][:-1])
    if not len(seen_below) or not len(seen_above):
        best = int(np.argmax(np.diff(counts.sums)))
        low, high = ruler.numbers(best, best + 1)
        return Range(low, high, (low + high) / 2, False)
    first, stop = int(seen_below[0]), int(seen_above[-1]) + 1
    first, stop = min(first, stop - 1), max(stop, first + 1)
    half = int(np.searchsorted(below, (below[first] + below[stop]) / 2).clip(first + 1, stop)) - 1
    middle = float(np.mean(ruler.numbers(half, half + 1)))
    first, stop = _stretched(ruler, (first, stop), middle, below, above, deviations)
    return Range(*ruler.numbers(first, stop), middle, True)


def _stretched(
    ruler: Ruler,
    found: tuple[int, int],
    middle: float,
    below: NDArray[np.float64],
    above: NDArray[np.float64],
    deviations: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[int, int]:
    """The cells, and more at both ends, not farther than the ends are from the middle, that likely hold records."""
    first, stop = found
    low, high = ruler.numbers(first, stop)
    farthest = np.searchsorted(ruler.edges, [2 * low - middle, 2 * high - middle])
    likely = below[1 : first + 1] > _LIKELY * deviations[0][1 : first + 1]
    near = np.flatnonzero(likely[max(0, int(farthest[0]) - 1) :])
    if len(near):
        first = max(0, int(farthest[0]) - 1) + int(near[0])
    last = min(int(farthest[1]), ruler.cells)
    more = np.flatnonzero(above[stop:last] > _LIKELY * deviations[1][stop:last])
    return first, stop + int(more[-1]) + 1 if len(more) else stop


def crowded(ruler: Ruler, found: Range) -> bool:
    """Whether a finer ruler would show more of where the records are."""
    if ruler.single:
        return False
    inside = (ruler.edges[:-1] <= found.high) & (ruler.edges[1:] > found.low)
    return int(inside.sum()) * _CROWDED < FINE
