"""An experiment: its releases and measures, the paper's numbers, and differences from the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...common.errors import DataError
from .cell import Cell

Point = str | float


def at_epsilon(cell: Cell, value: Point) -> Cell:
    """The cell with another epsilon."""
    return replace(cell, epsilon=float(value))


def on_grid(cell: Cell, value: Point) -> Cell:
    """The cell with another grid."""
    return replace(cell, grid=str(value))


def with_workload(cell: Cell, value: Point) -> Cell:
    """The cell with all marginals of `value` attributes as workload."""
    return replace(cell, workload=f"{float(value):g}way")


def with_setting(name: str) -> Callable[[Cell, Point], Cell]:
    """A function that changes a parameter of the mechanism."""
    return lambda cell, value: replace(cell, settings=cell.setting(name, value))


@dataclass(frozen=True)
class Axis:
    """The quantity that varies from left to right.

    Attributes:
        label: label of the axis.
        points: values on the axis.
        at: changes a cell to one of the values.
    """

    label: str
    points: tuple[Point, ...]
    at: Callable[[Cell, Point], Cell]


@dataclass(frozen=True)
class Line:
    """One method: a line of every figure and a column of every table.

    Attributes:
        label: label of the line.
        changes: fields of `Cell` in which it differs from its panel.
        settings: parameters of its mechanism.
    """

    label: str
    changes: Mapping[str, Any]
    settings: Mapping[str, object] = field(default_factory=dict)

    def of(self, base: Cell) -> Cell:
        """The cell of this line in a panel."""
        settings = tuple(sorted((name, str(value)) for name, value in self.settings.items()))
        return replace(base, **self.changes, settings=settings or base.settings)


@dataclass(frozen=True)
class Panel:
    """One real table with its parties: one chart of the figure.

    Attributes:
        label: label of the panel.
        base: cell with the common fields of all its cells.
    """

    label: str
    base: Cell


@dataclass(frozen=True)
class Shown:
    """A measured value that is shown.

    Attributes:
        value: name of the value in a cell's result.
        label: label of the value.
        log: whether figures use a logarithmic scale.
    """

    value: str
    label: str
    log: bool = False


@dataclass(frozen=True)
class Reported:
    """Numbers that the paper reports.

    Attributes:
        label: "paper", or the method of the numbers.
        value: name of the shown value.
        numbers: numbers by panel and point.
        lines: labels of the lines to compare with these numbers.
    """

    label: str
    value: str
    numbers: Mapping[tuple[str, Point], float]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Quick:
    """The part that `--quick` runs: one seed, and the named panels, lines and points.

    Attributes:
        points: points of the axis.
        panels: labels of panels; all if empty.
        lines: labels of lines; all if empty.
    """

    points: tuple[Point, ...]
    panels: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes:
        name: name on the command line.
        title: title of the page.
        source: table or figure of the paper.
        axis: the quantity that varies.
        panels: real tables and their parties.
        lines: compared methods.
        shown: measured values; each reported number belongs to one of them.
        reported: the paper's numbers.
        quick: the part that `--quick` runs.
        notes: differences from the paper and their reasons, as sentences.
        seeds: default number of releases per cell.
    """

    name: str
    title: str
    source: str
    axis: Axis
    panels: tuple[Panel, ...]
    lines: tuple[Line, ...]
    shown: tuple[Shown, ...]
    quick: Quick
    notes: tuple[str, ...]
    reported: tuple[Reported, ...] = ()
    seeds: int = 1

    def __post_init__(self) -> None:
        for what, labels in (
            ("panels", [panel.label for panel in self.panels]),
            ("lines", [line.label for line in self.lines]),
            ("values", [shown.label for shown in self.shown]),
        ):
            if len(set(labels)) < len(labels):
                raise ValueError(f"{self.name}: two {what} share a label")
        known = {panel.label for panel in self.panels}
        lines = {line.label for line in self.lines}
        for reported in self.reported:
            if not set(reported.lines) <= lines:
                raise ValueError(f"{self.name}: {reported.label} is compared with an unknown line")
            for panel, point in reported.numbers:
                if panel not in known or point not in self.axis.points:
                    raise ValueError(f"{self.name}: a number is reported for {panel} at {point}")

        quick = self.quick
        if not (
            set(quick.points) <= set(self.axis.points)
            and set(quick.panels) <= known
            and set(quick.lines) <= lines
        ):
            raise ValueError(f"{self.name}: the quick run names an unknown panel, line or point")

    def cell(self, panel: Panel, line: Line, point: Point, seed: int) -> Cell:
        """One cell."""
        return replace(self.axis.at(line.of(panel.base), point), seed=seed)

    def cells(self, seeds: int) -> list[Cell]:
        """All cells, ordered by seed, so that a run that is stopped covers all cells."""
        if seeds < 1:
            raise DataError(f"seeds: expected at least 1, got {seeds}; ask for more")
        return [
            self.cell(panel, line, point, seed)
            for seed in range(1, seeds + 1)
            for panel in self.panels
            for point in self.axis.points
            for line in self.lines
        ]

    def for_quick_run(self) -> Experiment:
        """The experiment that `--quick` runs."""
        quick = self.quick
        panels = tuple(panel for panel in self.panels if not quick.panels or panel.label in quick.panels)
        kept = {panel.label for panel in panels}
        lines = tuple(line for line in self.lines if not quick.lines or line.label in quick.lines)
        names = {line.label for line in lines}
        return replace(
            self,
            axis=replace(self.axis, points=quick.points),
            quick=Quick(quick.points),
            seeds=1,
            panels=panels,
            lines=lines,
            reported=tuple(
                replace(
                    found,
                    numbers={
                        (panel, point): number
                        for (panel, point), number in found.numbers.items()
                        if panel in kept and point in quick.points
                    },
                    lines=tuple(label for label in found.lines if label in names),
                )
                for found in self.reported
            ),
        )
