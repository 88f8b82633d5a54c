"""What it costs that parties hold overlapping people in orders of their own: errors over aligned rows.

Each party of a slice holds some of its people, in an order of its own and with typos in their identifiers.
Reference: a trusted central place that has the same rows joined by the same identifiers, in the same run.
Each line has the mean total variation distance of the pairs of attributes from the joined table, and its
ratio to the reference:

- trusted: the reference;
- masked: parties that hold the joined rows in one order: what masks and tolerated collusions cost;
- everywhere: aligned parties, and the people who are at all parties of their slice;
- anywhere, dropped: aligned parties, and the people of any party; synthetic rows with an absent value are
  dropped.

Run: python benchmarks/aligned.py FOLDER [--grid 2x2] [--overlap 0.8] [--typos 0.02] [--epsilon 1]
    [--collusions 1] [--seeds 3]

The FOLDER holds NAME.csv.gz (or .csv, .parquet) and domain.json, NAME being the folder's.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from mechanisms import DELTA, load

import dpmosaic
from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.table import Table
from dpmosaic.common.protocols.aligned import Population
from dpmosaic.simulations.evaluation.metrics import kway_errors
from dpmosaic.simulations.parties.partition import Grid
from dpmosaic.simulations.parties.people import Linkage, Overlap, link_tables, row_numbers


def main() -> None:
    """Prints the error of pairs of each kind of release, for each seed and on average."""
    asked = _arguments()
    table = load(asked.folder)
    budget = dpmosaic.Budget(asked.epsilon, DELTA)
    shared = {"overlap": asked.overlap, "shuffle": True, "typos": asked.typos}
    over = {"grid": asked.grid, "collusions": asked.collusions}
    found: dict[str, list[float]] = {}
    for seed in range(asked.seeds):
        joined = joined_table(table, asked.grid, Overlap(asked.overlap, True, asked.typos), seed)
        releases = {
            "trusted": (joined, {"protocol": "trusted"}),
            "masked": (joined, over),
            "everywhere": (table, over | shared),
            "anywhere, dropped": (table, over | shared | {"population": Population.ANYWHERE.value}),
        }
        for name, (data, options) in releases.items():
            started = time.perf_counter()
            synthetic = dpmosaic.simulate(data, epsilon=budget, seed=seed, **options).rows
            (pairs,) = kway_errors(joined, complete(synthetic, table), ks=(2,))
            found.setdefault(name, []).append(pairs.total_variation)
            ratio = pairs.total_variation / found["trusted"][-1]
            print(
                f"seed {seed} {name:>18} {pairs.total_variation:.5f} {ratio:6.3f} "
                f"{synthetic.record_count:>8} rows {time.perf_counter() - started:6.1f} s",
                flush=True,
            )
    for name, errors in found.items():
        print(f"mean   {name:>18} {np.mean(errors):.5f} {np.mean(errors) / np.mean(found['trusted']):6.3f}")


def joined_table(table: Table, grid: str, overlap: Overlap, seed: int) -> Table:
    """The rows of all parties joined by their identifiers, as `simulate` scatters them for this seed."""
    people, cut = (
        Linkage(row_numbers(table.record_count), overlap),
        Grid.parse(grid, table.domain, table.record_count),
    )
    rng = RandomStream.from_seed(seed).child("people").generator()
    slices = zip(*people.scatter(table, cut, rng), strict=True)
    return Table.concatenate([link_tables(table.domain, *row, Population.EVERYWHERE) for row in slices])


def complete(synthetic: Table, table: Table) -> Table:
    """The synthetic rows in which no value is absent."""
    sizes = zip(synthetic.columns, table.domain.sizes, strict=True)
    kept = synthetic.take(np.flatnonzero(np.all([column < size for column, size in sizes], axis=0)))
    return Table.from_codes(table.domain, dict(zip(table.domain, kept.columns, strict=True)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--grid", default="2x2")
    parser.add_argument("--overlap", type=float, default=0.8)
    parser.add_argument("--typos", type=float, default=0.02)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--collusions", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
