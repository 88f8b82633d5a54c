"""Learns which dates are near others, and how far: those of a discharge after those of an admission."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.clock import Clock
from ....common.data.attributes.moments import Moments
from ....common.data.attributes.numeric import NumericAttribute
from ....common.data.binning.rhythm import DAY
from ....common.data.binning.scale import Scale
from ....party.drafting.following import all_before
from ..asking import PRESENT, Asking
from ..kinds import Vote
from ..private_counts import Noisy
from ..ranges import Range, Ruler

_HOW_FAR, _GRIDS_OF_GAPS = 0.15, 0.12
"""Shares of a column for how far other dates are from it, and for each grid of gaps."""

_OF_LEFT = 0.05
"""Of what is left for learning, each grid of gaps takes no more."""

_MOST_COMPARED = 6
"""So many columns of dates are compared, the first ones."""

_SURELY_THERE = 3.5
"""Gaps of a length are there if their rows exceed so many deviations of noise."""

_CLEAR = 0.5
"""Gaps that are seen are so many of the rows with a date at least."""

_FAR_GAPS, _MIDDLE_OF_GAPS = 0.12, (0.05, 0.95)
"""Gaps between these quantiles are at most so much of where dates may be: then they say more of a row. Ranges
that were found are about twice as wide as the dates."""

_FARTHER, _MOST_OF_GAPS = 0.2, 0.9
"""Gaps of one sign up to this quantile may be so much of it: no date comes before the other."""

_LENGTHS = np.array(
    [
        *(0.5, 60, 600, 3600, 6 * 3600),
        *(days * DAY for days in (1, 3, 7, 30, 90, 365, 1100, 3650, 11000, 36500)),
    ]
)
"""Gaps are told apart at these, in seconds; the first tells those of one time."""

_EDGES = np.concatenate([[-np.inf], -_LENGTHS[:0:-1], [0.0, 0.0], _LENGTHS[1:], [np.inf]])
"""Where gaps of each length begin and end: those before, the longest first, of one time, and those after."""

_SELDOM_UNKNOWN = 0.1
"""Dates are counted from another one that may be missing if at most so many of them lack it, with noise."""

Times = Callable[[], NDArray[np.datetime64]]


@dataclass(frozen=True)
class Dates:
    """A column of dates or timestamps.

    Attributes:
        moments: what they are.
        read: reads its local times, NaT where one is missing.
        found: where they are, in units.
        vote: what its cells voted for.
    """

    moments: Moments
    read: Times
    found: Range
    vote: Vote

    @property
    def unit(self) -> float:
        """Seconds of a unit."""
        return self.moments.granularity.seconds

    @property
    def reach(self) -> float:
        """Seconds from the first date to the last."""
        return (self.found.high - self.found.low) * self.unit

    @property
    def can_be_compared(self) -> bool:
        """Whether all cells are dates of days that are known, or missing."""
        dated = not isinstance(self.moments, Clock) and self.unit <= DAY
        return dated and self.found.certain and not self.vote.others


class _Near(NamedTuple):
    """A column that is near another one: how near, both, and seconds between which the gaps are."""

    usual: float
    first: str
    later: str
    low: float
    high: float


def learned_gaps(asking: Asking, columns: Mapping[str, Dates]) -> dict[str, tuple[str, NumericAttribute]]:
    """The columns that are near others, with that one, and the gaps in units.

    A column is near another one if most gaps are far shorter than the range of the dates. It is counted from
    the one that comes first in most rows, of several from the nearest; the order of rows from none.

    Args:
        asking: the means.
        columns: of dates, by name.
    """
    names = [name for name, one in columns.items() if one.can_be_compared][:_MOST_COMPARED]
    found = [
        near
        for first, later, noisy in _pairs_compared(asking, columns, names)
        if (near := _near(asking, columns, first, later, noisy)) is not None
    ]
    after: dict[str, str] = {}
    gaps: dict[str, NumericAttribute] = {}
    for one in sorted(found):
        if one.later not in after and one.later not in all_before(one.first, after):
            units = _units(asking, columns, one)
            if units is not None:
                after[one.later], gaps[one.later] = one.first, units
    return {name: (after[name], units) for name, units in gaps.items()}


def _pairs_compared(
    asking: Asking, columns: Mapping[str, Dates], names: list[str]
) -> Iterator[tuple[str, str, Noisy]]:
    """Each pair of columns, with noisy rows by how far the second one is after the first."""
    # Each column is in as many pairs as there are others.
    part = 2 * _HOW_FAR / max(1, len(names) - 1)
    for step in range(1, len(names)):
        several = dict(zip(names, names[step:], strict=False))
        asked = {name: partial(_by_length, columns[name], columns[other]) for name, other in several.items()}
        cost = asking.part(part, len(asked)) * asking.share
        for name, noisy in asking.counts.histograms("how far dates are apart", asked, cost).items():
            yield name, several[name], noisy


def _near(asking: Asking, columns: Mapping[str, Dates], first: str, later: str, noisy: Noisy) -> _Near | None:
    """How near a column is to another one; None if it is not."""
    seen, middle = noisy.above_noise(_SURELY_THERE)[:-1], len(_LENGTHS)
    if seen.sum() < _CLEAR * min(columns[first].vote.filled, columns[later].vote.filled):
        return None
    order = asking.cells.order
    if later == order or (first != order and seen[:middle].sum() > seen[middle + 1 :].sum()):
        first, later, seen = later, first, seen[::-1]
    reached, reach = np.cumsum(seen) / seen.sum(), columns[first].reach
    few, many, most = (int(np.searchsorted(reached, share)) for share in (*_MIDDLE_OF_GAPS, _MOST_OF_GAPS))
    follows = not seen[:middle].any()
    near = max(-_EDGES[few], _EDGES[many + 1]) <= _FAR_GAPS * reach
    near |= follows and _EDGES[most + 1] <= _FARTHER * reach
    noise, filled = PRESENT * noisy.sigma, columns[later].vote.filled
    lacking = filled - (asking.records - float(noisy.values[-1]))
    known = columns[first].vote.missing == 0 or lacking + noise <= _SELDOM_UNKNOWN * filled
    if not (near and known):
        return None
    usual = float(np.average(np.abs(np.arange(len(seen)) - middle), weights=seen))
    # Fewer rows than are seen may have the next lengths, but for the other sign.
    shortest, longest = np.flatnonzero(seen)[[0, -1]] + [-1, 1]
    ends = _EDGES[max(0, int(shortest))], _EDGES[min(int(longest) + 1, len(_EDGES) - 1)]
    low, high = np.clip(ends, 0.0 if follows else -reach, reach).tolist()
    return _Near(usual, first, later, low, high)


def _units(asking: Asking, columns: Mapping[str, Dates], near: _Near) -> NumericAttribute | None:
    """The gaps of a column, by grids that are drawn closer around them; None if none are seen."""
    first, later, name = columns[near.first], columns[near.later], near.later
    low, high = np.floor(near.low / later.unit), np.ceil(near.high / later.unit)
    part = asking.part(_GRIDS_OF_GAPS, 1, _OF_LEFT)
    values = {name: partial(_gaps, first, later)}
    rulers = {name: Ruler.between(low, high, 1.0)}
    found = asking.ranges("range of gaps", values, rulers, {name: later.vote}, part, part)[name]
    if not found.certain:
        return None
    found = found.within(low, high)
    scale = Scale.SYMLOG if found.is_skewed else Scale.LINEAR
    most = max(found.high, found.low + 1)
    return NumericAttribute(name, found.low, most, None, True, True, scale=scale, unreadable="missing")


def _gaps(first: Dates, later: Dates) -> NDArray[np.float64]:
    """Units from the time of one column to that of another, NaN where one is missing; shape (N,)."""
    begun, ended = first.read(), later.read()
    known = ~(np.isnat(begun) | np.isnat(ended))
    found = np.full(len(known), np.nan)
    counted = later.moments.unit_numbers
    found[known] = counted(ended[known]) - counted(begun[known])
    return found


def _by_length(first: Dates, later: Dates) -> NDArray[np.int64]:
    """Rows by the length of their gap (`_EDGES`), then those without one."""
    seconds = _gaps(first, later) * later.unit
    known = seconds[~np.isnan(seconds)]
    lengths = np.sign(known) * np.searchsorted(_LENGTHS, np.abs(known))
    counts = np.bincount(lengths.astype(np.int64) + len(_LENGTHS), minlength=2 * len(_LENGTHS) + 1)
    return np.append(counts, len(seconds) - len(known)).astype(np.int64)
