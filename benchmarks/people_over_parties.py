"""Related tables over masked parties: pairs of columns, as ratios to the same release from one place.

- hospitals: four parties that hold all tables of their own people.
- apart: the first table and all but the second one at one party, the second at another; aligned by person.
- 2 x 2: two slices of people, each with these two parties.

Errors are those of `people.py`: mean total variation distances, by rows, of pairs of a table's own columns,
of an own one and one of the table above, and of an own one and one of the row before. No collusion is
tolerated, so that the noise is that of one place. The unit is a person, epsilon 1 and delta 1e-6; domains and
settings are the same.

Run: python benchmarks/people_over_parties.py [FOLDER] [--parties hospitals apart 2x2] [--seeds 3]

A FOLDER is that of `nafld` or `airbnb`; without one, generated tables are released.
"""

from __future__ import annotations

import argparse
import time
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from people import DELTA, READERS, REPORTED, domains_of
from people_tables import GENERATED, Related

import dpmosaic
from dpmosaic import Holders, simulate_people
from dpmosaic.simulations.evaluation.related import evaluate, mean_distance

KINDS = ("hospitals", "apart", "2x2")
_LINE = "{:28s} {:>6s} {:>6s} {:>6s} {:>6s} {:>9s}"

Errors = dict[str, list[float]]


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    parser.add_argument("--parties", nargs="*", default=[*KINDS], choices=[*KINDS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", nargs="*", default=["visits"], choices=[*GENERATED])
    parser.add_argument("--epsilon", type=float, default=1.0)
    asked = parser.parse_args()
    if asked.folder is not None:
        compare(asked.folder.name, READERS[asked.folder.name](asked.folder), asked)
        return
    for name in asked.tables:
        rng = np.random.default_rng(zlib.crc32(name.encode()) + REPORTED)
        compare(name, GENERATED[name](rng), asked)


def compare(name: str, real: Related, asked: argparse.Namespace) -> None:
    """Prints the errors from one place and over parties, as means over seeds, and the ratios."""
    print(f"\n{name}, epsilon {asked.epsilon:g}, means over {asked.seeds} seeds")
    print(_LINE.format("", "KS", "own", "parent", "before", "seconds"))
    domains = domains_of(real)
    central: Errors = {}
    for kind in ("central", *asked.parties):
        found, started = [], time.perf_counter()
        for seed in range(asked.seeds):
            tables = release(kind, real, domains, asked.epsilon, seed)
            found.append(errors(real, tables))
        seconds = (time.perf_counter() - started) / asked.seeds
        means = {child: np.mean([one[child] for one in found], axis=0).tolist() for child in found[0]}
        for child, values in means.items():
            shown = [f"{value:.4f}" for value in values]
            print(_LINE.format(f"{child}: {kind}", *shown, f"{seconds:.0f}"), flush=True)
            if central:
                ratios = [f"{a / b:.2f}" for a, b in zip(values, central[child], strict=True)]
                print(_LINE.format("  of central", *ratios, ""), flush=True)
        central = central or means


def release(
    kind: str, real: Related, domains: dict[str, object], epsilon: float, seed: int
) -> dict[str, pd.DataFrame]:
    """The tables of one release."""
    names = tuple(real.tables)
    first, second = (names[0], *names[2:]), names[1:2]
    options = {
        "relations": real.relations,
        "order": dict(real.order),
        "delta": DELTA,
        "domain": domains,
        "seed": seed,
        "progress": False,
    }
    holders = {
        "hospitals": Holders((names,), 4, 0),
        "apart": Holders((first, second), 1, 0),
        "2x2": Holders((first, second), 2, 0),
    }
    if kind == "central":
        return dict(dpmosaic.synthesize(real.tables, epsilon, **options).tables)
    return dict(simulate_people(real.tables, epsilon, holders=holders[kind], **options).tables)


def errors(real: Related, tables: dict[str, pd.DataFrame]) -> Errors:
    """For each table below another, the distances of numbers of rows and of pairs."""
    found = evaluate(real.tables, tables, real.relations, real.order)
    return {
        child: [one.numbers, *map(mean_distance, (one.within, one.across, one.before))]
        for child, one in found.items()
    }


if __name__ == "__main__":
    main()
