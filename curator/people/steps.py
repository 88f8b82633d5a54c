"""Where rows of one parent are on the scale of their order: the first one, then what lies between."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.clock import Clock
from ...common.data.attributes.dates import TimeAttribute, bins_of, numbers_of_units
from ...common.data.attributes.numeric import NumericAttribute
from ...common.errors import DataError
from ..results.raw_frames import raw

_FIRST_BINS = 32
"""Most bins of the value of a first row."""

_EXACT, _IN_OCTAVE = 8, 4
"""Gaps up to so many units have a code of their own; from there an octave has some bins."""

_FINEST = 1 << 20
"""Units in the range of numbers that are multiples of nothing."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """The codes of the order of rows.

    A first row has a bin of its value, or of what lies between the parent's beginning and it; each later one
    a bin of what lies between it and the row before.

    Attributes:
        when: the column of the order: numbers with bounds, dates or timestamps.
        since: whether the parent has a column of its beginning.
    """

    when: Attribute
    since: bool = False

    def __post_init__(self) -> None:
        check_order(self.when)

    @cached_property
    def units(self) -> NumericAttribute:
        """The numbers of the column."""
        found = bins_of(self.when)
        assert found is not None
        return found

    @cached_property
    def unit(self) -> float:
        """What values and gaps are multiples of."""
        if self.units.multiple_of is not None:
            return float(self.units.multiple_of)
        return 1.0 if self.units.integer else (self._high - self._low) / _FINEST

    @property
    def _low(self) -> float:
        return float(self.units.ends[0])

    @property
    def _high(self) -> float:
        return float(self.units.ends[1])

    @cached_property
    def firsts(self) -> Numbers:
        """Edges of the bins of first values, or of what lies before them."""
        if self.since:
            return self.gaps * self.unit
        cells = np.unique(np.concatenate([self.units.cells[:, 0], [self._high + self.unit]]))
        places = np.linspace(0, len(cells) - 1, min(len(cells), _FIRST_BINS + 1)).astype(int)
        edges: Numbers = cells[places].astype(np.float64)
        return edges

    @cached_property
    def gaps(self) -> Numbers:
        """Edges of the bins of gaps, in units."""
        most = max(1.0, (self._high - self._low) / self.unit + 1)
        edges = [float(k) for k in range(_EXACT)]
        start = float(_EXACT)
        while start < most:
            edges += [start * (1 + part / _IN_OCTAVE) for part in range(_IN_OCTAVE)]
            start *= 2
        return np.array([edge for edge in edges if edge < most] + [most])

    @cached_property
    def attribute(self) -> CategoricalAttribute:
        """The codes, as categories that readers understand."""
        how = "after" if self.since else "from"
        starts = [f"first {how} {edge:.10g}" for edge in self.firsts[:-1]]
        later = [f"after {edge * self.unit:.10g}" for edge in self.gaps[:-1]]
        return CategoricalAttribute(f"step_of_{self.when.name}", (*starts, *later))

    @property
    def first_codes(self) -> int:
        """The number of codes of first rows, which come first."""
        return len(self.firsts) - 1

    def numbers(self, column: pd.Series, missing: float) -> Numbers:
        """The cells of a column on the scale of the order, shape (N,).

        Args:
            column: numbers, dates or timestamps, as the order.
            missing: stands for a cell without a value.
        """
        cells = raw(self.when, column)
        if isinstance(self.when, TimeAttribute):
            found = numbers_of_units(str(column.name), cells, self.when.moments, self.units)
        else:
            found = self.units.numbers(cells)
        return np.where(np.isfinite(found), found, missing)

    def codes(
        self, values: Numbers, first: NDArray[np.bool_], begun: Numbers | None = None
    ) -> NDArray[np.int64]:
        """The codes of rows in order.

        Args:
            values: of the column, which do not fall among the rows of one parent, shape (N,).
            first: which rows are the first of their parent, shape (N,).
            begun: the beginning of the parent, shape (N,), if it is known.
        """
        origin = begun if self.since and begun is not None else 0.0
        starts = np.searchsorted(self.firsts[1:-1], values - origin + 1e-9 * self.unit, "right")
        between = np.diff(values, prepend=values[:1]) / self.unit
        later = np.searchsorted(self.gaps[1:-1], between + 1e-9, "right")
        return np.where(first, starts, self.first_codes + later).astype(np.int64)

    def values(
        self,
        codes: NDArray[np.integer],
        first: NDArray[np.bool_],
        rng: np.random.Generator,
        low: Numbers | None = None,
        high: Numbers | None = None,
    ) -> Numbers:
        """Values whose codes these are, drawn from their bins; multiples of the unit, within the bounds.

        Rows of a parent that would lie outside are moved together, and their gaps become smaller.

        Args:
            codes: of the rows, shape (N,).
            first: which rows are the first of their parent, shape (N,).
            rng: draws values.
            low: no row lies before, shape (N,), the same for rows of one parent; by default the column's
                bounds.
            high: no row lies after, as `low`.
        """
        edges = np.concatenate([self.firsts[:-1], self.gaps[:-1] * self.unit])
        ends = np.concatenate([self.firsts[1:], self.gaps[1:] * self.unit])
        places = np.round((ends - edges) / self.unit)[codes]
        inside = np.floor(rng.random(len(codes)) * np.maximum(places, 1)) * self.unit
        steps = edges[codes] + inside
        if self.since and low is not None:
            steps = steps + np.where(first, low, 0.0)
        summed = np.cumsum(steps)
        starts = np.flatnonzero(first)
        before = np.where(starts > 0, summed[starts - 1], 0.0)
        lengths = np.diff(np.append(starts, len(codes)))
        found: Numbers = summed - np.repeat(before, lengths)
        if not len(found):
            return found
        least = np.full(len(found), self._low) if low is None else np.maximum(low, self._low)
        most = np.full(len(found), self._high) if high is None else np.minimum(high, self._high)
        most = np.maximum(most, least)
        begin, end = (np.repeat(found[places], lengths) for places in (starts, starts + lengths - 1))
        start = np.clip(begin, least, most)
        room, taken = most - start, end - begin
        factor = np.minimum(1.0, np.divide(room, taken, out=np.ones_like(room), where=taken > 0))
        within: Numbers = start + np.floor((found - begin) * factor / self.unit + 1e-9) * self.unit
        return within


def orders(when: Attribute) -> bool:
    """Whether a column can say the order of rows: numbers, dates or timestamps."""
    if isinstance(when, TimeAttribute):
        return not isinstance(when.moments, Clock)
    return isinstance(when, NumericAttribute)


def check_order(when: Attribute) -> None:
    """Refuses a column that cannot say the order of rows.

    Raises:
        DataError: it holds something else than numbers, dates or timestamps.
    """
    if not orders(when):
        raise DataError(
            f"order {when.name!r}: expected a column of numbers, dates or timestamps, got another "
            "kind; order by another column"
        )
