"""The results of an experiment as tables: means over seeds, with the paper's numbers."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from .cell import Cell
from .experiment import Experiment, Line, Panel, Point, Shown
from .store import Failure, Result

_MISSING = "–"


@dataclass(frozen=True)
class Mean:
    """The mean of a value over the available seeds.

    Attributes:
        value: the mean.
        deviation: the standard deviation; None for a single seed.
        seeds: number of seeds.
    """

    value: float
    deviation: float | None
    seeds: int


@dataclass(frozen=True)
class Ratio:
    """Ratios of our numbers to the paper's.

    Attributes:
        line: label of our line.
        reported: label of the paper's numbers.
        least: the smallest ratio.
        middle: the median ratio.
        most: the largest ratio.
        numbers: number of ratios.
    """

    line: str
    reported: str
    least: float
    middle: float
    most: float
    numbers: int


@dataclass(frozen=True)
class Results:
    """The available results of an experiment.

    Attributes:
        experiment: the experiment.
        seeds: requested seeds per cell.
        found: results by cell.
    """

    experiment: Experiment
    seeds: int
    found: Mapping[Cell, Result]

    def mean(self, panel: Panel, line: Line, point: Point, value: str) -> Mean | None:
        """The mean of a value; None if no seed has it."""
        values = [
            result.values[value]
            for result in self._of(panel, line, point)
            if result.failure is None and value in result.values
        ]
        if not values:
            return None
        mean = sum(values) / len(values)
        spread = sum((each - mean) ** 2 for each in values)
        deviation = math.sqrt(spread / (len(values) - 1)) if len(values) > 1 else None
        return Mean(mean, deviation, len(values))

    def paper_number(self, label: str, panel: Panel, shown: Shown, point: Point) -> float | None:
        """A number of the paper; None if it reports none."""
        for found in self.experiment.reported:
            if found.label == label and found.value == shown.value:
                return found.numbers.get((panel.label, point))
        return None

    def ratios(self) -> list[Ratio]:
        """Ratios of our numbers to the paper's, over all panels and points with both."""
        ratios = []
        for found in self.experiment.reported:
            for line in self.experiment.lines:
                if line.label in found.lines:
                    ours = [
                        (mean.value, number)
                        for panel in self.experiment.panels
                        for point in self.experiment.axis.points
                        if (number := found.numbers.get((panel.label, point)))
                        and (mean := self.mean(panel, line, point, found.value))
                    ]
                    if ours:
                        of = sorted(value / number for value, number in ours)
                        ratios.append(Ratio(line.label, found.label, of[0], median(of), of[-1], len(of)))
        return ratios

    def failure(self, panel: Panel, line: Line, point: Point) -> Failure | None:
        """The failure of the first failed seed; None if no seed failed."""
        failures = (result.failure for result in self._of(panel, line, point))
        return next((failure for failure in failures if failure is not None), None)

    def gaps(self) -> dict[tuple[str, str, Failure | None], list[str]]:
        """Points without results, by (panel, line, failure); the failure is None if the point was not run."""
        gaps: dict[tuple[str, str, Failure | None], list[str]] = {}
        for panel, line, point in self._places():
            if len([r for r in self._of(panel, line, point) if r.failure is None]) < self.seeds:
                key = (panel.label, line.label, self.failure(panel, line, point))
                gaps.setdefault(key, []).append(text(point))
        return gaps

    def write_csv(self, path: Path) -> None:
        """Writes one row per number: ours by seed, and the paper's."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["panel", "line", self.experiment.axis.label, "seed", "value", "number"])
            for panel, line, point in self._places():
                for result in self._of(panel, line, point):
                    for name, number in result.values.items():
                        writer.writerow(
                            [panel.label, line.label, text(point), result.cell.seed, name, number]
                        )
            for reported in self.experiment.reported:
                for (label, point), number in reported.numbers.items():
                    writer.writerow([label, reported.label, text(point), "", reported.value, number])

    def rows(self, panel: Panel, shown: Shown) -> list[tuple[str, list[str]]]:
        """The rows of a table: for each point the paper's numbers, then those of each line."""
        reported = [found for found in self.experiment.reported if found.value == shown.value]
        rows = []
        for point in self.experiment.axis.points:
            numbers = (found.numbers.get((panel.label, point)) for found in reported)
            cells = [_MISSING if number is None else f"{number:.4f}" for number in numbers]
            cells += [_text(self.mean(panel, line, point, shown.value)) for line in self.experiment.lines]
            rows.append((text(point), cells))
        return rows

    def headings(self, shown: Shown) -> list[str]:
        """The headings of the columns of `rows` after the first."""
        reported = [found.label for found in self.experiment.reported if found.value == shown.value]
        return [*reported, *(line.label for line in self.experiment.lines)]

    def _places(self) -> Iterator[tuple[Panel, Line, Point]]:
        for panel in self.experiment.panels:
            for line in self.experiment.lines:
                for point in self.experiment.axis.points:
                    yield panel, line, point

    def _of(self, panel: Panel, line: Line, point: Point) -> list[Result]:
        cells = (self.experiment.cell(panel, line, point, seed) for seed in range(1, self.seeds + 1))
        return [self.found[cell] for cell in cells if cell in self.found]


def text(point: Point) -> str:
    """A point of an axis as text."""
    return point if isinstance(point, str) else f"{point:g}"


def _text(mean: Mean | None) -> str:
    if mean is None:
        return _MISSING
    number = f"{mean.value:,.0f}" if abs(mean.value) >= 1000 else f"{mean.value:.4f}"
    if 0 < abs(mean.value) < 0.001:
        number = f"{mean.value:.2e}"
    return number if mean.deviation is None else f"{number} ± {mean.deviation:.1g}"
