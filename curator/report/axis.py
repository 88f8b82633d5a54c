"""The axis of a chart of numbers: places are as far apart as the numbers, or as their logarithms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.data.binning.scale import Scale

Numbers = NDArray[np.float64]

_PART_OF_AXIS = 0.12
"""Nine tenths of the records in less than this part of a linear axis are shown on a logarithmic one."""

_LEAST_PART = 1e-6
"""A symmetric logarithmic axis is linear in this part of it around zero, at least."""

_LEAST_FACTOR = 4.0
"""A logarithmic axis is longer than by this factor."""

_TICKS = 5
"""Most ticks of an axis: on a phone their texts do not meet."""


@dataclass(frozen=True)
class Axis:
    """Where numbers are drawn.

    Attributes:
        low: the number at its beginning.
        high: the number at its end.
        scale: what is drawn at equal distances.
        unit: of a symmetric logarithmic scale, about up to which it is linear.
    """

    low: float
    high: float
    scale: Scale = Scale.LINEAR
    unit: float = 1.0

    @classmethod
    def of(cls, edges: Numbers, shares: Numbers, scale: Scale) -> Axis:
        """The axis on which bins can be seen.

        Args:
            edges: lower and upper bound of each bin in order, shape (bins, 2).
            shares: of the records in each bin; published, since the choice follows from them.
            scale: of the domain; a linear one is kept where the records do not crowd in a small part.
        """
        low, high = float(edges[0, 0]), float(edges[-1, 1])
        if scale is Scale.LINEAR and not _is_crowded(edges, shares, high - low):
            return cls(low, high)
        if low > 0:
            # Within a factor of a few, a logarithm spreads nothing.
            return cls(low, high, Scale.LOG if high >= _LEAST_FACTOR * low else Scale.LINEAR)
        sizes = np.abs(edges).max(axis=1)
        typical = _quantile(sizes[(order := np.argsort(sizes))], shares[order], 0.1)
        return cls(low, high, Scale.SYMLOG, max(typical, _LEAST_PART * (high - low)))

    def place(self, numbers: Numbers) -> Numbers:
        """Where numbers are, from 0 to 1."""
        low, high = self.scale.of(np.array([self.low, self.high]) / self.unit)
        found: Numbers = (self.scale.of(np.asarray(numbers) / self.unit) - low) / max(high - low, 1e-300)
        return np.clip(found, 0.0, 1.0)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Round numbers on the axis, in order, one at least and a few at most."""
        found = self._round_numbers() if self.scale is Scale.LINEAR else self._powers()
        return tuple(float(one) for one in found) or (self.low,)

    def _round_numbers(self) -> Numbers:
        width = self.high - self.low
        power = 10.0 ** math.floor(math.log10(max(width, 1e-300)))
        steps = (power * factor for factor in (0.1, 0.2, 0.25, 0.5, 1.0, 2.0))
        step = next((one for one in steps if width / one < _TICKS), power)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return np.round(np.arange(first, last + 1) * step, 12)

    def _powers(self) -> Numbers:
        """Powers of ten and zero; where less than two are on the axis, also 2 and 5 times each, or others."""
        top = math.floor(math.log10(max(abs(self.low), abs(self.high))))
        least = self.low if self.scale is Scale.LOG else self.unit
        powers: Numbers = np.power(10.0, np.arange(math.floor(math.log10(least)), top + 1, dtype=np.float64))
        if len(self._within(powers)) < 2:
            powers = np.outer(powers, [1.0, 2.0, 5.0]).ravel()
        signed: Numbers = (
            powers if self.scale is Scale.LOG else np.concatenate([-powers[::-1], [0.0], powers])
        )
        found = self._within(signed)
        if not len(found):
            return self._round_numbers()
        apart = -(-len(found) // _TICKS)
        # Zero is one of those that stay.
        zero = int(np.flatnonzero(found == 0.0)[0]) if 0.0 in found else 0
        kept = found[zero % apart :: apart]
        places = self.place(kept)
        clear: NDArray[np.bool_] = np.array(
            [k == 0.0 or not self._meets_zero(p) for k, p in zip(kept, places, strict=True)]
        )
        ticks: Numbers = kept[clear]
        return ticks

    def _meets_zero(self, place: float) -> bool:
        """Whether a tick's text would meet that of zero."""
        return self.low <= 0.0 <= self.high and abs(place - float(self.place(np.zeros(1))[0])) < 0.12

    def _within(self, numbers: Numbers) -> Numbers:
        kept: Numbers = numbers[(numbers >= self.low * (1 - 1e-12)) & (numbers <= self.high)]
        return kept


def tick_text(number: float) -> str:
    """A number at an axis: 0.25, 2024 and 10,000, and 1e+06 from a million on."""
    return f"{number:,.6g}" if 1e4 <= abs(number) < 1e6 else f"{number:g}"


def number_ticks(axis: Axis) -> tuple[tuple[float, str], ...]:
    """The round numbers of an axis, with their texts."""
    return tuple((one, tick_text(one)) for one in axis.ticks)


def _is_crowded(edges: Numbers, shares: Numbers, width: float) -> bool:
    low = _quantile(edges[:, 0], shares, 0.05)
    high = _quantile(edges[:, 1], shares, 0.95)
    return high - low < _PART_OF_AXIS * width


def _quantile(numbers: Numbers, shares: Numbers, level: float) -> float:
    """The first of increasing numbers up to which there is this part of all records."""
    reached = np.cumsum(shares)
    place = int(np.searchsorted(reached, level * reached[-1]))
    return float(numbers[min(place, len(numbers) - 1)])
