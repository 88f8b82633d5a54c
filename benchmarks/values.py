"""Numbers as they come back: a described domain against uniform bins and uniform draws, in the same run.

For each table two releases of the same budget and seed. "described" has the domain file in
benchmarks/domains: atoms, scales, rounding, rules. "uniform" has the table's own domain.json: bins of equal
width, and values that are uniform in their bin. Values outside the bounds are treated by the described domain
in both.

For each column of numbers: Kolmogorov distance, error of the share of zeros, and relative error of the mean.
Then the distance of pairs on the bins of domain.json, and the shares of rows in impossible combinations. Each
line has the mean over seeds of "described" and of "uniform", their ratio, and the largest of "described".

Run: python benchmarks/values.py FOLDER... [--epsilon 1] [--seeds 1] [--grid 1x1] [--protocol trusted]

A FOLDER is called adult, titanic, loans or big5, and holds NAME.csv.gz and domain.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import dpmosaic
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.rules.breaking import broken
from dpmosaic.common.data.table import Table, decode_table, encode_table
from dpmosaic.party.sources.source import open_source
from dpmosaic.simulations.evaluation.distances import pair_distances
from dpmosaic.simulations.evaluation.values.number_distances import number_distances
from dpmosaic.simulations.evaluation.values.values import Values

DELTA = 1e-9
DOMAINS = Path(__file__).parent / "domains"
WAYS = ("described", "uniform")

Columns = Mapping[str, Any]


def main() -> None:
    """Prints the figures of each table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--grid", default="1x1")
    parser.add_argument("--protocol", default="trusted")
    asked = parser.parse_args()
    for folder in asked.folders:
        print(f"{folder.name}: epsilon {asked.epsilon:g}, {asked.protocol}, {asked.grid}", flush=True)
        compare(folder, asked)


def compare(folder: Path, asked: argparse.Namespace) -> None:
    """Prints a line for each figure: its mean over seeds, both ways, and the largest of "described"."""
    domains = {
        "described": Domain.load(DOMAINS / f"{folder.name}.json"),
        "uniform": Domain.load(folder / "domain.json"),
    }
    source = open_source(folder / f"{folder.name}.csv.gz")
    described = domains["described"]
    raw = dict(zip(described, source.cells(described), strict=True))
    real = {way: encode_table(domain, raw) for way, domain in domains.items()}
    truth = Values.of(described, raw.values())
    found: dict[str, dict[str, list[float]]] = {}
    for seed in range(1, asked.seeds + 1):
        for way in WAYS:
            made = released(real[way], asked, seed)
            columns = drawn(made, described, way, np.random.default_rng(seed))
            synthetic = Values.of(described, [columns[name] for name in described])
            figures = {
                **of_numbers(truth, synthetic),
                "pairs on uniform bins": on_uniform_bins(columns, real["uniform"]),
                **impossible(folder.name, described, columns),
            }
            for name, figure in figures.items():
                found.setdefault(name, {}).setdefault(way, []).append(figure)
    show(found, impossible(folder.name, described, raw))


def released(table: Table, asked: argparse.Namespace, seed: int) -> Table:
    """The synthetic rows of a release."""
    granted = dpmosaic.Budget(epsilon=asked.epsilon, delta=DELTA).granted(gaussian_only=True)
    # In rho, because the independent check of epsilon takes longer than the release.
    promise = dpmosaic.Budget(zcdp_rho=float(granted))
    made = dpmosaic.simulate(table, epsilon=promise, protocol=asked.protocol, grid=asked.grid, seed=seed)
    return made.rows


def drawn(table: Table, described: Domain, way: str, rng: np.random.Generator) -> Columns:
    """Raw columns of synthetic rows; numbers of "uniform" are uniform in their bin."""
    columns = decode_table(table, rng)
    if way == "uniform":
        for attribute in table.domain.attributes:
            if isinstance(attribute, NumericAttribute):
                numbers = uniform(attribute, table.column(attribute.name), rng)
                whole = getattr(described[attribute.name], "integer", False)
                columns[attribute.name] = np.floor(numbers) if whole else numbers
    return columns


def uniform(attribute: NumericAttribute, codes: Any, rng: np.random.Generator) -> Any:
    low, high = np.vstack([attribute.cells, [[np.nan, np.nan]]])[codes].T
    return low + rng.random(len(codes)) * (high - low)


def of_numbers(real: Values, synthetic: Values) -> dict[str, float]:
    figures = {}
    for distance in number_distances(real, synthetic):
        zeros = distance.atoms["0"]
        figures[f"{distance.name}: Kolmogorov"] = distance.kolmogorov
        figures[f"{distance.name}: share of zeros"] = abs(zeros[0] - zeros[1])
        figures[f"{distance.name}: mean"] = distance.mean_error or 0.0
    return figures


def on_uniform_bins(columns: Columns, real: Table) -> float:
    """The mean total variation distance of pairs; a number that may not be missing is then the largest."""
    coded = {
        attribute.name: np.nan_to_num(
            np.array(columns[attribute.name], dtype=float), nan=attribute.maximum or 0.0
        )
        if isinstance(attribute, NumericAttribute) and not attribute.nullable
        else columns[attribute.name]
        for attribute in real.domain.attributes
    }
    distances = pair_distances(real, encode_table(real.domain, coded))
    return float(np.mean([distance.total_variation for distance in distances]))


def both_capital(columns: Columns) -> Any:
    gain, loss = (np.array(columns[f"capital-{kind}"], dtype=float) for kind in ("gain", "loss"))
    return (gain > 0) & (loss > 0)


def impossible(name: str, domain: Domain, columns: Columns) -> dict[str, float]:
    """Shares of rows that no real row, or hardly any, is like."""
    figures = {}
    if name == "adult":
        figures["rows with gain and loss"] = float(both_capital(columns).mean())
    for rule, rows in zip(domain.rules, broken(domain, columns), strict=True):
        figures[f"break {', '.join(rule.columns)}"] = float(rows.mean())
    return figures


def show(found: Mapping[str, Mapping[str, list[float]]], real: Mapping[str, float]) -> None:
    for name, ways in found.items():
        means = [float(np.mean(ways[way])) for way in WAYS]
        ratio = means[0] / means[1] if means[1] else float("nan")
        line = f"  {name:36} {means[0]:9.5f} {means[1]:11.5f}  {ratio:7.3f}"
        line += f"  largest {max(ways['described']):.5f}"
        print(line + (f"  real {real[name]:.5f}" if name in real else ""), flush=True)


if __name__ == "__main__":
    main()
