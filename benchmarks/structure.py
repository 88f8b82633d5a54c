"""Junction trees against those of mbi: cells, time, and the sizes with each of many candidates.

Random sets of pairs and triples, and pairs in the order of random gains as long as our tree stays within
8 MiB, as mechanisms select them. Then, for some of these sets, the time to compute the tree's cells with each
of all other pairs (at most 5,000); mbi's time is extrapolated from a few pairs.

Run: python benchmarks/structure.py [DOMAIN ...]
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("JAX_ENABLE_X64", "1")

import mbi
import numpy as np
from mbi.junction_tree import hypothetical_model_size, make_junction_tree

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree, TreeGrowth, size_mb

SETS, SAMPLE, MOST_CANDIDATES = 6, 4, 5_000
LIMIT_MB = 8.0
MAXSIZE = 10_000
ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)


def domains(files: Sequence[str]) -> dict[str, Domain]:
    """The domains of the files, or four with sizes of common tables."""
    if files:
        return {Path(file).parent.name + "/" + Path(file).stem: Domain.load(file) for file in files}
    shapes = {
        "14 as Adult": ADULT,
        "16 binary": (2,) * 16,
        "57 as Big Five": (14, 88, 3, 4, 4, 7, 160, *(6,) * 50),
        "100 of 2 to 1000": tuple(int(2 ** (1 + 9 * (i * 37 % 100) / 100)) for i in range(100)),
    }
    return {
        name: Domain.coded({f"x{i:03}": size for i, size in enumerate(sizes)})
        for name, sizes in shapes.items()
    }


def random_set(domain: Domain, count: int, order: int, rng: np.random.Generator) -> list[Clique]:
    """Random distinct cliques."""
    found: dict[Clique, None] = {}
    while len(found) < count:
        found[domain.canonical(rng.choice(domain.names, order, replace=False).tolist())] = None
    return list(found)


def greedy_set(domain: Domain, count: int, rng: np.random.Generator) -> list[Clique]:
    """Pairs in the order of random gains, without those that would make the tree too large."""
    pairs = [c for c in itertools.combinations(domain.names, 2) if domain.cells(c) <= MAXSIZE]
    left = [pairs[k] for k in rng.permutation(len(pairs))]
    chosen: list[Clique] = []
    while len(chosen) < count:
        place = TreeGrowth(domain, chosen).first_within(left, LIMIT_MB)
        if place is None:
            break
        chosen.append(left[place])
        left = left[place + 1 :]
    return chosen


def seconds(function: Callable[[], object]) -> float:
    """Seconds of one call."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def compare_trees(domain: Domain, label: str, sets: Sequence[list[Clique]]) -> None:
    """Prints one line: cells and times, means over the sets."""
    other = mbi.Domain(domain.names, domain.sizes)
    ratios, ours, theirs = [], [], []
    for cliques in sets:
        ratios.append(size_mb(domain, cliques) / hypothetical_model_size(other, cliques))
        ours.append(seconds(lambda cliques=cliques: JunctionTree.build(domain, cliques)))
        theirs.append(seconds(lambda cliques=cliques: make_junction_tree(other, cliques)))
    print(
        f"  {label:<14} {np.exp(np.mean(np.log(ratios))):>8.3f} {max(ratios):>7.3f} "
        f"{1e3 * np.mean(ours):>9.2f} {1e3 * np.mean(theirs):>9.1f} {np.sum(theirs) / np.sum(ours):>7.0f}"
    )


def compare_candidates(domain: Domain, base: list[Clique], rng: np.random.Generator) -> None:
    """Prints one line: all candidates with one base set."""
    other = mbi.Domain(domain.names, domain.sizes)
    pairs = [c for c in itertools.combinations(domain.names, 2) if c not in base]
    pairs = [pairs[k] for k in rng.permutation(len(pairs))[:MOST_CANDIDATES]]
    counting = seconds(lambda: TreeGrowth(domain, base).cells_with(pairs))
    sample = [
        seconds(lambda pair=pair: hypothetical_model_size(other, [*base, pair])) for pair in pairs[:SAMPLE]
    ]
    theirs = float(np.mean(sample)) * len(pairs)
    print(f"  {len(base):>4} + {len(pairs):<7} {counting:>8.3f} {theirs:>9.1f} {theirs / counting:>8.0f}")


def main() -> None:
    """Prints ratios for every domain."""
    for name, domain in domains(sys.argv[1:]).items():
        rng = np.random.default_rng(0)
        print(f"{name}: {len(domain)} attributes")
        print(f"  {'cliques':<14} {'cells':>8} {'worst':>7} {'ours ms':>9} {'mbi ms':>9} {'faster':>7}")
        most = len(domain) * (len(domain) - 1) // 2
        sizes = [count for count in (10, 20, 40, 80) if count < most]
        JunctionTree.build(domain, [])
        for count in sizes:
            sets = [random_set(domain, count, 2, rng) for _ in range(SETS)]
            compare_trees(domain, f"{count} pairs", sets)
        for count in (10, 20):
            sets = [random_set(domain, count, 3, rng) for _ in range(SETS)]
            compare_trees(domain, f"{count} triples", sets)
        for count in sizes:
            sets = [greedy_set(domain, count, rng) for _ in range(SETS)]
            compare_trees(domain, f"{count} selected", sets)
        print(f"  {'candidates':<14} {'ours s':>8} {'mbi s':>9} {'faster':>8}")
        for count in sizes[1:3]:
            compare_candidates(domain, greedy_set(domain, count, rng), rng)
        started = time.perf_counter()
        kept = len(greedy_set(domain, most, rng))
        taken = time.perf_counter() - started
        print(f"  {kept} pairs selected, each in turn if it fits: {taken:.3f} s")


if __name__ == "__main__":
    main()
