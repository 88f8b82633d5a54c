"""Every mechanism of the catalogue on given tables: errors and seconds, as CSV and a figure.

One cell is one release: a mechanism, a table, an epsilon and a seed. Cells in the CSV file are not run again,
so that a stopped run resumes. Reference: `independent`, only one-way marginals; each line ends with the ratio
of the error of pairs to that of the reference for the same table, epsilon and seed.

Run: python benchmarks/mechanisms.py FOLDER... [--epsilon 0.1 1 10] [--mechanism NAME...] [--protocol trusted]
    [--grid 1x1] [--seeds 1] [--out mechanisms.csv] [--figure mechanisms.png]

A FOLDER holds NAME.csv.gz (or .csv, .parquet) and domain.json, NAME being the folder's.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

import dpmosaic
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import MosaicError
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE

DELTA = 1e-9
KEY = ("table", "protocol", "grid", "epsilon", "seed", "mechanism")
VALUES = ("tv_1way", "tv_2way", "tv_3way", "workload_error", "rounds", "model_mb", "seconds", "refused")
REFERENCE = "independent"


def main() -> None:
    """Runs the missing cells, prints all cells and draws the figure."""
    asked = _arguments()
    cells = _held(asked.out)
    names = list(dict.fromkeys([REFERENCE, *asked.mechanism]))
    with asked.out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*KEY, *VALUES])
        if not cells:
            writer.writeheader()
        for folder in asked.folders:
            table: Table | None = None
            for epsilon in asked.epsilon:
                for seed in range(1, asked.seeds + 1):
                    for name in names:
                        key = (folder.name, asked.protocol, asked.grid, f"{epsilon:g}", str(seed), name)
                        if key not in cells:
                            table = table or load(folder)
                            cells[key] = released(table, asked.protocol, asked.grid, epsilon, seed, name)
                            writer.writerow(dict(zip(KEY, key, strict=True)) | cells[key])
                            file.flush()
                        show(key, cells)
    if asked.figure:
        draw(cells, asked.figure)


def load(folder: Path) -> Table:
    domain = dpmosaic.Domain.load(folder / "domain.json")
    paths = [folder / (folder.name + ending) for ending in (".csv.gz", ".csv", ".parquet")]
    return dpmosaic.read_table(next(path for path in paths if path.exists()), domain)


def released(table: Table, protocol: str, grid: str, epsilon: float, seed: int, name: str) -> dict[str, str]:
    """The values of one cell, or its refusal."""
    budget = dpmosaic.Budget(epsilon=epsilon, delta=DELTA)
    try:
        result = dpmosaic.simulate(
            table, epsilon=budget, protocol=protocol, grid=grid, mechanism=name, seed=seed
        )
    except MosaicError as error:
        return dict.fromkeys(VALUES, "") | {"refused": str(error)}
    errors = {f"tv_{error['k']}way": f"{error['total_variation']:.6f}" for error in result.metrics["kway"]}
    return dict.fromkeys(VALUES, "") | {
        **errors,
        "workload_error": f"{result.metrics['workload_error']:.6f}",
        "rounds": str(len(result.fitted.rounds)),
        "model_mb": f"{result.fitted.model.size_mb:.2f}",
        "seconds": f"{result.metrics['seconds']:.1f}",
    }


def show(key: tuple[str, ...], cells: dict[tuple[str, ...], dict[str, str]]) -> None:
    """Prints one cell."""
    found, floor = cells[key], cells.get((*key[:-1], REFERENCE))
    if found["refused"]:
        print(f"{key[0]:>12} {key[3]:>5} {key[5]:>12} refused: {found['refused']}", flush=True)
        return
    ratio = float(found["tv_2way"]) / float(floor["tv_2way"]) if floor else float("nan")
    print(
        f"{key[0]:>12} epsilon {key[3]:>4} {key[5]:>12}  1-way {found['tv_1way']}  2-way {found['tv_2way']}  "
        f"3-way {found['tv_3way']:>8}  {found['seconds']:>6} s  {ratio:5.2f} of {REFERENCE}",
        flush=True,
    )


def draw(cells: dict[tuple[str, ...], dict[str, str]], path: Path) -> None:
    """Draws errors of pairs above, seconds below, one column for each table; means over seeds."""
    tables = list(dict.fromkeys(key[0] for key in cells))
    names = list(dict.fromkeys(key[5] for key in cells))
    figure, axes = plt.subplots(2, len(tables), figsize=(3.4 * len(tables), 6), squeeze=False, sharex=True)
    for column, table in enumerate(tables):
        for row, (value, title) in enumerate([("tv_2way", "error of pairs"), ("seconds", "seconds")]):
            for name in names:
                points: dict[float, list[float]] = {}
                for key, found in cells.items():
                    if (key[0], key[5]) == (table, name) and not found["refused"]:
                        points.setdefault(float(key[3]), []).append(float(found[value]))
                epsilons = sorted(points)
                means = [sum(points[epsilon]) / len(points[epsilon]) for epsilon in epsilons]
                axes[row, column].plot(epsilons, means, marker="o", label=name)
            axes[row, column].set(xscale="log", yscale="log", title=table if row == 0 else "")
            axes[row, column].set_xlabel("epsilon" if row else "")
            axes[row, column].set_ylabel("" if column else title)
    axes[0, 0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def _held(path: Path) -> dict[tuple[str, ...], dict[str, str]]:
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {tuple(row[name] for name in KEY): {name: row[name] for name in VALUES} for row in rows}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare mechanisms.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--epsilon", nargs="+", type=float, default=[0.1, 1.0, 10.0])
    parser.add_argument("--mechanism", nargs="+", choices=list(CATALOGUE), default=list(CATALOGUE))
    parser.add_argument("--protocol", default="trusted")
    parser.add_argument("--grid", default="1x1")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("mechanisms.csv"))
    parser.add_argument("--figure", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
