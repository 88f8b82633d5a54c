"""The figure of seconds by records in docs, from the figures that `scale.py --record` recorded.

Each line is one role of one grid, on logarithmic axes, with its slope between its last two points.

Run: python benchmarks/scale_figure.py [scale.csv] [--out docs/scale.svg]
"""

from __future__ import annotations

import argparse
import csv
import math
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
Points = dict[str, list[tuple[int, float]]]


def recorded(path: Path) -> Points:
    """Records and seconds of each grid, engine and role, by increasing records."""
    found: Points = {}
    for row in csv.DictReader(path.read_text().splitlines()):
        points = found.setdefault(f"{row['grid']}, {row['engine']}, {row['role']}", [])
        points.append((int(row["records"]), float(row["cpu_s"])))
    return {name: sorted(points) for name, points in found.items() if len(points) > 1}


def slope(points: list[tuple[int, float]]) -> float:
    """Slope of the last two points on logarithmic axes."""
    (before, less), (after, more) = points[-2:]
    return math.log(more / less) / math.log(after / before)


def main() -> None:
    """Draws the figure and prints the slopes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("recorded", type=Path, nargs="?", default=HERE / "scale.csv")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "scale.svg")
    asked = parser.parse_args()
    # The same bytes for the same figures.
    matplotlib.rcParams["svg.hashsalt"] = "scale"
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, points in recorded(asked.recorded).items():
        label = f"{name} (slope {slope(points):.2f})"
        axes.loglog(*zip(*points, strict=True), marker="o", label=label)
        print(label)
    axes.set(xlabel="records", ylabel="seconds of processors")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(asked.out, metadata={"Date": None})


if __name__ == "__main__":
    main()
