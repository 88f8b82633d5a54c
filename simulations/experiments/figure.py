"""The figure of an experiment: one small chart for each panel and each shown value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .experiment import Panel, Point, Shown
from .results import Results, text

FIGURE_WIDTH, FIGURE_HEIGHT = 340.0, 230.0
"""Size of a chart in drawing units: the width of a phone, where text then keeps its size."""

LEFT, RIGHT, TOP, BOTTOM = 46.0, 8.0, 26.0, 40.0
COLOURS = 8
"""Number of colours and marks; further curves reuse them."""

MARKS = (
    "M-3 0A3 3 0 1 0 3 0A3 3 0 1 0 -3 0",
    "M-2.7 -2.7H2.7V2.7H-2.7Z",
    "M0 -4L4 0L0 4L-4 0Z",
    "M0 -3.6L3.4 2.6H-3.4Z",
    "M0 3.6L3.4 -2.6H-3.4Z",
    "M-3 -3L3 3M-3 3L3 -3",
    "M-3.6 0H3.6M0 -3.6V3.6",
    "M-4 -2H4V2H-4Z",
)
_STEPS = (1, 2, 5)


@dataclass(frozen=True)
class Tick:
    """A number beside an axis.

    Attributes:
        text: the number.
        place: position in drawing units.
    """

    text: str
    place: float


@dataclass(frozen=True)
class Curve:
    """The numbers of one line or of the paper.

    Attributes:
        label: label of the curve.
        reported: whether the numbers are the paper's.
        colour: index of the colour, below `COLOURS`.
        places: x and y of each number.
        bars: x, upper and lower y of one standard deviation in each direction.
    """

    label: str
    reported: bool
    colour: int
    places: tuple[tuple[float, float], ...]
    bars: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Chart:
    """The chart of one panel and one value.

    Attributes:
        title: label of the panel.
        across: label of the horizontal axis.
        up: label of the vertical axis.
        x_ticks: ticks of the horizontal axis.
        y_ticks: ticks of the vertical axis.
        curves: curves, the paper's first.
    """

    title: str
    across: str
    up: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curves: tuple[Curve, ...]


def charts(results: Results) -> list[Chart]:
    """The charts, value by value; points of the axis are evenly spaced."""
    experiment = results.experiment
    return [_chart(results, panel, shown) for shown in experiment.shown for panel in experiment.panels]


def curve_key(results: Results) -> list[Curve]:
    """The legend: labels and colours of the curves of all charts."""
    experiment = results.experiment
    reported = dict.fromkeys(found.label for found in experiment.reported)
    lines = [line.label for line in experiment.lines]
    return [
        *(Curve(label, True, number % COLOURS, (), ()) for number, label in enumerate(reported)),
        *(Curve(label, False, number % COLOURS, (), ()) for number, label in enumerate(lines)),
    ]


def _chart(results: Results, panel: Panel, shown: Shown) -> Chart:
    points = results.experiment.axis.points
    drawn: list[tuple[Curve, list[tuple[int, float, float]]]] = []
    for look in curve_key(results):
        found: list[tuple[int, float, float]] = []
        for number, point in enumerate(points):
            value = _value(results, look, panel, shown, point)
            if value is not None:
                found.append((number, *value))
        drawn.append((look, found))
    values = [value for _, found in drawn for _, value, _ in found]
    log = shown.log and bool(values) and min(values) > 0
    scale = _Scale.over(values, log)
    curves = []
    for look, found in drawn:
        if found:
            places = tuple((_x(number, len(points)), scale.y(value)) for number, value, _ in found)
            bars = tuple(
                (_x(number, len(points)), scale.y(value + off), scale.y(value - off))
                for number, value, off in found
                if off
            )
            curves.append(Curve(look.label, look.reported, look.colour, places, bars))
    x_ticks = tuple(Tick(text(point), _x(number, len(points))) for number, point in enumerate(points))
    y_ticks = tuple(Tick(f"{value:g}", scale.y(value)) for value in scale.ticks())
    return Chart(panel.label, results.experiment.axis.label, shown.label, x_ticks, y_ticks, tuple(curves))


def _value(
    results: Results, look: Curve, panel: Panel, shown: Shown, point: Point
) -> tuple[float, float] | None:
    """A number and its standard deviation over seeds; None if there is no number."""
    if look.reported:
        number = results.paper_number(look.label, panel, shown, point)
        return None if number is None else (number, 0.0)
    line = next(line for line in results.experiment.lines if line.label == look.label)
    mean = results.mean(panel, line, point, shown.value)
    return None if mean is None else (mean.value, mean.deviation or 0.0)


def _x(number: int, count: int) -> float:
    """The x coordinate of a point of the axis."""
    return LEFT + (FIGURE_WIDTH - LEFT - RIGHT) * (number + 0.5) / count


@dataclass(frozen=True)
class _Scale:
    """A vertical scale.

    Attributes:
        low: number at the lower end.
        high: number at the upper end.
        log: whether the scale is logarithmic.
    """

    low: float
    high: float
    log: bool

    @classmethod
    def over(cls, values: Sequence[float], log: bool) -> _Scale:
        """A scale that covers all values with a margin."""
        if not values:
            return cls(0.0, 1.0, False)
        low, high = min(values), max(values)
        if log:
            return cls(low / 1.3, high * 1.3, True)
        # Zero is included, since differences are read relative to it.
        low, high = min(low, 0.0), max(high, 0.0)
        room = 0.08 * (high - low) or 1.0
        return cls(low - room * (low < 0), high + room, False)

    def y(self, value: float) -> float:
        """The y coordinate of a number, clipped to the scale."""
        value = min(max(value, self.low), self.high)
        ends = (self.low, value, self.high)
        low, at, high = map(math.log, ends) if self.log else ends
        return TOP + (FIGURE_HEIGHT - TOP - BOTTOM) * (high - at) / (high - low)

    def ticks(self) -> list[float]:
        """Round numbers on the scale, at most seven."""
        if self.log:
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for steps in (_STEPS, (1, 3), (1,)):
                found = [step * 10.0**decade for decade in decades for step in steps]
                inside = [value for value in found if self.low <= value <= self.high]
                if len(inside) <= 7:
                    return inside
            return inside[:: math.ceil(len(inside) / 7)]
        rough = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(step * power for step in (*_STEPS, 10) if step * power >= rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [round(number * step, 12) for number in range(first, last + 1)]
