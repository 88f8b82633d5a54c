"""Selection of records from a pool (DP-Select, Algorithm 1): incremental against recomputed distances.

40,000 of 400,000 records, 20 candidates in each step, 100 pairs of fifteen attributes with the sizes of
Adult, 5 sections, two threads. The reference adds each candidate to the counts of the selected records and
recomputes the weighted distance of all marginals in NumPy, as in the paper's text. It runs a few steps; its
time is scaled to all steps and to two cores. Compilation is not timed.

Run: python benchmarks/dp_select.py [density] [kolmogorov] [l2]
"""

from __future__ import annotations

import itertools
import sys
import time

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.mechanisms.dp_select.distances import DISTANCES, Distance, Reference, distance
from dpmosaic.curator.mechanisms.dp_select.sections import Selection, parts, select_in_sections

SIZES = (85, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
SELECTED, POOL, CANDIDATES, MARGINALS, SECTIONS, THREADS = 40_000, 400_000, 20, 100, 5, 2
FACTOR = 40.0
REFERENCE_STEPS = 10


def table_of(records: int, seed: int) -> Table:
    """Records of skewed, independent attributes."""
    rng = np.random.default_rng(seed)
    domain = Domain.coded({f"a{place:02}": size for place, size in enumerate(SIZES)})
    columns = [np.minimum(size - 1, rng.geometric(2 / (size + 1), records) - 1) for size in SIZES]
    return Table.from_codes(domain, np.column_stack(columns))


def ours(kind: Distance, pool: Table, references: list[Reference], needed: list[int]) -> float:
    """Seconds for all selections."""
    selection = Selection(kind, CANDIDATES, 1, FACTOR)
    stream = RandomStream.from_seed(1)
    started = time.perf_counter()
    select_in_sections(pool, references, needed, selection, stream, lambda done: None, THREADS)
    return time.perf_counter() - started


def naive(kind: Distance, pool: Table, reference: Reference) -> float:
    """Seconds for all selections on two cores, extrapolated from a few steps in the middle of a section."""
    cells = reference.cells(pool.rows(0, SELECTED))
    taken = SELECTED // SECTIONS // 2
    counts = np.bincount(cells[:taken].ravel(), minlength=len(reference.shares))
    rng = np.random.default_rng(1)
    started = time.perf_counter()
    for _ in range(REFERENCE_STEPS):
        values = []
        for row in rng.integers(0, len(cells), CANDIDATES):
            counts[cells[row]] += 1
            values.append(rng.gumbel() - FACTOR * distance(kind, reference, counts, taken + 1))
            counts[cells[row]] -= 1
        assert len(values) == CANDIDATES
    return (time.perf_counter() - started) / REFERENCE_STEPS * SELECTED / THREADS


def main() -> None:
    """Prints seconds and ratio for each distance."""
    table, pool = table_of(SELECTED, 0), table_of(POOL, 1)
    cliques = list(itertools.combinations(table.domain.names, 2))[:MARGINALS]
    weights = np.full(MARGINALS, 1 / MARGINALS)
    pieces = parts(SELECTED, SECTIONS)
    references = [Reference.exact(table.rows(p.start, p.stop), cliques, weights) for p in pieces]
    needed = [piece.stop - piece.start for piece in pieces]
    print(f"{'distance':<12} {'ours s':>8} {'recomputed s':>16} {'ratio':>8}")
    for name in sys.argv[1:] or DISTANCES:
        kind = next(known for known in DISTANCES if known == name)
        ours(kind, pool.rows(0, 1000), references, [20] * SECTIONS)
        our_time, time_anew = ours(kind, pool, references, needed), naive(kind, pool, references[0])
        print(f"{kind:<12} {our_time:>8.1f} {time_anew:>16.0f} {time_anew / our_time:>8.0f}", flush=True)


if __name__ == "__main__":
    main()
