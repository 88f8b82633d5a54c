"""Where a column's numbers are: from a grid over all magnitudes to a fine one around the records."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ...common.data.binning.cells import SINGLE_MULTIPLES, edges_without_bounds
from ...common.data.binning.lattice import Lattice
from ...curator.releasing.bins.noisy_counts import NoisyCounts

FINE_CELLS = 4096
"""Cells of a grid around the records; of so many whole units, each has a cell of its own."""

_MAGNITUDES_REACH = 62
"""Grids over all magnitudes reach from -2^62 to 2^62."""

FARTHEST = 2.0**_MAGNITUDES_REACH
"""Numbers beyond count at the end of such a grid."""

_MAGNITUDES_SMALLEST = -40
"""Real numbers are told apart from 2^-40 on."""

_FALSE, _LAST_FALSE = 0.02, 0.002
"""Probability with which noise alone makes records seen anywhere on a ruler, about; and on the last one."""

_SURE_BEYOND, LIKELY_BEYOND = 3.5, 3.0
"""Cells beyond an end hold records for sure if their count exceeds so many deviations, and likely if it
exceeds so many."""

_RARE_BEYOND = 0.002
"""Beyond an end, less than this share of the records is none, however little noise there is."""

_BESIDE = 4.0
"""An end lies as far in as its log-likelihood is below the largest by so much: noise that moves an end out
makes values that no record has, noise that moves it in clips a few."""

_REACH_OUT = 6.0
"""Tails are looked for up to so many times an end's distance from the middle, and among small multiples."""

_FULL_CELL, _IN_SINGLE = 3.0, 0.75
"""Records are in single numbers if cells of so many deviations hold so many of them."""

_ZEROS, _MORE_THAN_COUNTED = 4.0, 2.0
"""Zeros are told from so many deviations on; a cell holds at most so many more records than are counted."""

_CROWDED = 16
"""A grid is drawn again around the records if these lie in fewer of its cells."""

