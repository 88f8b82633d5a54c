"""An experiment: what is released and measured, what the paper reports, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...common.errors import DataError
from .cell import Cell

Point = str | float


def at_epsilon(cell: Cell, value: Point) -> Cell:
    """The cell at another epsilon."""
    return replace(cell, epsilon=float(value))


def on_grid(cell: Cell, value: Point) -> Cell:
    """The cell on another grid."""
    return replace(cell, grid=str(value))


def with_workload(cell: Cell, value: Point) -> Cell:
    """The cell with all marginals of so many attributes as workload."""
    return replace(cell, workload=f"{float(value):g}way")


def with_setting(name: str) -> Callable[[Cell, Point], Cell]:
    """Changes a parameter of the mechanism."""
    return lambda cell, value: replace(cell, settings=cell.setting(name, value))


@dataclass(frozen=True)
class Axis:
    """What varies from left to right.

    Attributes:
        label: what it is.
        points: its values.
        at: a cell at one of them.
    """

    label: str
    points: tuple[Point, ...]
    at: Callable[[Cell, Point], Cell]


@dataclass(frozen=True)
class Line:
    """One way to release, which is a line of every figure and a column of every table.

    Attributes:
        label: what it is.
        changes: fields of `Cell` by which it differs from its panel.
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
    """One table of data with its parties, which is one axis system of the figure.

    Attributes:
        label: what it is.
        base: what all its cells have in common.
    """

    label: str
    base: Cell


@dataclass(frozen=True)
class Shown:
    """A value that is shown.

    Attributes:
        value: its name among those of a cell.
        label: what it is.
        log: whether figures show it on a logarithmic scale.
    """

    value: str
    label: str
    log: bool = False


@dataclass(frozen=True)
class Reported:
    """Numbers that the paper prints.

    Attributes:
        label: "paper", or whose numbers they are.
        value: which of the shown values.
        numbers: by panel and point.
        lines: labels of the lines whose numbers should be these.
    """

    label: str
    value: str
    numbers: Mapping[tuple[str, Point], float]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Quick:
    """What `--quick` leaves: one seed, and of panels, lines and points those that are named.

    Attributes:
        points: of the axis.
        panels: labels; all where empty.
        lines: labels; all where empty.
    """

    points: tuple[Point, ...]
    panels: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper.

    Attributes:
        name: on the command line.
        title: what it shows.
        source: the paper's table or figure.
        axis: what varies.
        panels: on which tables and parties.
        lines: how is released.
        shown: what is measured; reported numbers belong to one of these each.
        reported: the paper's numbers.
        quick: what `--quick` leaves.
        notes: what differs from the paper and why, as sentences.
        seeds: how often each cell is released unless the user says otherwise.
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
                raise ValueError(f"{self.name}: {reported.label} is compared with a line that is not there")
            for panel, point in reported.numbers:
                if panel not in known or point not in self.axis.points:
                    raise ValueError(f"{self.name}: a number is reported for {panel} at {point}")

        quick = self.quick
        if not (
            set(quick.points) <= set(self.axis.points)
            and set(quick.panels) <= known
            and set(quick.lines) <= lines
        ):
            raise ValueError(f"{self.name}: a quick run of what is not there")

    def cell(self, panel: Panel, line: Line, point: Point, seed: int) -> Cell:
        """One cell."""
        return replace(self.axis.at(line.of(panel.base), point), seed=seed)

    def cells(self, seeds: int) -> list[Cell]:
        """All cells, the first seed of each first, so that a run that is stopped has something of all."""
        if seeds < 1:
            raise DataError(f"seeds: expected at least 1, got {seeds}")
        return [
            self.cell(panel, line, point, seed)
            for seed in range(1, seeds + 1)
            for panel in self.panels
            for point in self.axis.points
            for line in self.lines
        ]

    def reduced(self) -> Experiment:
        """What `--quick` runs."""
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
