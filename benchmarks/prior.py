"""How much closer `mosaic` is with a table that is known beforehand, and whether a wrong one does harm.

Reference: the same release without a prior, in the same run. A table is split at random: one half is
released, the other half becomes the prior:

- `last year`: two thirds of its rows, some kinds of rows more often than others, and one cell of fifty is
  another row's;
- `drifted`: the same, more than three times as strongly, and one cell of five is another row's;
- `apart`: each column is shuffled for itself, so that no pair is as it was;
- `permuted`: the values of each column change places, so that nothing is as it was.

Each line has the mean total variation distance of the pairs and of single columns of the rows, and its ratio
to the reference.

Run: python benchmarks/prior.py TABLE... [--epsilon 0.1 1] [--seeds 2] [--kind KIND...]

A TABLE is a folder that holds NAME.csv.gz (or .csv, .parquet) and domain.json, NAME being the folder's; or a
variant of `benchmarks/tables.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np
from mechanisms import DELTA, load
from numpy.typing import NDArray
from tables import VARIANTS, generate

import dpmosaic
from dpmosaic.common.data.table import Table
from dpmosaic.simulations.parties import releasing

REFERENCE = "none"

Codes = NDArray[np.int64]


def _of_another_year(codes: Codes, rng: np.random.Generator, tilt: float, mixed: float) -> Codes:
    """Rows of which some kinds are left more often, with some cells of other rows."""
    likely = sum(rng.normal(size=column.max() + 1)[column] for column in codes.T)
    chance = tilt * np.asarray(likely) / np.sqrt(codes.shape[1]) + rng.gumbel(size=len(codes))
    left = codes[np.argsort(chance)[len(codes) // 3 :]]
    for column in left.T:
        places = np.flatnonzero(rng.random(len(left)) < mixed)
        column[places] = rng.permutation(column[places])
    return left


def _shuffle(codes: Codes, rng: np.random.Generator) -> Codes:
    return np.column_stack([rng.permutation(column) for column in codes.T])


def _permute(codes: Codes, rng: np.random.Generator) -> Codes:
    return np.column_stack([rng.permutation(column.max() + 1)[column] for column in codes.T])


KINDS: Mapping[str, Callable[[Codes, np.random.Generator], Codes]] = {
    "last year": lambda codes, rng: _of_another_year(codes, rng, 0.3, 0.02),
    "drifted": lambda codes, rng: _of_another_year(codes, rng, 1.0, 0.2),
    "apart": _shuffle,
    "permuted": _permute,
}


def main() -> None:
    """Prints a line for each table, epsilon and kind of prior."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--kind", nargs="+", choices=list(KINDS), default=list(KINDS))
    asked = parser.parse_args()
    for name in asked.tables:
        table = generate(name, 1).table if name in VARIANTS else load(Path(name))
        for epsilon in asked.epsilon:
            reference = np.ones(2)
            for kind in (REFERENCE, *asked.kind):
                found = np.mean([errors(table, epsilon, seed, kind) for seed in range(asked.seeds)], axis=0)
                reference = found if kind == REFERENCE else reference
                pairs, singles = found / reference
                print(
                    f"{Path(name).name:16} {table.record_count // 2:7} rows  epsilon {epsilon:4g}  {kind:10} "
                    f"pairs {found[0]:.4f} {pairs:5.2f}  singles {found[1]:.4f} {singles:5.2f}",
                    flush=True,
                )


def errors(table: Table, epsilon: float, seed: int, kind: str) -> tuple[float, float]:
    """Mean total variation distances of pairs and of single columns of a release with a kind of prior."""
    rng = np.random.default_rng([seed, 1])
    codes = np.column_stack(table.columns).astype(np.int64)[rng.permutation(table.record_count)]
    new, old = np.array_split(codes, 2)
    real = Table.from_codes(table.domain, new)
    prior = None if kind == REFERENCE else Table.from_codes(table.domain, KINDS[kind](old, rng))

    def make(order: releasing.ReleaseOrder, *rest: object, **named: object) -> object:
        return _make(replace(order, prior=prior), *rest, **named)

    # In rho, because the independent check of epsilon takes longer than the release.
    granted = dpmosaic.Budget(epsilon=epsilon, delta=DELTA).granted(gaussian_only=True)
    promise = dpmosaic.Budget(zcdp_rho=float(granted))
    with patch.object(releasing, "make_release", make):
        rows = dpmosaic.simulate(real, epsilon=promise, protocol="trusted", seed=seed).rows
    return distance(rows, real, 2), distance(rows, real, 1)


_make = releasing.make_release


def distance(one: Table, other: Table, k: int) -> float:
    """The mean total variation distance of marginals of k attributes."""
    found = [
        np.abs(one.marginal(c) / one.record_count - other.marginal(c) / other.record_count).sum() / 2
        for c in combinations(other.domain.names, k)
    ]
    return float(np.mean(found))


if __name__ == "__main__":
    main()
