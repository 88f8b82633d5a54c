"""Where numbers lie within their bins: a density that follows the neighbouring bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ...later import np
from .inverse import Inverse
from .lattice import Lattice
from .rhythm import Pace
from .rounded import Rounded, round_off
from .scale import Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEPS_OF_BIN = 32
"""Steps of a bin in which its density is tabulated."""

_STEEPEST = math.log(20.0)
"""The density at an end of a bin is at most this far, in logarithms, from its mean."""

_TILT_STEPS = 12

_OF_BIN = 1e-3
"""Drawn numbers of no lattice are multiples of the power of ten at or below this share of their bin's width:
more digits would say nothing, and fewer are faster to write and to read."""

_OF_MAGNITUDE = 3
"""Digits after the first one, where a bin holds numbers of several magnitudes."""

_MOST_DECIMALS, _LOGARITHM_ERROR = 290, 1e-9
"""Powers of ten beyond this one would overflow, and the error of the logarithm of one that is exact."""

_MOST_WEIGHED_BINS = 2**14
"""In more bins than these, values are spread evenly within each."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Draws of numbers from bins and atoms.

    Within a bin, the logarithm of the density is a quadratic function on the scale. At an edge between two
    bins it is interpolated from the means of both; the bin's mass is exact. At an end without a neighbour, or
    with an empty one, the function is linear. Atoms and bins of one value have no part in this: the bins at
    their sides see each other.

    Attributes:
        cells: shape (n, 2): bounds of bins and atoms, increasing, closed below.
        scale: scale on which numbers are spread.
        lattice: the numbers are its multiples, except for atoms; None for any numbers.
        rounded: how round they are beyond that, by size.
        pace: how they lie within weeks and days, if they are units of time.
        among: in cells that hold some of these, increasing, numbers are among them.
    """

    cells: NDArray[np.float64]
    scale: Scale
    lattice: Lattice | None
    rounded: tuple[Rounded, ...] = ()
    pace: Pace | None = None
    among: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.cells)

    def draw(
        self, codes: NDArray[np.int64], counts: NDArray[np.integer[Any]], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """A number of the cell of each code.

        Args:
            codes: cells, shape (N,).
            counts: records of each cell, from which densities are taken; shape (n,).
            rng: randomness of the draws.
        """
        if self._wide.all():
            ranks = rng.random(len(codes))
        else:
            rows = self._wide[codes]
            ranks = np.zeros(len(codes))
            ranks[rows] = rng.random(int(rows.sum()))
        return self.shorten(self.at(codes, counts, ranks), codes, counts, rng)

    def at(
        self, codes: NDArray[np.int64], counts: NDArray[np.number[Any]], ranks: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The number at each rank among those of a cell.

        Args:
            codes: cells, shape (N,).
            counts: as for `draw`.
            ranks: from 0 to 1, shape (N,); of a cell of one value they have no meaning. They may be
                overwritten.
        """
        masses = counts[self._wide].astype(np.float64)
        if self._wide.all():
            return self._within(codes, masses, ranks)
        numbers: NDArray[np.float64] = self.reach[codes, 0]
        rows = np.flatnonzero(self._wide[codes])
        bins = (np.cumsum(self._wide) - 1)[codes[rows]]
        numbers[rows] = self._within(bins, masses, ranks[rows])
        return numbers

    def shorten(
        self,
        numbers: NDArray[np.float64],
        codes: NDArray[np.int64],
        counts: NDArray[np.integer[Any]],
        rng: np.random.Generator,
    ) -> NDArray[np.float64]:
        """Numbers of these cells, rounded down to few decimals, and as `rounded` says; none leaves its cell.

        Multiples stay as they are but for `rounded`, and those of `among` as they are. Without `rounded`,
        which numbers are below a threshold of as few decimals does not change.

        Args:
            numbers: shape (N,); they are overwritten.
            codes: their cells, shape (N,).
            counts: as for `draw`.
            rng: chooses numbers that are rounded.
        """
        listed = self._rows_among(codes)
        known = numbers[listed]
        if self.lattice is None:
            numbers = self._cut(numbers, codes)
        if self.rounded:
            round_off(numbers, codes, self.rounded, self.reach, counts, self.lattice, rng)
        numbers[listed] = known
        return numbers

    def _cut(self, numbers: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The numbers, rounded down to few decimals; see `shorten`."""
        if self._of_one_magnitude.all():
            return self._cut_by_cells(numbers, codes)
        alike = self._of_one_magnitude[codes]
        numbers[alike] = self._cut_by_cells(numbers[alike], codes[alike])
        sizes = np.maximum(np.abs(numbers[~alike]), 10.0**-_MOST_DECIMALS)
        digits = np.clip(_OF_MAGNITUDE - np.floor(np.log10(sizes)), -_MOST_DECIMALS, _MOST_DECIMALS)
        times, over = _powers_of_ten(digits)
        cut = np.floor(numbers[~alike] * times / over) * over / times
        numbers[~alike] = np.clip(cut, *self.reach[codes[~alike]].T)
        return numbers

    def _cut_by_cells(self, numbers: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
        times, over, first, last = self._decimals
        numbers *= times[codes]
        numbers /= over[codes]
        np.floor(numbers, out=numbers)
        np.clip(numbers, first[codes], last[codes], out=numbers)
        numbers *= over[codes]
        numbers /= times[codes]
        return numbers

    def shares_below(
        self, cells: NDArray[np.int64], counts: NDArray[np.number[Any]], numbers: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The share of the draws of each cell that lie below a number, before they are rounded; shape (m,).

        Args:
            cells: cells of more than one value, shape (m,).
            counts: as for `draw`.
            numbers: of any size, shape (m,).
        """
        bins = (np.cumsum(self._wide) - 1)[cells]
        begin, end = (ends[bins] for ends in self._ends)
        half = 0.0 if self.lattice is None else self.lattice.unit / 2
        least, most = self.reach[cells].T
        bound = self._divide_at(np.clip(numbers, least - half, most + half), bins, "left")
        place = self.scale.of(self._without_pace(bound, least, most))
        return self._ranks_of_places(
            bins, counts[self._wide].astype(np.float64), (place - begin) / (end - begin)
        )

    def ranks(
        self, counts: NDArray[np.integer[Any]], low: float, high: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The part of each cell's numbers that lies in a range.

        Args:
            counts: as for `draw`.
            low: first number of the range.
            high: its last number.

        Returns:
            The shares of each cell's numbers below the range, and up to its end, shape (n,) each; equal where
            the cell has none in it. `at` gives numbers of the range for ranks between them.
        """
        half = 0.0 if self.lattice is None else self.lattice.unit / 2
        least, most = self.reach.T
        inside = (least <= high) & (most >= low)
        first, last = np.zeros(self.size), inside.astype(np.float64)
        wide = np.flatnonzero(inside & self._wide)
        begin, end = self._ends
        bins = (np.cumsum(self._wide) - 1)[wide]
        masses = counts[self._wide].astype(np.float64)
        if self.lattice is not None:
            low, high = _multiples(self.lattice, low, high)
            if low > high:
                return first, np.where(self._wide, 0.0, last)
        sides: tuple[Literal["left", "right"], ...] = ("left", "right")
        for found, bound, side in zip((first, last), (low - half, high + half), sides, strict=True):
            number = np.clip(bound, least[wide] - half, most[wide] + half)
            number = self._divide_at(number, bins, side)
            number = self._without_pace(number, least[wide], most[wide])
            places = (self.scale.of(number) - begin[bins]) / (end[bins] - begin[bins])
            found[wide] = self._ranks_of_places(bins, masses, np.clip(places, 0.0, 1.0))
        return first, last

    @cached_property
    def reach(self) -> NDArray[np.float64]:
        """Shape (n, 2): the smallest and the largest value of each cell; of an atom, itself twice."""
        low, high = self.cells.T
        if self.lattice is None:
            return np.stack([low, np.nextafter(high, low)], axis=1)
        first, last = self.lattice.first_from(low), self.lattice.first_from(high) - 1
        multiples = np.stack([self.lattice.values(first), self.lattice.values(last)], axis=1)
        reach: NDArray[np.float64] = np.where((first > last)[:, None], low[:, None], multiples)
        return reach

    @cached_property
    def _decimals(self) -> NDArray[np.float64]:
        """The unit of each cell, over / times, and its first and last multiple in the cell; shape (4, n).

        In quotients of whole numbers a multiple is the float64 nearest to the decimal number. A cell of one
        value, or too narrow for a multiple, has its smallest value as the only one.
        """
        (least, most), wide = self.reach.T, self._wide
        digits = np.zeros(self.size)
        widths = np.maximum(_OF_BIN * (most - least)[wide], np.finfo(np.float64).tiny)
        digits[wide] = -np.floor(np.log10(widths) + _LOGARITHM_ERROR)
        digits = np.minimum(digits, _MOST_DECIMALS)
        times, over = _powers_of_ten(digits)
        first, last = np.ceil(least * times / over), np.floor(most * times / over)
        first += first * over / times < least
        last -= last * over / times > most
        held = wide & (first <= last)
        times[~held] = over[~held] = 1.0
        return np.stack([times, over, np.where(held, first, least), np.where(held, last, least)])

    @cached_property
    def _of_one_magnitude(self) -> NDArray[np.bool_]:
        """The cells whose width says how many decimals mean something, shape (n,): on a linear scale all."""
        near, far = np.sort(np.abs(self.reach), axis=1).T
        one_side = np.prod(np.sign(self.reach), axis=1) > 0
        found: NDArray[np.bool_] = (one_side & (far <= 10 * near)) | ~self._wide
        return found | (self.scale is Scale.LINEAR)

    def _within(
        self, bins: NDArray[np.int64], counts: NDArray[np.float64], ranks: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The number at each rank among those of its wide cell."""
        least, most = np.ascontiguousarray(self.reach[self._wide].T)
        low, high = self._ends
        numbers = self._places_of_ranks(bins, counts, ranks)
        numbers *= (high - low)[bins]
        numbers += low[bins]
        numbers = self.scale.numbers(numbers)
        if self.pace is not None:
            numbers = self.pace.in_rhythm(numbers, least[bins], most[bins])
        listed = self._rows_among(np.flatnonzero(self._wide)[bins] if self.among else bins)
        among = self._choose_numbers(bins[listed], numbers[listed])
        if self.lattice is not None:
            numbers = self.lattice.values(self.lattice.nearest(numbers))
        np.maximum(numbers, least[bins], out=numbers)
        np.minimum(numbers, most[bins], out=numbers)
        numbers[listed] = among
        return numbers

    def _rows_among(self, codes: NDArray[np.int64]) -> NDArray[np.intp]:
        """The rows of cells that hold some of `among`."""
        if not self.among:
            return np.zeros(0, dtype=np.intp)
        first, stop = self._places_among
        return np.flatnonzero((first < stop)[codes])

    def _choose_numbers(self, bins: NDArray[np.int64], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """For numbers of wide cells those of `among`, which divide their cell evenly; shape (N,)."""
        if not len(bins):
            return numbers
        least, width, first, stop = self._parts[:, bins]
        ahead = np.floor((numbers - least) / width * (stop - first))
        chosen: NDArray[np.float64] = np.array(self.among)[(first + ahead).clip(first, stop - 1).astype(int)]
        return chosen

    def _divide_at(
        self, bounds: NDArray[np.float64], bins: NDArray[np.int64], side: Literal["left", "right"]
    ) -> NDArray[np.float64]:
        """Where `_choose_numbers` goes over from numbers below bounds, or up to them, to others, (N,)."""
        if not self.among:
            return bounds
        least, width, first, stop = self._parts[:, bins]
        place = np.searchsorted(self.among, bounds, side).clip(first, stop)
        return np.where(first < stop, least + width * (place - first) / np.maximum(stop - first, 1), bounds)

    @cached_property
    def _parts(self) -> NDArray[np.float64]:
        """Where each wide cell begins, its width, and the places of its numbers in `among`; shape (4, n)."""
        half = 0.0 if self.lattice is None else self.lattice.unit / 2
        least, most = self.reach[self._wide].T
        return np.stack([least - half, most - least + 2 * half, *self._places_among[:, self._wide]])

    @cached_property
    def _places_among(self) -> NDArray[np.intp]:
        """The places in `among` of the first number of each wide cell and after its last; shape (2, n)."""
        first = np.searchsorted(self.among, self.reach[:, 0])
        stop = np.searchsorted(self.among, self.reach[:, 1], "right")
        return np.where(self._wide, np.stack([first, stop]), 0)

    def _without_pace(
        self, numbers: NDArray[np.float64], least: NDArray[np.float64], most: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Numbers of cells from `least` to `most` where they would be without a pace, shape (N,)."""
        return numbers if self.pace is None else self.pace.without_rhythm(numbers, least, most)

    def _places_of_ranks(
        self, bins: NDArray[np.int64], counts: NDArray[np.float64], ranks: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The place of each rank, from 0 to 1, in the distribution of its bin; ranks are overwritten."""
        among = np.bincount(bins, minlength=len(counts)) > 0
        used, position = np.flatnonzero(among), (np.cumsum(among) - 1)[bins]
        if not 0 < len(used) <= _MOST_WEIGHED_BINS:
            return ranks
        places = self._inverse(counts, used).at(position, ranks)
        places -= position
        return places

    def _ranks_of_places(
        self, bins: NDArray[np.int64], counts: NDArray[np.float64], places: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The rank of each place; the inverse of `_places_of_ranks`."""
        used, position = np.unique(bins, return_inverse=True)
        if not 0 < len(used) <= _MOST_WEIGHED_BINS:
            return places
        found = self._inverse(counts, used)
        return np.interp(position + places, found.steps.ravel(), found.below.ravel()) - position

    def _inverse(self, counts: NDArray[np.float64], used: NDArray[np.int64]) -> Inverse:
        """Places of these bins by rank, each bin's after those of the one before; the latest is kept.

        The blocks of a table ask for the same one.
        """
        of = counts.tobytes(), used.tobytes()
        latest: tuple[tuple[bytes, bytes], Inverse] | None = self._latest_inverses.get("latest")
        if latest is None or latest[0] != of:
            latest = of, self._inverse_of(counts, used)
            self._latest_inverses["latest"] = latest
        return latest[1]

    def _inverse_of(self, counts: NDArray[np.float64], used: NDArray[np.int64]) -> Inverse:
        left, right = (tilts[used] for tilts in self._tilts(counts))
        steps = np.linspace(0, 1, _STEPS_OF_BIN + 1)
        begins = np.arange(len(used))[:, None]
        return Inverse(_cumulative(left, right, steps) + begins, steps + begins)

    def _tilts(self, counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Logarithms of the densities at both ends of each bin, over its mean density."""
        low, high = self._ends
        widths = np.maximum(high - low, np.finfo(np.float64).tiny)
        rises = np.diff(np.log(np.where(counts > 0, counts, 1)) - np.log(widths))
        near = low[1:] - high[:-1] < np.minimum(widths[1:], widths[:-1])
        rises[~(near & (counts[1:] > 0) & (counts[:-1] > 0))] = np.nan
        after = widths[1:] / (widths[1:] + widths[:-1])
        left, right = np.append(np.nan, -rises * after), np.append(rises * (1 - after), np.nan)
        left, right = (
            np.where(np.isnan(left), _far(right), left),
            np.where(np.isnan(right), _far(left), right),
        )
        tilts = np.clip(np.nan_to_num([left, right]), -_STEEPEST, _STEEPEST)
        return tilts[0], tilts[1]

    @cached_property
    def _latest_inverses(self) -> dict[str, tuple[tuple[bytes, bytes], Inverse]]:
        return {}

    @cached_property
    def _wide(self) -> NDArray[np.bool_]:
        """Cells of more than one value."""
        wide: NDArray[np.bool_] = self.reach[:, 0] < self.reach[:, 1]
        return wide

    @cached_property
    def _ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where each wide cell begins and ends on the scale; a multiple reaches half a unit to both sides."""
        half = 0.0 if self.lattice is None else self.lattice.unit / 2
        least, most = self.reach[self._wide].T
        return self.scale.of(least - half), self.scale.of(most + half)


def _powers_of_ten(digits: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two whole numbers each, of which the second over the first is the unit of so many decimals."""
    return 10.0 ** np.maximum(digits, 0), 10.0 ** np.maximum(-digits, 0)


def _multiples(lattice: Lattice, low: float, high: float) -> tuple[float, float]:
    """The first and the last multiple within a range; in the wrong order if there is none."""
    first, beyond = lattice.first_from(np.array([low, np.nextafter(high, np.inf)]))
    found = lattice.values(np.array([first, beyond - 1]))
    return float(found[0]), float(found[1])


def _far(near: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of a density of total 1 at one end, if it is linear and this at the other."""
    slopes = np.linspace(-40, 40, 802)
    ends = np.log(slopes / -np.expm1(-slopes))
    return np.interp(near, ends, ends - slopes)


def _cumulative(
    left: NDArray[np.float64], right: NDArray[np.float64], steps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Cumulative distributions with these densities at their ends and total 1.

    Args:
        left: logarithms of the densities at 0, shape (n,).
        right: at 1, shape (n,).
        steps: places from 0 to 1, shape (s,).

    Returns:
        Shape (n, s). The curvature of the logarithm is found by Newton's method: the logarithm of the total
        is convex in it, with slopes between 0 and 1.
    """
    line = left[:, None] * (1 - steps) + right[:, None] * steps
    bump = 4 * steps * (1 - steps)
    curvature = np.zeros(len(left))
    for _ in range(_TILT_STEPS):
        density = np.exp(line + curvature[:, None] * bump)
        total = np.trapezoid(density, steps, axis=1)
        curvature -= np.log(total) * total / np.trapezoid(density * bump, steps, axis=1)
    density = np.exp(line + curvature[:, None] * bump)
    below = np.cumsum((density[:, 1:] + density[:, :-1]) / 2, axis=1)
    return np.concatenate([np.zeros((len(left), 1)), below / below[:, -1:]], axis=1)
