"""Where a column's numbers are: from a grid over all magnitudes to a fine one around the records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ...common.data.cells import unbounded
from ...common.data.lattice import Lattice
from ...curator.releasing.noisy_counts import NoisyCounts

FINE = 4096
"""Cells of a grid around the records; of so many whole units, each has a cell of its own."""

_REACH = 62
"""Grids over all magnitudes reach from -2^62 to 2^62."""

FARTHEST = 2.0**_REACH
"""Numbers beyond count at the end of such a grid."""

_SMALLEST = -40
"""Real numbers are told apart from 2^-40 on."""

_FALSE = 0.003
"""Probability with which noise alone makes records seen anywhere on a ruler, about."""

_LIKELY = 1.0
"""The same, beside where records were seen for certain."""

_REACH_OUT = 8.0
"""Tails are looked for up to so many times the distance of an end from the middle."""

_NEAR = 256
"""So many cells beyond an end are looked at."""

_CROWDED = 16
"""A grid is drawn again around the records if these lie in fewer of its cells."""

_FEW, _NO_MORE = 20, 3.0
"""Beside so few cells, one more, which would stand out, needs so many deviations."""

_MARGIN = 0.15
"""A range of more cells is widened by this share at both ends, for tails of few records."""

_SKEWED = 10.0
"""Numbers that reach so many times farther than their median size are divided on a logarithmic scale."""


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
        """Eight cells for each doubling on both sides of zero, and one for each small multiple."""
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
        size: the median size of those that are not zero, about.
        certain: whether records were seen for certain.
    """

    low: float
    high: float
    middle: float
    size: float
    certain: bool

    @property
    def skewed(self) -> bool:
        """Whether they reach many times farther than their median."""
        return max(abs(self.low), abs(self.high)) > _SKEWED * self.size


def found_range(ruler: Ruler, counts: NoisyCounts) -> Range:
    """Where the records are, from noisy counts of the cells of a ruler."""
    first, stop = _seen(counts, ruler.cells)
    if first >= stop:
        best = int(np.argmax(np.diff(counts.sums)))
        low, high = ruler.numbers(best, best + 1)
        return Range(low, high, (low + high) / 2, max(abs(low), abs(high)), False)
    below = counts.sums
    half = int(np.searchsorted(below[first : stop + 1], (below[first] + below[stop]) / 2)) + first
    middle = float(np.mean(ruler.numbers(max(first, half - 1), max(first + 1, half))))
    size = _median_size(ruler, below, first, stop)
    low, high = ruler.numbers(first, stop)
    reach = ruler.edges.searchsorted([middle + _REACH_OUT * (end - middle) for end in (low, high)])
    first, stop = _stretched(
        counts, (first, stop), (min(first - 2, int(reach[0]) - 1), max(stop + 2, int(reach[1]))), ruler.cells
    )
    # The outer cells may be filled in part, and the next ones too.
    low, high = ruler.numbers(max(0, first - 1), min(ruler.cells, stop + 1))
    margin = _MARGIN * (high - low) if stop - first > _FEW else 2 * _MARGIN * (high - low)
    first, stop = ruler.edges.searchsorted([low - margin, high + margin], side="right") - [1, 0]
    return Range(*ruler.numbers(max(0, int(first)), min(ruler.cells, int(stop))), middle, size, True)


def _median_size(ruler: Ruler, below: NDArray[np.float64], first: int, stop: int) -> float:
    """The median distance from zero of the numbers of some cells, without the cell of zero."""
    places = (ruler.edges[first:stop] + ruler.edges[first + 1 : stop + 1]) / 2
    counts = np.diff(below[first : stop + 1]).clip(0)
    counts[(ruler.edges[first:stop] <= 0) & (ruler.edges[first + 1 : stop + 1] > 0)] = 0
    order = np.argsort(np.abs(places))
    sums = np.cumsum(counts[order])
    if not sums[-1]:
        return float(np.abs(places).max())
    return float(np.abs(places[order])[np.searchsorted(sums, sums[-1] / 2)])


