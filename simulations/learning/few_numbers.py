"""Columns of few numbers: which ones rows have, each counted alone on a lattice finer than the votes show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ...curator.releasing.noisy_counts import NoisyCounts
from .asking import SURE, Asking, Values, tells_missing
from .private_counts import Noisy
from .ranges import Range, Ruler, extended

FIRST, SECOND = 0.3, 0.3
"""Shares of a column for the counts of its numbers, and for a second time where they seem to be few."""

_CELLS = 256
"""So many cells can be counted alone."""

_MOST = 64
"""So many numbers are few."""

_FALSE = 0.02
"""Probability with which a number that no row has is taken to be one, for each column about."""

_LIKELY, _TOLD = 3.0, 2.5
"""Rows beyond the numbers, and rows of others between them, are there from so many deviations on."""

_RARE = 0.02
"""Rows of other numbers are none if they are a smaller share of the rows."""


@dataclass(frozen=True, eq=False)
class Few:
    """The numbers of a column of few.

    Attributes:
        numbers: increasing.
        counts: noisy rows of each.
        missing: whether cells can be told to have no value.
        unlisted: so many rows at most have another number, or no value if `missing` is false.
    """

    numbers: tuple[float, ...]
    counts: NDArray[np.float64]
    missing: bool
    unlisted: float


def few_numbers(
    asking: Asking,
    values: Mapping[str, Values],
    units: Mapping[str, float],
    found: Mapping[str, Range],
    voted: Mapping[str, bool],
) -> dict[str, Few]:
    """The columns of few numbers.

    Whole numbers are counted with their halves, multiples of 5 with all whole ones: a value that few rows
    have, such as 5.5 for "more than 5", is not seen in votes.

    Args:
        asking: the means.
        values: reads the numbers of each column.
        units: of which the numbers of each are multiples, as far as votes tell.
        found: where nearly all numbers of each are, in single ones that many rows share.
        voted: whether cells without a value were seen.
    """
    rulers = {name: _fine(found[name], unit) for name, unit in units.items()}
    asked = {
        name: partial(_counted, ruler, values[name])
        for name, ruler in rulers.items()
        if ruler.cells <= _CELLS
    }

    def told(counts: Mapping[str, Noisy]) -> dict[str, Few]:
        each = {
            name: _few(one, rulers[name], units[name], voted[name], asking) for name, one in counts.items()
        }
        return {name: one for name, one in each.items() if one is not None}

    first = asking.counts.histograms("few numbers", asked, FIRST * asking.share)
    likely = told(first)
    again = {name: asked[name] for name in likely}
    second = asking.counts.histograms("few numbers again", again, SECOND * asking.share)
    return told({name: first[name].averaged(one) for name, one in second.items()})


def _fine(found: Range, unit: float) -> Ruler:
    """Cells of single multiples of a finer unit around the numbers, or of the same if these are too many."""
    finer = 0.5 if unit == 1 else 1.0 if unit > 1 and unit.is_integer() else unit
    places = (found.high - found.low) / finer + 1
    return Ruler.between(found.low, found.high, finer if places <= _CELLS else unit)


def _counted(ruler: Ruler, values: Values) -> NDArray[np.int64]:
    """The rows of each cell, then those without a number."""
    found = values()
    return np.append(ruler.counted(found), np.isnan(found).sum())


def _few(counts: Noisy, ruler: Ruler, unit: float, voted: bool, asking: Asking) -> Few | None:
    """The numbers of a column, if they are few and no others are told."""
    certain = NormalDist().inv_cdf(1 - _FALSE / ruler.cells)
    held = np.flatnonzero(counts.values[:-1] > certain * counts.sigma)
    if not 0 < len(held) <= _MOST:
        return None
    numbers = [ruler.numbers(cell, cell + 1)[0] for cell in range(ruler.cells)]
    missing = tells_missing(voted, float(counts.values[-1]), counts.sigma)
    known = np.append(held, ruler.cells) if missing else held
    rest = asking.records - float(counts.values[known].sum())
    deviation = math.hypot(asking.rows.deviation, counts.sigma * math.sqrt(len(known)))
    least = _RARE * asking.records
    if rest > max(least, _TOLD * deviation):
        return None
    # Numbers beyond these ones, or between them, are looked for among those that the votes show.
    usual = np.flatnonzero(np.isin(np.arange(ruler.cells), held) | _multiples(numbers, unit))
    alone = NoisyCounts.single(counts.values[usual], counts.sigma)
    places = np.searchsorted(usual, held)
    first, stop = int(places[0]), int(places[-1]) + 1
    low, high = extended(alone, first, 0, _LIKELY), extended(alone, stop, len(usual), _LIKELY)
    between = np.setdiff1d(np.arange(low, high), places)
    others = float(np.diff(alone.sums)[between].sum())
    beyond = alone.between(low, first) + alone.between(stop, high)
    if beyond > least or others > max(least, _TOLD * counts.sigma * math.sqrt(len(between))):
        return None
    unlisted = max(0.0, rest) + SURE * deviation
    return Few(tuple(numbers[cell] for cell in held), counts.values[held], missing, unlisted)


def _multiples(numbers: list[float], unit: float) -> NDArray[np.bool_]:
    quotients = np.array(numbers) / unit
    return np.abs(quotients - np.rint(quotients)) < 1e-6