_WIDENED = 0.5
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
        return cls(edges_without_bounds(lattice, _MAGNITUDES_REACH, _MAGNITUDES_SMALLEST), unit)

    @classmethod
    def between(cls, low: float, high: float, unit: float | None) -> Ruler:
        """At most `FINE_CELLS` cells of equal width.

        Args:
            low: the smallest number.
            high: the largest, or of multiples the last one.
            unit: numbers are multiples of it; None for any.
        """
        if unit is None:
            return cls(np.linspace(low, high, FINE_CELLS + 1), None)
        first, last = round(low / unit), round(high / unit)
        step = -(-(last - first + 1) // FINE_CELLS)
        places = np.arange(first, last + step + 1, step, dtype=np.float64)
        return cls((places - 0.5) * unit, unit)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.edges) - 1

    def count_in_cells(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
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
        single: whether nearly all lie in single numbers that many of them share.
        zeros: records that are zero, if they can be told from none.
        fullest: no other cell holds more records, as far as counts tell.
        zoomed: whether a grid was drawn around the records.
    """

    low: float
    high: float
    middle: float
    size: float
    certain: bool
    single: bool = False
    zeros: float = 0.0
    fullest: float = math.inf
    zoomed: bool = False

    def within(self, least: float, most: float) -> Range:
        """The same, with ends between two numbers."""
        low, high = (min(max(end, least), most) for end in (self.low, self.high))
        return replace(self, low=low, high=high)

    @property
    def is_skewed(self) -> bool:
        """Whether they reach many times farther than their median."""
        return max(abs(self.low), abs(self.high)) > _SKEWED * self.size


def found_range(ruler: Ruler, counts: NoisyCounts) -> Range:
    """Where the records are, from noisy counts of the cells of a ruler."""
    seen = _find_seen(counts, ruler.cells, _FALSE)
    if seen is None:
        best = int(np.argmax(np.diff(counts.sums)))
        low, high = ruler.numbers(best, best + 1)
        return Range(low, high, (low + high) / 2, max(abs(low), abs(high)), False)
    first, stop = seen.outer
    below = counts.sums
    half = int(np.searchsorted(below[first : stop + 1], (below[first] + below[stop]) / 2)) + first
    middle = float(np.mean(ruler.numbers(max(first, half - 1), max(first + 1, half))))
    size = _median_size(ruler, below, first, stop)
    low, high = ruler.numbers(first, stop)
    reach = [middle + _REACH_OUT * (end - middle) for end in (low, high)]
    small = 0.0 if ruler.unit is None else SINGLE_MULTIPLES * ruler.unit
    if low > -small and high < small:
        reach = [min(reach[0], -small), max(reach[1], small)]
    lowest, highest = map(int, ruler.edges.searchsorted(reach))
    limits = max(0, min(first - 2, lowest - 1)), min(ruler.cells, max(stop + 2, highest))
    first, stop = seen.within(counts, limits, LIKELY_BEYOND)
    # The outer cells may be filled in part, and the next ones too.
    low, high = ruler.numbers(max(0, first - 1), min(ruler.cells, stop + 1))
    margin = _WIDENED * (high - low)
    first, stop = ruler.edges.searchsorted([low - margin, high + margin], side="right") - [1, 0]
    low, high = ruler.numbers(max(0, int(first)), min(ruler.cells, int(stop)))
    return Range(low, high, middle, size, True, _single(ruler, counts), *_fullest(ruler, counts))


def _single(ruler: Ruler, counts: NoisyCounts) -> bool:
    """Whether nearly all records are seen in cells of a single number each."""
    if ruler.unit is None:
        return False
    each = np.diff(counts.sums)[: ruler.cells]
    seen = each > _FULL_CELL * math.sqrt(counts.variances[0])
    seen &= np.diff(ruler.edges) < 1.5 * ruler.unit
    return bool(each[seen].sum() > _IN_SINGLE * counts.sums[ruler.cells])


def _fullest(ruler: Ruler, counts: NoisyCounts) -> tuple[float, float]:
    """The records that are zero, where a cell alone tells them, and those of the fullest other."""
    each, sigma = np.diff(counts.sums)[: ruler.cells], math.sqrt(counts.variances[0])
    zero = int(ruler.edges.searchsorted(0.0, side="right")) - 1
    zeros = 0.0
    if 0 <= zero < ruler.cells and ruler.edges[zero] == 0:
        widest = 2.0**_MAGNITUDES_SMALLEST if ruler.unit is None else 1.5 * ruler.unit
        if ruler.edges[zero + 1] <= widest and each[zero] > _ZEROS * sigma:
            zeros = float(each[zero])
            each[zero] = 0.0
    return zeros, float(each.max()) + _MORE_THAN_COUNTED * sigma


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


def occupied_cells(counts: NoisyCounts, cells: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where records are for sure and where they likely are: first cell and the one after the last of both.

    Args:
        counts: of cells around the records, and perhaps of missing values after them.
        cells: number of cells.
    """
    seen = _find_seen(counts, cells, _LAST_FALSE)
    if seen is None:
        return (0, cells), (0, cells)
    sure = seen.within(counts, (0, cells), _SURE_BEYOND)
    return sure, (
        extend_end(counts, sure[0], 0, LIKELY_BEYOND),
        extend_end(counts, sure[1], cells, LIKELY_BEYOND),
    )


@dataclass(frozen=True)
class _Seen:
    """Where noisy counts show records.

    Attributes:
        outer: first cell of the first box of cells that holds records, and the one after the last.
        inner: the cell before which some of them lie, and the one from which on others do.
    """

    outer: tuple[int, int]
    inner: tuple[int, int]

    def within(self, counts: NoisyCounts, limits: tuple[int, int], likely: float) -> tuple[int, int]:
        """The first cell that holds records and the one after the last; see `extend_end`."""
        low, high = (
            extend_end(counts, end, limit, likely) for end, limit in zip(self.inner, limits, strict=True)
        )
        return (low, high) if low < high else self.outer


def _find_seen(counts: NoisyCounts, cells: int, false: float) -> _Seen | None:
    """Where records are seen: in a cell or box of cells whose count can be told from none.

    And beyond a place, if the count of all that lies there can.

    Args:
        counts: of the cells.
        cells: number of cells.
        false: probability with which noise alone shows some, about.
    """
    certain = NormalDist().inv_cdf(1 - false / (4 * cells))
    boxes = _seen_boxes(counts, cells, certain)
    if not boxes:
        return None
    before, after = counts.deviations()
    below, above = counts.sums[: cells + 1], counts.sums[cells] - counts.sums[: cells + 1]
    many_below = np.flatnonzero(below > certain * before[: cells + 1])[:1].tolist()
    many_above = np.flatnonzero(above > certain * after[: cells + 1])[-1:].tolist()
    (first, low), (high, stop) = min(boxes), max(boxes, key=lambda box: box[1])
    low, high = min([low, *many_below]), max([high, *many_above])
    return _Seen((min(first, low - 1), max(stop, high + 1)), (low, high))


def _seen_boxes(counts: NoisyCounts, cells: int, certain: float) -> list[tuple[int, int]]:
    """The boxes of more records than so many deviations, without those in which a smaller one is seen."""
    boxes: list[tuple[int, int]] = []
    marked = np.zeros(cells + 1, dtype=np.int64)
    for width, variance in zip(counts.widths, counts.variances, strict=True):
        starts = np.arange(0, cells, width)
        ends = np.minimum(starts + width, cells)
        seen = counts.sums[ends] - counts.sums[starts] > certain * math.sqrt(variance)
        within = np.concatenate([[0], np.cumsum(marked)])
        smallest = seen & (within[ends] == within[starts])
        boxes += zip(starts[smallest].tolist(), ends[smallest].tolist(), strict=True)
        marked[starts[seen]] = 1
    return boxes


def extend_end(counts: NoisyCounts, end: int, farthest: int, likely: float) -> int:
    """The end of the cells that hold records, or one farther out up to which the cells together hold more.

    Of the runs of cells beyond an end, the one whose count exceeds its own deviation by most (the likelihood
    of a change of level at its other end), or a shorter one that holds nearly as many; again and again.

    Args:
        counts: of the cells.
        end: border of the cells that hold records.
        farthest: border up to which to look, on the side to which to look.
        likely: deviations that such a count has to exceed.
    """
    step = 1 if farthest > end else -1
    least = _RARE_BEYOND * float(counts.sums[-1])
    while end != farthest:
        borders = np.arange(end + step, farthest + step, step)
        records = step * (counts.sums[borders] - counts.sums[end])
        deviations = counts.sigmas(np.minimum(end, borders), np.maximum(end, borders))
        gains = records / deviations
        best = int(np.argmax(gains))
        if gains[best] < likely or records[best] < least:
            return end
        least_gain = math.sqrt(max(float(gains[best]) ** 2 - 2 * _BESIDE, likely**2))
        rest = records[best] - records
        # Where there is hardly any noise, less than half a record is none. A whole box is counted more
        # exactly than the cells in it, which is no sign of records in all of these.
        last = np.full_like(borders, borders[best])
        beyond = counts.sigmas(np.minimum(borders, last), np.maximum(borders, last))
        none = rest < math.sqrt(2 * _BESIDE) * beyond
        near = (gains >= least_gain) | (rest + deviations < 0.5) | (none & (gains >= 2 * likely))
        end = int(borders[np.argmax(near)])
    return end


def has_few_cells(ruler: Ruler, found: Range) -> bool:
    """Whether the records lie in so few cells that a finer ruler would show more of where they are."""
    inside = (ruler.edges[:-1] <= found.high) & (ruler.edges[1:] > found.low)
    if ruler.unit is not None and np.all(np.diff(ruler.edges)[inside] <= 1.5 * ruler.unit):
        return False
    return int(inside.sum()) < _CROWDED