def held(counts: NoisyCounts, cells: int) -> tuple[int, int]:
    """The first cell that likely holds records, and the one after the last; all cells if none is seen.

    Args:
        counts: of cells around the records, and perhaps of missing values after them.
        cells: number of cells.
    """
    first, stop = _seen(counts, cells)
    if first >= stop:
        return 0, cells
    likely = _LIKELY if stop - first > _FEW else _NO_MORE
    return _stretched(counts, (first, stop), (0, cells), cells, likely)


def _seen(counts: NoisyCounts, cells: int) -> tuple[int, int]:
    """The first cell that holds records and the one after the last, as precisely as noise allows.

    Records are seen in a cell or box of cells whose count can be told from none, and beyond a place if the
    count of all that lies there can.
    """
    certain = NormalDist().inv_cdf(1 - _FALSE / (4 * cells))
    before, after = counts.deviations()
    below, above = counts.sums[: cells + 1], counts.sums[cells] - counts.sums[: cells + 1]
    low = np.flatnonzero(below[1:] > certain * before[1 : cells + 1])
    high = np.flatnonzero(above[:-1] > certain * after[:cells])
    first, stop = (int(low[0]) if len(low) else cells), (int(high[-1]) + 1 if len(high) else 0)
    for width, variance in zip(counts.widths, counts.variances, strict=True):
        starts = np.arange(0, cells, width)
        ends = np.minimum(starts + width, cells)
        full = np.flatnonzero(counts.sums[ends] - counts.sums[starts] > certain * math.sqrt(variance))
        if len(full):
            # Of a box with records in no smaller box, the place of its records is not known.
            first = min(first, int(starts[full[0]])) if ends[full[0]] <= first else first
            stop = max(stop, int(ends[full[-1]])) if starts[full[-1]] >= stop else stop
    return (first, stop) if first < stop else (stop - 1, first + 1) if stop and first < cells else (cells, 0)


def _stretched(
    counts: NoisyCounts,
    found: tuple[int, int],
    farthest: tuple[int, int],
    cells: int,
    likely: float = _LIKELY,
) -> tuple[int, int]:
    """The cells that were found and more at both ends, up to the farthest ones, that likely hold records.

    Of runs of boxes beyond an end, the one whose count exceeds so many deviations a box by most (the place of
    a change by cumulative sums: Page, Continuous inspection schemes, 1954).
    """
    first, stop = found
    low, high = max(0, farthest[0]), min(cells, farthest[1])
    for width in counts.widths:
        borders = [stop, *range((stop // width + 1) * width, high, width), high]
        stop = max(stop, borders[_change(counts, [*pairwise(borders)], width, likely)])
        borders = [first, *range(-(-first // width) * width - width, low, -width), low]
        first = min(first, borders[_change(counts, [(b, a) for a, b in pairwise(borders)], width, likely)])
    return first, stop


def _change(counts: NoisyCounts, boxes: list[tuple[int, int]], width: int, likely: float) -> int:
    """How many of the boxes beyond an end, in their order from it, likely hold records."""
    boxes = [(first, stop) for first, stop in boxes[:_NEAR] if first < stop]
    gains = [
        # A box up to the next border, which tells little of what lies beyond, has the noise of its parts.
        counts.between(*box) - likely * counts.sigma(*box) if box[1] - box[0] == width else 0.0
        for box in boxes
    ]
    sums = np.cumsum([0.0, *gains])
    return int(np.argmax(sums))


def crowded(ruler: Ruler, found: Range) -> bool:
    """Whether the records lie in so few cells that a finer ruler would show more of where they are."""
    inside = (ruler.edges[:-1] <= found.high) & (ruler.edges[1:] > found.low)
    if ruler.unit is not None and np.all(np.diff(ruler.edges)[inside] <= 1.5 * ruler.unit):
        return False
    return int(inside.sum()) < _CROWDED
