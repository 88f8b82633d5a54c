"""Learns which dates come after others, and how far: those of a discharge after those of an admission."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.clock import Clock
from ....common.data.attributes.moments import Moments
from ....common.data.attributes.numeric import NumericAttribute
from ....common.data.binning.rhythm import DAY
from ....common.data.binning.scale import Scale
from ....common.forms.notation import LARGEST_WHOLE
from ..asking import PRESENT, Asking
from ..kinds import Vote
from ..private_counts import Noisy
from ..ranges import Range, Ruler

_FIRST_OF_TWO, _HOW_FAR, _GRIDS_OF_GAPS = 0.15, 0.1, 0.12
"""Shares of a column for which of two dates comes first, how far the other one is, and each grid of gaps."""

_OF_LEFT = 0.05
"""Of what is left for learning, each grid of gaps takes no more."""

_MOST_COMPARED = 6
"""So many columns of dates are compared, the first ones."""

_SELDOM_BEFORE, _CLEAR = 0.002, 0.05
"""A date follows if so small a share of the rows has it before the other one, as far as noise tells, which is
no larger than so much of the rows."""

_FAR_GAPS = 0.3
"""Nine in ten gaps are at most so much of the range of the dates: then they say more of a row."""

_NINE_TENTHS = 0.9

_LENGTHS = np.array(
    [
        *(0.5, 60, 600, 3600, 6 * 3600),
        *(days * DAY for days in (1, 3, 7, 30, 90, 365, 1100, 3650, 11000, 36500, 365000)),
    ]
)
"""Gaps are told apart at these, in seconds; the first tells those of one time."""

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
    def can_be_compared(self) -> bool:
        """Whether all cells are dates of days that are known, or missing."""
        dated = not isinstance(self.moments, Clock) and self.unit <= DAY
        return dated and self.found.certain and not self.vote.others


def learned_gaps(asking: Asking, columns: Mapping[str, Dates]) -> dict[str, tuple[str, NumericAttribute]]:
    """The columns that come after others, with that one, and the gaps in units.

    A column comes after another one if hardly a row has it before that one, and most gaps are far shorter
    than the range of the dates; of several after the nearest.

    Args:
        asking: the means.
        columns: of dates, by name.
    """
    names = [name for name, one in columns.items() if one.can_be_compared][:_MOST_COMPARED]
    near = []
    for first, later in _one_before_the_other(asking, columns, names):
        count = partial(_by_length, columns[first], columns[later])
        noisy = _ask(asking, "how far dates follow", {later: count}, _HOW_FAR)[later]
        seen = noisy.above_noise(PRESENT)[:-1]
        if not seen.any():
            continue
        begun = columns[first].found
        whole = (begun.high - begun.low) * columns[first].unit
        lengths = np.append(_LENGTHS, np.inf)
        most = float(lengths[int(np.searchsorted(np.cumsum(seen) / seen.sum(), _NINE_TENTHS))])
        if most <= _FAR_GAPS * whole:
            usual = float(np.average(np.arange(len(seen)), weights=seen))
            near.append((usual, first, later, min(whole, float(lengths[int(np.flatnonzero(seen)[-1])]))))
    after: dict[str, tuple[str, NumericAttribute]] = {}
    for _, first, later, longest in sorted(near):
        if later not in after and later not in _chain(first, after):
            units = _units(asking, columns[first], columns[later], later, longest)
            if units is not None:
                after[later] = first, units
    return after


def _one_before_the_other(
    asking: Asking, columns: Mapping[str, Dates], names: list[str]
) -> list[tuple[str, str]]:
    """Pairs of columns of which the first is hardly ever after the second."""
    found = []
    # Each column is in as many pairs as there are others.
    part = 2 * _FIRST_OF_TWO / max(1, len(names) - 1)
    for step in range(1, len(names)):
        several = dict(zip(names, names[step:], strict=False))
        asked = {name: partial(_by_sign, columns[name], columns[other]) for name, other in several.items()}
        for name, noisy in _ask(asking, "which date comes first", asked, part).items():
            before, same, after = noisy.values[:3].tolist()
            both, noise = before + same + after, PRESENT * noisy.sigma
            if noise > _CLEAR * both:
                continue
            for rows, other_rows, pair in (
                (before, after, (name, several[name])),
                (after, before, (several[name], name)),
            ):
                missing = columns[pair[0]].vote.missing > 0
                if rows <= _SELDOM_BEFORE * both + noise < other_rows and not missing:
                    found.append(pair)
    return found


def _units(asking: Asking, first: Dates, later: Dates, name: str, longest: float) -> NumericAttribute | None:
    """The gaps of a column, by grids that are drawn closer around them; None if none are seen.

    Args:
        asking: the means.
        first: the column from which they are counted.
        later: the column.
        name: its name.
        longest: seconds up to which they are seen.
    """
    most = min(np.ceil(longest / later.unit), float(LARGEST_WHOLE) / 2)
    ruler = Ruler.between(0.0, most, 1.0)
    part = asking.part(_GRIDS_OF_GAPS, 1, _OF_LEFT)
    found = asking.ranges(
        "range of gaps",
        {name: partial(_gaps, first, later)},
        {name: ruler},
        {name: later.vote},
        part,
        part,
    )[name].within(0.0, most)
    if not found.certain:
        return None
    scale = Scale.SYMLOG if found.is_skewed else Scale.LINEAR
    high = max(found.high, found.low + 1)
    return NumericAttribute(name, found.low, high, None, True, True, scale=scale, unreadable="missing")


def _ask(
    asking: Asking, step: str, asked: Mapping[str, Callable[[], NDArray[np.int64]]], part: float
) -> dict[str, Noisy]:
    return asking.counts.histograms(step, asked, asking.part(part, len(asked)) * asking.share)


def _gaps(first: Dates, later: Dates) -> NDArray[np.float64]:
    """Units from the time of one column to that of another, NaN where one is missing; shape (N,)."""
    begun, ended = first.read(), later.read()
    known = ~(np.isnat(begun) | np.isnat(ended))
    found = np.full(len(known), np.nan)
    counted = later.moments.unit_numbers
    found[known] = counted(ended[known]) - counted(begun[known])
    return found


def _by_sign(first: Dates, later: Dates) -> NDArray[np.int64]:
    """Rows with gaps below, of and above zero, and without one."""
    found = _gaps(first, later)
    counts = [(found < 0).sum(), (found == 0).sum(), (found > 0).sum()]
    return np.array([*counts, len(found) - sum(counts)], dtype=np.int64)


def _by_length(first: Dates, later: Dates) -> NDArray[np.int64]:
    """Rows with gaps up to each of the lengths, and beyond the last, and those before or without one."""
    found = _gaps(first, later) * later.unit
    held = found[found >= 0]
    counts = np.bincount(np.searchsorted(_LENGTHS, held), minlength=len(_LENGTHS) + 1)
    return np.append(counts, len(found) - len(held)).astype(np.int64)


def _chain(name: str, after: Mapping[str, tuple[str, NumericAttribute]]) -> set[str]:
    """A column, and all that it comes after."""
    found = {name}
    while name in after:
        name = after[name][0]
        found.add(name)
    return found
