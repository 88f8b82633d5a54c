"""Sets of noisy marginals for `benchmarks/pgm.py`: those of an iterative mechanism after some rounds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.data.view import View
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.structure.junction_tree import TreeGrowth, size_mb
from dpmosaic.party.sources.source import FileSource

TABLES = ("adult_coded", "nltcs", "br2000")
LIMITS_MB = {10: 1.0, 20: 10.0, 40: 80.0}
"""Number of two-way cliques of a set, and limit of its junction tree."""
SIGMA = 50.0
MADE_UP = (50, 8, 20, 16, 7, 15, 6, 5, 2, 30, 12, 2, 9, 4)
MADE_UP_RECORDS = 50_000


@dataclass(frozen=True, eq=False)
class FitSet:
    """Measurements to fit.

    Attributes:
        name: name of the table and number of two-way cliques.
        domain: domain of the table.
        records: number of rows; given to both implementations.
        measurements: measurements of all attributes, then of pairs.
        size_mb: size of our junction tree, in MiB.
    """

    name: str
    domain: Domain
    records: int
    measurements: tuple[Measurement, ...]
    size_mb: float

    @property
    def before(self) -> tuple[Measurement, ...]:
        """All measurements but the last: those of one round earlier."""
        return self.measurements[:-1]


def fit_sets(folder: Path | None, largest_mb: float) -> list[FitSet]:
    """The sets of every NAME/NAME.csv.gz with NAME/domain.json in the folder, or of a generated table."""
    sets = []
    for name, table in _tables(folder):
        pairs = _by_dependence(table)
        for count, limit_mb in LIMITS_MB.items():
            cliques = [(attribute,) for attribute in table.domain.names]
            cliques += _first_within(table.domain, pairs, count, limit_mb)
            needed = size_mb(table.domain, cliques)
            if needed <= largest_mb:
                measured = _noisy(table, cliques)
                sets.append(FitSet(f"{name} {count}", table.domain, table.record_count, measured, needed))
    return sets


def small_set() -> FitSet:
    """Three attributes in a chain: starts a library without compiling the structure of any other set."""
    domain = Domain.coded({"x": 3, "y": 4, "z": 5})
    rng = np.random.default_rng(0)
    table = Table.from_codes(domain, {name: rng.integers(0, domain[name].size, 1000) for name in domain})
    cliques = [("x",), ("y",), ("z",), ("x", "y"), ("y", "z")]
    return FitSet("small", domain, 1000, _noisy(table, cliques), size_mb(domain, cliques))


def _tables(folder: Path | None) -> Iterator[tuple[str, Table]]:
    if folder is None:
        yield "generated", _generated()
        return
    for name in TABLES:
        domain = Domain.load(folder / name / "domain.json")
        yield name, FileSource(folder / name / f"{name}.csv.gz").read(domain)


def _generated() -> Table:
    """Every attribute depends on the one before it and on an earlier one."""
    rng = np.random.default_rng(0)
    domain = Domain.coded({f"x{place:02}": size for place, size in enumerate(MADE_UP)})
    columns = [rng.integers(0, MADE_UP[0], MADE_UP_RECORDS)]
    for place, size in enumerate(MADE_UP[1:]):
        earlier = columns[rng.integers(place + 1)]
        draw = rng.random(MADE_UP_RECORDS)
        fresh = rng.integers(0, size, MADE_UP_RECORDS)
        columns.append(np.where(draw < 0.5, columns[-1] % size, np.where(draw < 0.7, earlier % size, fresh)))
    return Table.from_codes(domain, dict(zip(domain.names, columns, strict=True)))


def _by_dependence(table: Table) -> list[Clique]:
    """All pairs, by decreasing distance of the marginal from the product of its one-way marginals."""
    shares = {name: table.marginal((name,)) / table.record_count for name in table.domain}
    distance = {
        (a, b): np.abs(
            table.marginal((a, b)) / table.record_count - np.outer(shares[a], shares[b]).ravel()
        ).sum()
        for a, b in itertools.combinations(table.domain.names, 2)
    }
    return sorted(distance, key=lambda pair: -distance[pair])


def _first_within(domain: Domain, pairs: list[Clique], count: int, limit_mb: float) -> list[Clique]:
    """The first `count` pairs, without those that would make the tree too large."""
    chosen: list[Clique] = []
    left = list(pairs)
    while len(chosen) < count:
        place = TreeGrowth(domain, chosen).first_within(left, limit_mb)
        if place is None:
            break
        chosen.append(left[place])
        left = left[place + 1 :]
    return chosen


def _noisy(table: Table, cliques: list[Clique]) -> tuple[Measurement, ...]:
    rng = np.random.default_rng(0)
    counts = [table.marginal(clique) for clique in cliques]
    return tuple(
        Measurement(View(clique), part + rng.normal(0, SIGMA, len(part)), SIGMA, 0.0)
        for clique, part in zip(cliques, counts, strict=True)
    )
