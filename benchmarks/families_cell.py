"""One cell of `families.py`: a release in a process of its own, and the figures of its rows.

The figures compare synthetic rows with the real ones: mean total variation distance of all pairs and triples
(of more than 2,000 a seeded sample of them, the same for all mechanisms) and of the structure that the family
has by construction; and the accuracy of gradient boosting that learns the label from synthetic rows and is
tested on real rows that the release has not used. Of two numbers that depend on each other alone, the
distance is that of 16 x 16 groups of neighbouring bins: of single bins, most would be sampling error.

Rows of reference come from no mechanism: "real" are the real rows; "exact pairs" and "exact structure" are
rows of a model of exact pairs, and of exact pairs and the exact marginal of the structure. No marginals of
that order can give more.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import resource
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any
from unittest.mock import patch

import numpy as np
from families_exact import exact_rows
from tables import Generated, generate
from threadpoolctl import threadpool_limits

import dpmosaic
from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import MosaicError
from dpmosaic.curator.mechanisms.catalogue import Needs, entry_named
from dpmosaic.simulations.evaluation.distances import marginal_distance

DELTA = 1e-9
GRIDS = {"trusted": "1x1", "masked": "2x2"}
MOST_CLIQUES = 2_000
GROUPS = 16
MOST_TRAINED = 50_000
REFERENCES = ("real", "exact pairs", "exact structure")

Figures = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A release or rows of reference.

    Attributes:
        variant: of a family.
        protocol: "trusted" or "masked"; "" for a reference.
        epsilon: 0 for a reference.
        seed: of the table and of the release.
        mechanism: name in the catalogue, or one of `REFERENCES`.
    """

    variant: str
    protocol: str
    epsilon: float
    seed: int
    mechanism: str

    @property
    def key(self) -> str:
        """Identifies the cell in the file of results."""
        return f"{self.variant}|{self.protocol}|{self.epsilon:g}|{self.seed}|{self.mechanism}"


def figures(cell: Cell, limit_s: float) -> Figures:
    """Runs a cell in a process of its own.

    Args:
        cell: what to run.
        limit_s: seconds of processor time for the release, to the next second; rows of reference have no
            limit.

    Returns:
        "pairs", "triples", "structure" and "accuracy", None where the family has none, and "strongest" where
        it has one; of a release
        "seconds", "cpu_seconds" and "peak_mib" of its process. Or "failed": why there are none; if it is out
        of time, with "limit_s".
    """
    spawning = multiprocessing.get_context("spawn")
    reading, writing = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_run, args=(cell, limit_s, writing))
    process.start()
    writing.close()
    try:
        found: Figures = reading.recv()
        process.join()
        return found
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return {"failed": "out of time", "limit_s": limit_s}
        return {"failed": "its process ended"}
    finally:
        # Of effect only if this process is interrupted.
        process.kill()


def _run(cell: Cell, limit_s: float, connection: Connection) -> None:
    """In the process of the cell: sends its figures."""
    generated = generate(cell.variant, cell.seed)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    if cell.mechanism not in REFERENCES:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + limit_s), most))
    try:
        rows, used = _rows(cell, generated)
    except (MosaicError, MemoryError) as error:
        connection.send({"failed": str(error) or "out of memory"})
        return
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    connection.send(used | compared(generated, rows))


def _rows(cell: Cell, generated: Generated) -> tuple[Table, Figures]:
    if cell.mechanism == "real":
        return generated.table, {}
    if cell.mechanism in REFERENCES:
        structure = generated.structure if cell.mechanism == "exact structure" else ()
        return exact_rows(generated.table, structure, np.random.default_rng(cell.seed)), {}
    budget = dpmosaic.Budget(epsilon=cell.epsilon, delta=DELTA)
    if entry_named(cell.mechanism).needs is not Needs.RECORDS:
        # In rho, because the independent check of epsilon takes longer than many a release.
        budget = dpmosaic.Budget(zcdp_rho=float(budget.granted(gaussian_only=True)))
    begun, cpu_before = time.perf_counter(), time.process_time()

    def used(*_: object) -> Figures:
        return {
            "seconds": time.perf_counter() - begun,
            "cpu_seconds": time.process_time() - cpu_before,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }

    # In place of the simulator's own metrics, which are not part of the release.
    with patch("dpmosaic.simulations.simulate._metrics", used):
        made = dpmosaic.simulate(
            generated.table,
            epsilon=budget,
            protocol=cell.protocol,
            grid=GRIDS[cell.protocol],
            mechanism=cell.mechanism,
            seed=cell.seed,
        )
    return made.rows, made.metrics


def compared(generated: Generated, rows: Table) -> Figures:
    """Distances between rows and the real table, and what a learner makes of the rows."""
    real = generated.table
    found: Figures = {
        name: _distance(real, rows, cliques_of(real.domain, k)) if len(real.domain) >= k else None
        for name, k in (("pairs", 2), ("triples", 3))
    }
    found["structure"] = _distance(real, rows, structure_cliques(generated)) if generated.structure else None
    found["accuracy"] = (
        None if generated.label is None else accuracy(rows, generated.holdout, generated.label)
    )
    if generated.strongest:
        found["strongest"] = _distance_in_groups(real, rows, generated.strongest)
    return found


def cliques_of(domain: Domain, k: int) -> list[Clique]:
    """All cliques of k attributes, or a seeded sample of 2,000 of them."""
    if math.comb(len(domain), k) <= MOST_CLIQUES or k < 3:
        return list(itertools.combinations(domain.names, k))
    rng = np.random.default_rng(0)
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < MOST_CLIQUES:
        chosen.add(tuple(sorted(rng.choice(len(domain), k, replace=False).tolist())))
    return [tuple(domain.names[place] for place in places) for places in sorted(chosen)]


def structure_cliques(generated: Generated) -> list[Clique]:
    """The structure itself if its cells hold ten rows on average, else its triples with the label."""
    structure, domain = generated.structure, generated.table.domain
    if domain.cells(structure) * 10 <= generated.table.record_count:
        return [structure]
    return [clique for clique in itertools.combinations(structure, 3) if generated.label in clique]


def accuracy(train: Table, test: Table, label: str) -> float:
    """The share of test rows whose label gradient boosting predicts right, from codes as numbers."""
    # Not above, so that it takes no memory while the release runs.
    from sklearn.ensemble import HistGradientBoostingClassifier

    known = train.column(label)
    if (known == known[0]).all():
        return float(np.mean(test.column(label) == known[0]))
    features = [[t.column(name) for name in t.domain if name != label] for t in (train, test)]
    model = HistGradientBoostingClassifier(max_iter=50, early_stopping=False, random_state=0)
    with threadpool_limits(1):
        model.fit(np.column_stack(features[0])[:MOST_TRAINED], known[:MOST_TRAINED])
        return float(np.mean(model.predict(np.column_stack(features[1])) == test.column(label)))


def _distance(real: Table, rows: Table, cliques: list[Clique]) -> float:
    return float(np.mean([marginal_distance(real, rows, clique).total_variation for clique in cliques]))


def _distance_in_groups(real: Table, rows: Table, clique: Clique) -> float:
    """Total variation distance of a marginal of `GROUPS` groups of neighbouring codes of each attribute."""
    groups = tuple(tuple(np.arange(size) * GROUPS // size) for size in real.domain.shape(clique))
    shares = [table.marginal(clique, groups) / table.record_count for table in (real, rows)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
