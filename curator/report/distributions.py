"""Charts of single attributes: the synthetic distribution and, in an evaluation, the real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.boolean import BooleanAttribute
from ...common.data.attributes.categorical import CategoricalAttribute
from ...common.data.attributes.clock import Clock
from ...common.data.attributes.dates import DateAttribute, GapAttribute, bins_of
from ...common.data.attributes.numeric import NumericAttribute
from ...common.data.binning.scale import Scale
from ...common.data.table import Table
from .axis import Axis, number_ticks
from .time_ticks import time_ticks

COLUMNS_WIDTH, COLUMNS_HEIGHT = 320.0, 96.0
"""Size of a column chart, in drawing units."""

MOST_BARS = 9
_DRAWN_BARS = 64
_ROWED_NUMBERS = 4
"""Numbers of so few values, such as 0 and 1, have a row for each."""

_ROWED_CODES = 12

Shares = NDArray[np.float64]

Interval = tuple[float, float]
"""Two shares between which the real one lies, with a probability of 95 % for what noise may do to it."""

_DEVIATIONS = 1.96


@dataclass(frozen=True, eq=False)
class Measured:
    """Shares of the codes of an attribute as they were measured, without bias.

    Attributes:
        shares: shape (size,).
        deviation: standard deviation of the noise of each, and independent of that of others.
    """

    shares: Shares
    deviation: float

    def take(self, codes: Any) -> Measured:
        """Of some codes."""
        return Measured(self.shares[codes], self.deviation)

    def sums(self, starts: NDArray[np.intp]) -> list[Interval]:
        """The intervals of sums of neighbours."""
        sums = np.add.reduceat(self.shares, starts)
        apart = np.diff(np.append(starts, len(self.shares)))
        reach = _DEVIATIONS * self.deviation * np.sqrt(apart)
        ends = np.stack([np.clip(sums - reach, 0, 1), np.clip(sums + reach, 0, 1)], axis=1)
        return [(low, high) for low, high in ends.tolist()]

    @property
    def intervals(self) -> list[Interval]:
        """That of each code."""
        return self.sums(np.arange(len(self.shares)))


Ticks = Callable[[Axis], Sequence[tuple[float, str]]]
"""The numbers that are written at an axis, with their texts."""


@dataclass(frozen=True)
class Row:
    """One value of an attribute.

    Attributes:
        label: the value.
        synthetic: share of the synthetic records, in 0..1.
        real: share of the real records; None in a release.
        scale: factor by which the largest share fills the chart.
        interval: for the real share; None if nothing is known.
    """

    label: str
    synthetic: float
    real: float | None
    scale: float
    interval: Interval | None = None


@dataclass(frozen=True)
class Columns:
    """A column chart of numbers.

    Attributes:
        synthetic: x, y, width and height of each column; areas are as shares.
        real: the outline of the real distribution as an SVG path; None in a release.
        axis: where numbers are drawn.
        ticks: place from 0 to 1 and text of some numbers on the axis.
        real_heights: height of the real distribution in each column; empty in a release.
        whiskers: x, and y of the upper and of the lower end, of the interval of each column; perhaps none.
    """

    synthetic: tuple[tuple[float, float, float, float], ...]
    real: str | None
    axis: Axis
    ticks: tuple[tuple[float, str], ...]
    real_heights: tuple[float, ...] = ()
    whiskers: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class Distribution:
    """The chart of an attribute.

    Attributes:
        name: name of the attribute.
        kind: kind of its values, in words.
        rows: one row per value, or for the most frequent ones; of numbers only the atoms.
        columns: column chart of numbers without the atoms; None for other attributes.
        missing: shares of synthetic and real records without a value; None if values cannot be missing.
    """

    name: str
    kind: str
    rows: tuple[Row, ...]
    columns: Columns | None
    missing: tuple[float, float | None] | None


def distribution(
    name: str, synthetic: Table, real: Table | None, measured: Measured | None = None
) -> Distribution:
    """The chart of an attribute.

    Args:
        name: name of the attribute.
        synthetic: the synthetic table.
        real: the real table of the same domain, in an evaluation; the chart shows its shares.
        measured: the shares that were measured.
    """
    attribute = synthetic.domain[name]
    shares = [_shares(table, name) for table in (synthetic, real) if table is not None]
    numbers = bins_of(attribute)
    if numbers is not None:
        missing = None
        if numbers.nullable:
            lacking = [float(share[-1]) for share in shares]
            missing = lacking[0], (lacking[1] if real else None)
            shares = [share[:-1] for share in shares]
        lone, shown = numbers.alone, _number_format(attribute)
        lowest, highest = numbers.reach.T
        if len(lone) <= _ROWED_NUMBERS and np.array_equal(lowest, highest):
            names = [*map(shown, numbers.written(lowest)), *numbers.texts]
            rows = _rows(names, shares, _some(measured, np.arange(len(names))))
            return Distribution(name, _count_text("value", len(rows)), rows, None, missing)
        singles = np.array([*np.flatnonzero(lone), *numbers.text_codes], dtype=np.intp)
        others = np.flatnonzero(~lone)
        names = [*map(shown, numbers.atoms), *numbers.texts]
        atoms = _rows(names, [share[singles] for share in shares], _some(measured, singles))
        bins = numbers.written(numbers.cells[~lone])
        columns = None
        if len(bins):
            columns = _columns(
                [share[others] for share in shares],
                bins,
                numbers.scale,
                _ticks_of(attribute),
                _some(measured, others),
            )
        kind = _kind(attribute, numbers, len(bins)) + _axis_note(columns)
        return Distribution(name, kind, atoms, columns, missing)
    if isinstance(attribute, CategoricalAttribute) or attribute.size <= _ROWED_CODES:
        kind = _count_text("value", attribute.size)
        return Distribution(name, kind, _rows(_labels(attribute), shares, measured), None, None)
    codes = np.arange(attribute.size, dtype=np.float64)
    columns = _columns(shares, np.stack([codes, codes + 1], axis=1), Scale.LINEAR, number_ticks, measured)
    return Distribution(name, f"codes 0 to {attribute.size - 1}", (), columns, None)


def _number_format(attribute: Attribute) -> Callable[[float], str]:
    """How a number of an attribute is written in a chart: of dates the date."""
    if isinstance(attribute, DateAttribute):
        moments = attribute.moments
        return lambda unit: moments.bound_text(int(unit))
    return lambda number: f"{number:g}"


def _ticks_of(attribute: Attribute) -> Ticks:
    """What is written at the axis of an attribute: of dates round dates."""
    if isinstance(attribute, DateAttribute):
        moments = attribute.moments
        return lambda axis: time_ticks(moments, axis.low, axis.high)
    return number_ticks


def _kind(attribute: Attribute, numbers: NumericAttribute, bins: int) -> str:
    if isinstance(attribute, DateAttribute):
        timed = "times of day" if isinstance(attribute.moments, Clock) else "timestamps"
        what = timed if attribute.moments.timed else "dates"
    elif isinstance(attribute, GapAttribute):
        what = f"{attribute.unit_name} after {attribute.other}"
    else:
        what = "numbers"
    atoms = f", {len(numbers.atoms)} by themselves" if numbers.atoms else ""
    return f"{what} in {_count_text('bin', bins)}{atoms}"


def _axis_note(columns: Columns | None) -> str:
    """What readers have to know of the axis."""
    return "" if columns is None or columns.axis.scale is Scale.LINEAR else ", on a logarithmic axis"


def _count_text(what: str, number: int) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _shares(table: Table, name: str) -> Shares:
    shares: Shares = table.marginal((name,)) / max(1, table.record_count)
    return shares


def _labels(attribute: Attribute) -> list[str]:
    if isinstance(attribute, CategoricalAttribute):
        return ["(missing)" if value == "" else str(value) for value in attribute.categories]
    if isinstance(attribute, BooleanAttribute):
        return ["false", "true", "(missing)"][: attribute.size]
    return [str(code) for code in range(attribute.size)]


def _some(measured: Measured | None, codes: NDArray[np.intp]) -> Measured | None:
    return None if measured is None else measured.take(codes)


def _rows(labels: Sequence[str], shares: Sequence[Shares], measured: Measured | None) -> tuple[Row, ...]:
    """All values in order, or the most frequent synthetic values and one row for all others."""
    kept = np.arange(len(labels))
    if len(labels) > MOST_BARS + 1:
        kept = np.argsort(-shares[0], kind="stable")[:MOST_BARS]
    named = [labels[place] for place in kept.tolist()]
    intervals: list[Interval | None] = [None] * (len(named) + 1)
    if measured is not None and len(labels):
        intervals = [*measured.take(kept).intervals, None]
    found = [share[kept].tolist() for share in shares]
    if len(kept) < len(labels):
        named.append(f"{len(labels) - len(kept)} others")
        found = [[*some, float(share.sum()) - sum(some)] for some, share in zip(found, shares, strict=True)]
    scale = 1 / max(1e-12, *(max(some, default=0.0) for some in found))
    real = found[1] if len(found) > 1 else [None] * len(named)
    return tuple(
        Row(label, synthetic, other, scale, interval)
        for label, synthetic, other, interval in zip(named, found[0], real, intervals, strict=False)
    )


def _columns(
    shares: Sequence[Shares], edges: Shares, scale: Scale, ticks: Ticks, measured: Measured | None
) -> Columns:
    """Columns as wide as their bins and of areas as the shares; bins that are too thin to see are merged.

    Args:
        shares: synthetic and perhaps real share of each bin.
        edges: lower and upper bound of each bin, shape (bins, 2).
        scale: of the domain.
        ticks: the numbers at an axis and their texts.
        measured: the shares that were measured.
    """
    axis = Axis.of(edges, shares[0], scale)
    starts = _starts(axis.place(edges))
    ends = np.append(starts[1:], len(edges)) - 1
    left, right = axis.place(edges[starts, 0]), axis.place(edges[ends, 1])
    wide = np.maximum(right - left, 1e-9)
    dense = [np.add.reduceat(share, starts) / wide for share in shares]
    height = COLUMNS_HEIGHT / max(1e-12, *(float(one.max()) for one in dense))
    columns = tuple(
        (x * COLUMNS_WIDTH, COLUMNS_HEIGHT - share * height, width * COLUMNS_WIDTH, share * height)
        for x, width, share in zip(left.tolist(), wide.tolist(), dense[0].tolist(), strict=True)
    )
    outline = None
    if len(dense) > 1:
        tops = (COLUMNS_HEIGHT - dense[1] * height).tolist()
        steps = [
            f"L{x * COLUMNS_WIDTH:.2f} {top:.2f}H{end * COLUMNS_WIDTH:.2f}"
            for x, end, top in zip(left.tolist(), right.tolist(), tops, strict=True)
        ]
        outline = f"M0 {COLUMNS_HEIGHT:.2f}" + "".join(steps) + f"V{COLUMNS_HEIGHT:.2f}"
    whiskers: tuple[tuple[float, float, float], ...] = ()
    if measured is not None:
        middles, widths = ((left + right) / 2 * COLUMNS_WIDTH).tolist(), wide.tolist()
        reaches = zip(middles, widths, measured.sums(starts), strict=True)
        tops = [(x, high / width * height, low / width * height) for x, width, (low, high) in reaches]
        # A whisker may be longer than the chart is high.
        whiskers = tuple(
            (x, max(0.0, COLUMNS_HEIGHT - up), max(0.0, COLUMNS_HEIGHT - low)) for x, up, low in tops
        )
    shown = tuple((float(axis.place(np.array(number))), text) for number, text in ticks(axis))
    heights = tuple((dense[1] * height).tolist()) if len(dense) > 1 else ()
    return Columns(columns, outline, axis, shown, heights, whiskers)


def _starts(places: Shares) -> NDArray[np.intp]:
    """The first of the bins of each column, from their bounds on the axis."""
    found, begun = [0], float(places[0, 0])
    for place, start in enumerate(places[:, 0].tolist()):
        if start - begun >= 1 / _DRAWN_BARS - 1e-9 and 1 - start >= 1 / (2 * _DRAWN_BARS):
            found.append(place)
            begun = start
    return np.array(found, dtype=np.intp)
