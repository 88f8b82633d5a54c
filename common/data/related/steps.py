"""Where rows of one parent are on the scale of their order: the first one, all, and what lies between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ...errors import DataError
from ...later import np
from ..attributes.attribute import Attribute
from ..attributes.categorical import CategoricalAttribute
from ..attributes.clock import Clock
from ..attributes.dates import BinnedTimes, GapAttribute, TimeAttribute, bins_of
from ..attributes.numeric import NumericAttribute
from ..binning.scale import Scale
from .spans import summed_gaps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_FIRST_BINS, _SPAN_BINS = 96, 24
"""Most bins of the value of a first row, and of what lies between it and the last one."""

NONE = "none"
"""The category of what comes before a first row, and of the places of no rows."""

FIRST = "first"
"""The code of a first row."""

_EXACT_GAPS, _IN_OCTAVE = 8, 4
"""Gaps up to so many units have a code of their own; from there an octave has some bins."""

_GAP_GROUPS = 12
"""Groups of gaps."""

_UNITS_OF_RANGE = 1 << 20
"""Units in the range of numbers that are multiples of nothing."""


@dataclass(frozen=True)
class Steps:
    """The codes of the order of rows.

    A parent has a bin of the value of its first row, or of what lies between its own beginning and that row,
    and one of what lies between the first row and the last, if it has several. A row has a bin of what lies
    between it and the row before, or is the first.

    Attributes:
        when: the column of the order: numbers with bounds, dates or timestamps.
        since: whether the parent has a column of its beginning.
        near: whether rows may also lie before it.
    """

    when: Attribute
    since: bool = False
    near: bool = False

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
        return 1.0 if self.units.integer else (self._high - self._low) / _UNITS_OF_RANGE

    @property
    def _low(self) -> float:
        return float(self.units.ends[0])

    @property
    def _high(self) -> float:
        return float(self.units.ends[1])

    @cached_property
    def firsts(self) -> Numbers:
        """Edges of the bins of first values, or of what lies before them."""
        if self.near:
            return np.concatenate([-self.gaps[:0:-1], self.gaps]) * self.unit
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
        edges = [float(k) for k in range(_EXACT_GAPS)]
        start = float(_EXACT_GAPS)
        while start < most:
            edges += [start * (1 + part / _IN_OCTAVE) for part in range(_IN_OCTAVE)]
            start *= 2
        return np.array([edge for edge in edges if edge < most] + [most])

    @cached_property
    def spans(self) -> Numbers:
        """Edges of the bins of what lies between the first row and the last one, in units."""
        most = max(1.0, (self._high - self._low) / self.unit + 1)
        edges = np.ceil(most * (np.arange(_SPAN_BINS) / (_SPAN_BINS - 1)) ** 2)
        return np.unique([0.0, 1.0, *edges, most])

    @cached_property
    def attribute(self) -> CategoricalAttribute:
        """The codes of rows, as categories that readers understand."""
        later = [f"after {edge * self.unit:.10g}" for edge in self.gaps[:-1]]
        return CategoricalAttribute(f"step_of_{self.when.name}", (FIRST, *later))

    def places(self, child: str) -> tuple[CategoricalAttribute, CategoricalAttribute]:
        """The codes that a parent has for its rows of a table: of the first one, and of all together."""
        how = "after" if self.since else "from"
        firsts = [f"{how} {edge:.10g}" for edge in self.firsts[:-1]]
        spans = [f"from {edge * self.unit:.10g}" for edge in self.spans[:-1]]
        first, span = place_names(self.when.name, child)
        return CategoricalAttribute(first, (*firsts, NONE)), CategoricalAttribute(span, (*spans, NONE))

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """The group of each code, as the row after it knows it: gaps of about equal length."""
        size = len(self.gaps) - 1
        return (0, *(np.arange(size) * min(_GAP_GROUPS, size) // size + 1).tolist())

    def codes(self, values: Numbers, first: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The codes of rows in order.

        Args:
            values: of the column, which do not fall among the rows of one parent, shape (N,).
            first: which rows are the first of their parent, shape (N,).
        """
        between = np.diff(values, prepend=values[:1]) / self.unit
        later = np.searchsorted(self.gaps[1:-1], between + 1e-9, "right")
        return np.where(first, 0, 1 + later).astype(np.int64)

    def codes_of_times(self, values: Numbers) -> NDArray[np.int64]:
        """The bin of the order's column of each value, shape (rows,)."""
        starts = self.units.cells[:, 0].astype(np.float64)
        return np.searchsorted(starts[1:], values, "right").astype(np.int64)

    def codes_of_firsts(self, values: Numbers) -> NDArray[np.int64]:
        """The bins of first values, or of what lies before them (`firsts`), shape (N,)."""
        return np.searchsorted(self.firsts[1:-1], values + 1e-9 * self.unit, "right").astype(np.int64)

    def codes_of_places(
        self,
        values: Numbers,
        parent: NDArray[np.int64],
        parents: int,
        begun: Numbers | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The codes of parents, each of shape (parents,).

        Args:
            values: see `codes`.
            parent: the parent of each row, never decreasing, shape (N,).
            parents: number of parents.
            begun: the beginning of the parent of each row, shape (N,), if it is known.
        """
        starts = np.flatnonzero(np.append(True, parent[1:] != parent[:-1])[: len(parent)])
        held = parent[starts]
        ends = np.append(starts[1:], len(parent))[: len(starts)] - 1
        since = values - begun if self.since and begun is not None else values
        firsts = np.full(parents, len(self.firsts) - 1, dtype=np.int64)
        spans = np.full(parents, len(self.spans) - 1, dtype=np.int64)
        firsts[held] = self.codes_of_firsts(since[starts])
        between = (values[ends] - values[starts]) / self.unit
        several = ends > starts
        spans[held[several]] = np.searchsorted(self.spans[1:-1], between[several] + 1e-9, "right")
        return firsts, spans

    def values(
        self,
        codes: NDArray[np.integer],
        first: NDArray[np.bool_],
        places: tuple[NDArray[np.integer], NDArray[np.integer]],
        rng: np.random.Generator,
        low: Numbers | None = None,
        high: Numbers | None = None,
        begun: Numbers | None = None,
    ) -> Numbers:
        """Values whose codes these are, drawn from their bins; multiples of the unit, within the bounds.

        What lies between rows adds up to what lies between the first and the last, as `summed_gaps` says.

        Args:
            codes: of the rows, shape (N,).
            first: see `codes`.
            places: codes of the parent of each row, each of shape (N,).
            rng: draws values.
            low: no row lies before, shape (N,), the same for rows of one parent; by default the column's
                bounds.
            high: no row lies after, as `low`.
            begun: the beginning of the parent of each row, as `low`, if it is known.
        """
        starts = np.flatnonzero(first)
        if not len(starts):
            return np.zeros(0)
        lengths = np.diff(np.append(starts, len(codes)))
        begins, spans = (one[starts].astype(np.int64) for one in places)
        unknown, known = begins == len(self.firsts) - 1, begins < len(self.firsts) - 1
        begins[unknown] = rng.choice(begins[known], unknown.sum()) if known.any() else 0
        least = np.full(len(starts), self._low) if low is None else np.maximum(low[starts], self._low)
        most = np.full(len(starts), self._high) if high is None else np.minimum(high[starts], self._high)
        origin = begun[starts] if self.since and begun is not None else np.zeros(len(starts))
        firsts = self.firsts / self.unit
        begin = _inside(firsts, begins, rng)
        begin = _fitting(begin, firsts, begins, np.floor((most - origin) / self.unit), rng)
        begin = np.clip(begin * self.unit + origin, least, np.maximum(most, least))
        # A parent without a span has any.
        none = spans == len(self.spans) - 1
        spans[none] = 0
        room = np.maximum(np.floor((most - begin) / self.unit), 0.0)
        shortest = self.spans[spans]
        longest = np.where(none, np.inf, np.maximum(np.ceil(self.spans[spans + 1]) - 1, shortest))
        longest = np.minimum(longest, room)
        drawn = _inside(self.spans, spans, rng)
        fitting, lacks = _fitting(drawn, self.spans, spans, room, rng), (lengths > 1) & (shortest > room)
        if not self.since:
            # Rows that nothing binds to a beginning begin earlier.
            earlier = np.where(lacks, np.minimum(drawn - fitting, np.floor((begin - least) / self.unit)), 0.0)
            begin, fitting, room = begin - earlier * self.unit, fitting + earlier, room + earlier
        shortest = np.where(lacks, fitting, np.minimum(shortest, longest))
        longest = np.where(lacks, fitting, longest)
        later = np.where(first, -1, codes - 1)
        found = summed_gaps(self.gaps, later, starts, (shortest, longest), room, rng) * self.unit
        found += np.repeat(begin, lengths)
        bounds = (np.repeat(one, lengths) for one in (least, np.maximum(most, least)))
        within: Numbers = np.clip(found, *bounds)
        return within


def _inside(edges: Numbers, codes: NDArray[np.integer], rng: np.random.Generator) -> Numbers:
    """Whole numbers from bins with these edges, beside the place of the lower one."""
    width = np.maximum(np.round(np.diff(edges))[codes], 1)
    inside: Numbers = edges[:-1][codes] + np.floor(rng.random(len(codes)) * width)
    return inside


def _fitting(
    drawn: Numbers, edges: Numbers, codes: NDArray[np.integer], room: Numbers, rng: np.random.Generator
) -> Numbers:
    """Whole numbers that have room; those that have not lie in the last bin that has, in the part of it.

    If they became what there is room for, many rows would lie on the last day.

    Args:
        drawn: from bins, shape (N,).
        edges: of the bins.
        codes: the bins, shape (N,).
        room: what the numbers shall not exceed, shape (N,).
        rng: draws numbers.
    """
    last = np.maximum(np.searchsorted(edges, room, "right") - 1, 0)
    lowest = edges[np.minimum(codes, last)]
    part = lowest + np.floor(rng.random(len(drawn)) * np.maximum(room - lowest + 1, 1))
    found: Numbers = np.where(drawn <= room, drawn, np.minimum(part, room))
    return found


def in_units(when: Attribute) -> Attribute:
    """The column of an order with a code for each unit, or for some of them where there are too many."""
    steps = Steps(when)
    units = steps.units
    low, high = units.ends
    most = int(high - low) + 1 if units.integer else _UNITS_OF_RANGE
    fine = replace(
        units, minimum=low, maximum=high, bins=min(most, _UNITS_OF_RANGE), edges=(), scale=Scale.LINEAR
    )
    return replace(when, units=fine) if isinstance(when, BinnedTimes) else fine


def place_names(order: str, child: str) -> tuple[str, str]:
    """The columns of a parent that say where its rows of a table are: the first one, and all together."""
    return f"first_{order}_of_{child}", f"span_of_{order}_of_{child}"


def orders(when: Attribute) -> bool:
    """Whether a column can say the order of rows: numbers, dates or timestamps, without texts among them.

    One that comes after another cannot: it holds how far.
    """
    if isinstance(when, TimeAttribute):
        return not isinstance(when, GapAttribute) and not isinstance(when.moments, Clock) and not when.texts
    return isinstance(when, NumericAttribute) and not when.texts


def check_order(when: Attribute) -> None:
    """Refuses a column that cannot say the order of rows.

    Raises:
        DataError: it holds something else than numbers, dates or timestamps.
    """
    if not orders(when):
        raise DataError(
            f"order {when.name!r}: expected a column of numbers, dates or timestamps alone, got another "
            "kind, one that comes after another, or texts among them; order by another column"
        )
