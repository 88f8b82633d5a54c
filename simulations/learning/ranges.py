"""Where a column's numbers are: from a grid over all magnitudes to a fine one around the records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ...common.data.cells import SINGLE, unbounded
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

_FALSE, _LAST_FALSE = 0.02, 0.002
"""Probability with which noise alone makes records seen anywhere on a ruler, about; and on the last one."""

_LIKELY = 1.0
"""Beside where records were seen, boxes of more deviations than this likely hold some too."""

_FULL, _EMPTY = 5.0, 3.0
"""Records end at a place if a box before it has so many deviations, and the next one fewer than so many."""

_REACH_OUT = 8.0
"""Tails are looked for up to so many times an end's distance from the middle, and among small multiples."""

_NEAR = 256
"""So many boxes beyond an end are looked at."""

_CROWDED = 16
"""A grid is drawn again around the records if these lie in fewer of its cells."""

_MARGIN = 0.5
"""A range is widened by this share at both ends, for tails of few records, until the grid of the bins."""

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
    reach = [middle + _REACH_OUT * (end - middle) for end in (low, high)]
    small = 0.0 if ruler.unit is None else SINGLE * ruler.unit
    if low > -small and high < small:
        reach = [min(reach[0], -small), max(reach[1], small)]
    lowest, highest = map(int, ruler.edges.searchsorted(reach))
    first = _Outward(counts, ruler.cells, down=True).stretched(first, min(first - 2, lowest - 1))
    stop = _Outward(counts, ruler.cells).stretched(stop, max(stop + 2, highest))
    # The outer cells may be filled in part, and the next ones too.
    low, high = ruler.numbers(max(0, first - 1), min(ruler.cells, stop + 1))
    margin = _MARGIN * (high - low)
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


def held(counts: NoisyCounts, cells: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where records are for sure and where they likely are: first cell and the one after the last of both.

    Args:
        counts: of cells around the records, and perhaps of missing values after them.
        cells: number of cells.
    """
    first, stop = _seen(counts, cells, _LAST_FALSE)
    if first >= stop:
        return (0, cells), (0, cells)
    down, up = _Outward(counts, cells, down=True), _Outward(counts, cells)
    return (first, stop), (down.ended(first), up.ended(stop))


def _seen(counts: NoisyCounts, cells: int, false: float = _FALSE) -> tuple[int, int]:
    """The first cell that holds records and the one after the last, as precisely as noise allows.

    Records are seen in a cell or box of cells whose count can be told from none, and beyond a place if the
    count of all that lies there can.
    """
    certain = NormalDist().inv_cdf(1 - false / (4 * cells))
    before, after = counts.deviations()
    below, above = counts.sums[: cells + 1], counts.sums[cells] - counts.sums[: cells + 1]
    low = np.flatnonzero(below[1:] > certain * before[1 : cells + 1])
    high = np.flatnonzero(above[:-1] > certain * after[:cells])
    first, stop = (int(low[0]) if len(low) else cells), (int(high[-1]) + 1 if len(high) else 0)
    marked = np.zeros(cells + 1, dtype=np.int64)
    for width, variance in zip(counts.widths, counts.variances, strict=True):
        starts = np.arange(0, cells, width)
        ends = np.minimum(starts + width, cells)
        seen = counts.sums[ends] - counts.sums[starts] > certain * math.sqrt(variance)
        # Of a box with records in no smaller box, the place of its records is not known.
        within = np.concatenate([[0], np.cumsum(marked)])
        smallest = np.flatnonzero(seen & (within[ends] == within[starts]))
        if len(smallest):
            first, stop = min(first, int(starts[smallest[0]])), max(stop, int(ends[smallest[-1]]))
        marked[starts[seen]] = 1
    return (first, stop) if first < stop else (stop - 1, first + 1) if stop and first < cells else (cells, 0)


@dataclass(frozen=True, eq=False)
class _Outward:
    """Noisy counts of cells, seen from the middle to one end.

    Attributes:
        counts: of the cells.
        cells: number of cells.
        down: whether to the first one; otherwise to the last.
    """

    counts: NoisyCounts
    cells: int
    down: bool = False

    def stretched(self, end: int, farthest: int, last: bool = False) -> int:
        """The end, or one farther out up to which boxes likely hold records.

        Of runs of boxes beyond an end, the one whose count exceeds so many deviations a box by most (the
        place of a change by cumulative sums: Page, Continuous inspection schemes, 1954).

        Args:
            end: border of the cells that hold records.
            farthest: border up to which to look.
            last: whether no grid follows that would show where records stop: then larger boxes beyond a place
                where smaller ones show no more records need more certainty.
        """
        farthest = max(0, farthest) if self.down else min(self.cells, farthest)
        likely = _LIKELY
        for width, variance in zip(self.counts.widths, self.counts.variances, strict=True):
            if self._stops(end, width):
                likely = _EMPTY if last else _LIKELY
                continue
            borders = self._borders(end, width, farthest)
            # A box up to the next border, which tells little of what lies beyond, has the noise of its parts.
            gains = [
                self._between(near, far) - likely * math.sqrt(variance) if abs(far - near) == width else 0.0
                for near, far in pairwise(borders)
            ]
            end = borders[int(np.argmax(np.cumsum([0.0, *gains])))]
        return end

    def ended(self, end: int) -> int:
        """The end, or one farther out: a tail that fades into noise gets one more box."""
        limit = 0 if self.down else self.cells
        end = self.stretched(end, limit, last=True)
        if any(self._stops(end, width) for width in self.counts.widths):
            return end
        return self._borders(end, self.counts.widths[len(self.counts.widths) // 2], limit)[:3][-1]

    def _stops(self, end: int, width: int) -> bool:
        """Whether the records end in front of a place as far as boxes of one width show."""
        out = -1 if self.down else 1
        inner = end // width * width if out > 0 else -(-end // width) * width
        before, beyond = inner - out * width, inner + out * width
        if not (0 <= before <= self.cells and abs(end - inner) * 4 <= width):
            return False
        deviation = math.sqrt(self.counts.variances[self.counts.widths.index(width)])
        empty = not 0 <= beyond <= self.cells or self._between(inner, beyond) < _EMPTY * deviation
        return empty and self._between(before, inner) > _FULL * deviation

    def _between(self, near: int, far: int) -> float:
        return self.counts.between(min(near, far), max(near, far))

    def _borders(self, end: int, width: int, farthest: int) -> list[int]:
        """Borders of boxes from an end outwards."""
        if self.down:
            found = [end, *range((-(-end // width) - 1) * width, farthest, -width), farthest]
        else:
            found = [end, *range((end // width + 1) * width, farthest, width), farthest]
        return [border for border, last in zip(found, [None, *found], strict=False) if border != last][:_NEAR]


def crowded(ruler: Ruler, found: Range) -> bool:
    """Whether the records lie in so few cells that a finer ruler would show more of where they are."""
    inside = (ruler.edges[:-1] <= found.high) & (ruler.edges[1:] > found.low)
    if ruler.unit is not None and np.all(np.diff(ruler.edges)[inside] <= 1.5 * ruler.unit):
        return False
    return int(inside.sum()) < _CROWDED
