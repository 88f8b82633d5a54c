"""Columns of few numbers: which ones rows have, each counted alone on a lattice finer than the votes show."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ...curator.releasing.bins.noisy_counts import NoisyCounts
from .asking import SURE_UNSEEN, Asking, Values, tells_missing
from .kinds import Vote
from .private_counts import Noisy
from .ranges import LIKELY_BEYOND, Range, Ruler, extend_end

_COUNTED_ALONE = 256
"""So many cells can be counted alone."""

MOST_NUMBERS = 64
"""So many numbers are few."""

_SCALE = 12
"""So many numbers in a row are a scale; more of them are a range, which may have a tail."""

_FALSE = 0.02
"""Probability with which a number that no row has is taken to be one, for each column about."""

_TOLD = 2.5
"""Rows of others between the numbers are there from so many deviations on."""

_RARE_NUMBERS = 0.02
"""Rows of other numbers are none if they are a smaller share of the rows that have one."""


@dataclass(frozen=True, eq=False)
class Few:
    """The numbers of a column of few.

    Attributes:
        numbers: increasing.
        usual: place of the one as which other rows count, the most frequent; -1 if they count as missing.
        missing: whether cells can be told to have no value.
        unlisted: so many rows at most have another number, or no value if `missing` is false.
        counts: noisy rows without a value, if `missing`, then of each number with all that count as it, and
            of each text.
        sigmas: standard deviations of their noise.
        texts: frequent ones among the numbers, in order.
    """

    numbers: tuple[float, ...]
    usual: int
    missing: bool
    unlisted: float
    counts: NDArray[np.float64]
    sigmas: NDArray[np.float64]
    texts: tuple[str, ...] = ()

    def with_texts(self, texts: Sequence[str], noisy: Noisy) -> Few:
        """The same column with texts that many of the rows without a number have.

        Args:
            texts: each once.
            noisy: their rows.
        """
        if not texts or not self.missing:
            return self
        counts, sigmas = np.append(self.counts, noisy.values), self.sigmas.copy()
        counts[0] -= noisy.values.sum()
        sigmas[0] = math.hypot(sigmas[0], noisy.sigma * math.sqrt(len(texts)))
        sigmas = np.append(sigmas, np.full(len(texts), noisy.sigma))
        if tells_missing(False, float(counts[0]), float(sigmas[0])):
            return replace(self, counts=counts, sigmas=sigmas, texts=tuple(texts))
        usual = int(np.argmax(counts[1 : 1 + len(self.numbers)]))
        unlisted = self.unlisted + max(0.0, float(counts[0])) + SURE_UNSEEN * float(sigmas[0])
        counts[1 + usual] += counts[0]
        sigmas[1 + usual] = math.hypot(sigmas[0], sigmas[1 + usual])
        return Few(self.numbers, usual, False, unlisted, counts[1:], sigmas[1:], tuple(texts))


def may_be_few(found: Range, unit: float) -> bool:
    """Whether the numbers of a column may be few, so that each can be counted alone.

    Args:
        found: where they are.
        unit: they are multiples of it.
    """
    # What a grid around the records has cost is not left for the counts of numbers.
    return found.single and not found.zoomed and (found.high - found.low) / unit + 3 <= _COUNTED_ALONE


def few_numbers(
    asking: Asking,
    values: Mapping[str, Values],
    units: Mapping[str, float],
    found: Mapping[str, Range],
    votes: Mapping[str, Vote],
    share: float,
    texts: Callable[[str, float], tuple[list[str], Noisy]],
) -> dict[str, Few]:
    """The columns of few numbers, and texts that many rows have among these.

    Whole numbers are counted with their halves, multiples of 5 with all whole ones: a value that few rows
    have, such as 5.5 for "more than 5", is not seen in votes.

    Args:
        asking: the means.
        values: reads the numbers of each column.
        units: of which the numbers of each are multiples, as far as votes tell.
        found: where nearly all numbers of each are, in single ones that many rows share.
        votes: what cells voted for.
        share: of a column for these counts, the half of it for a second time where numbers seem to be few, or
            for texts, if there are some.
        texts: finds those of a column at a cost.
    """
    rulers = {name: _fine(found[name], unit) for name, unit in units.items()}
    asked = {name: partial(_count_cells, ruler, values[name]) for name, ruler in rulers.items()}

    def columns_told(counts: Mapping[str, Noisy]) -> dict[str, Few]:
        each = {
            name: _few(one, rulers[name], units[name], votes[name], asking) for name, one in counts.items()
        }
        return {name: one for name, one in each.items() if one is not None}

    cost = share / 2 * asking.share
    first = asking.counts.histograms("few numbers", asked, cost)
    told = columns_told(first)
    mixed = {name: one.with_texts(*texts(name, cost)) for name, one in told.items() if votes[name].others}
    again = {name: asked[name] for name in told if name not in mixed}
    second = asking.counts.histograms("few numbers again", again, cost)
    return mixed | columns_told({name: first[name].average_with(one) for name, one in second.items()})


def _fine(found: Range, unit: float) -> Ruler:
    """Cells of single multiples of a finer unit around the numbers, or of the same if these are too many.

    In the first and the last one all numbers beyond are counted too.
    """
    finer = 0.5 if unit == 1 else 1.0 if unit > 1 and unit.is_integer() else unit
    places = (found.high - found.low) / finer + 3
    step = finer if places <= _COUNTED_ALONE else unit
    return Ruler.between(found.low - step, found.high + step, step)


def _count_cells(ruler: Ruler, values: Values) -> NDArray[np.int64]:
    """The rows of each cell, then those without a number."""
    found = values()
    return np.append(ruler.count_in_cells(found), np.isnan(found).sum())


def _few(counts: Noisy, ruler: Ruler, unit: float, vote: Vote, asking: Asking) -> Few | None:
    """The numbers of a column, if they are few and no others are told."""
    numbers = [ruler.numbers(cell, cell + 1)[0] for cell in range(ruler.cells)]
    shown = _multiples(numbers, unit)
    shown[[0, -1]] = False
    held = _cells_with_rows(counts, shown)
    if not 0 < len(held) <= MOST_NUMBERS:
        return None
    missing = tells_missing(vote.missing > 0, float(counts.values[-1]), counts.sigma)
    known = np.append(held, ruler.cells) if missing else held
    rest = asking.records - float(counts.values[known].sum())
    deviation = math.hypot(asking.rows.deviation, counts.sigma * math.sqrt(len(known)))
    least = _RARE_NUMBERS * (asking.records - (float(counts.values[-1]) if missing else 0.0))
    if rest > max(least, _TOLD * deviation):
        return None
    # Numbers beyond these ones, or between them, are looked for among those that the votes show.
    shown[held] = True
    alone = NoisyCounts.single(counts.values[:-1][shown], counts.sigma)
    places = np.searchsorted(np.flatnonzero(shown), held)
    first, stop, cells = int(places[0]), int(places[-1]) + 1, int(shown.sum())
    low, high = extend_end(alone, first, 0, LIKELY_BEYOND), extend_end(alone, stop, cells, LIKELY_BEYOND)
    between = np.setdiff1d(np.arange(low, high), places)
    others = float(np.diff(alone.sums)[between].sum())
    beyond = alone.between(low, first) + alone.between(stop, high)
    if stop - first == len(held) > _SCALE:
        return None
    if beyond > least or others > max(least, _TOLD * counts.sigma * math.sqrt(len(between))):
        return None
    unlisted = max(0.0, rest) + SURE_UNSEEN * deviation
    # A cell that is not listed may be a text where texts are seen.
    usual = -1 if missing and vote.others else int(np.argmax(counts.values[held]))
    codes = np.insert(held, 0, ruler.cells) if missing else held
    listed = tuple(numbers[cell] for cell in held)
    return Few(listed, usual, missing, unlisted, *_fold_others(counts, codes, usual + missing))


def _fold_others(
    counts: Noisy, cells: NDArray[np.intp], usual: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The noisy rows of some cells, where all others count as one of these, and their deviations."""
    values, sigmas = counts.values[cells], np.full(len(cells), counts.sigma)
    values[usual] += counts.values.sum() - values.sum()
    sigmas[usual] *= math.sqrt(len(counts.values) - len(cells) + 1)
    return values, sigmas


def _cells_with_rows(counts: Noisy, usual: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The cells that hold rows: those that can be told among all, and then those next to them.

    Args:
        counts: of the cells, then of missing values.
        usual: which cells are of numbers that the votes show.
    """
    deviations = counts.values[:-1] / counts.sigma
    deviations[[0, -1]] = 0.0
    held = deviations > _certain(len(usual))
    while held.any():
        here = np.flatnonzero(held[usual])
        places = np.flatnonzero(usual)
        next_ = np.zeros(len(places), dtype=np.bool_)
        if len(here):
            next_[[max(0, here[0] - 1), min(len(places) - 1, here[-1] + 1)]] = True
            next_[here[0] : here[-1]] = True
        next_ &= ~held[usual]
        more = places[next_][deviations[places[next_]] > _certain(int(next_.sum()))]
        if not len(more):
            break
        held[more] = True
    return np.flatnonzero(held)


def _certain(cells: int) -> float:
    """How many deviations tell rows in one of so many cells from noise."""
    return NormalDist().inv_cdf(1 - _FALSE / max(1, cells))


def _multiples(numbers: list[float], unit: float) -> NDArray[np.bool_]:
    quotients = np.array(numbers) / unit
    return np.abs(quotients - np.rint(quotients)) < 1e-6
