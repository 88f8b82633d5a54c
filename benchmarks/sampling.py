"""Synthetic rows from a model, against mbi's synthetic_data from the same model.

The models have random potentials on attributes of Adult's sizes. Each measurement has its own process, which
first draws a thousand rows: compilation and the memory used until then are not counted.

Run: python benchmarks/sampling.py [ROWS ...]
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from dpmosaic.common.data.domain import Clique, Domain
from dpmosaic.curator.pgm.inference.oracle import MarginalOracle
from dpmosaic.curator.pgm.model import MarkovRandomField
from dpmosaic.curator.pgm.rows.sampling import generate
from dpmosaic.curator.pgm.structure.junction_tree import JunctionTree

SIZES = dict(zip("abcdefghijklmn", (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2), strict=True))
CASES = {
    "independent": "",
    "a tree of pairs": "ae dn df bf eg gi gh hm ln lk jn ci",
    "loops": "ae eg ag gi ei fn dn df bf fl in hm hg jn kn ci",
    "a million cells": "ac aj cj al kl ak df eg gi",
}
ROWS = (100_000, 1_000_000, 10_000_000)
WARM_UP = 1000


def model_of(case: str) -> MarkovRandomField:
    domain = Domain.coded(SIZES)
    cliques: list[Clique] = [domain.canonical(pair) for pair in CASES[case].split()]
    tree = JunctionTree.build(domain, cliques)
    rng = np.random.default_rng(0)
    oracle = MarginalOracle(tree, tree.cliques, 48_842.0)
    oracle(rng.normal(size=tree.cells))
    return MarkovRandomField(domain, tree, oracle.beliefs(), 48_842.0, {}, 0.0, 0)


def ours(case: str) -> Callable[[int], object]:
    model = model_of(case)
    return lambda rows: generate(model, rows, np.random.default_rng(0))


def mbis(case: str) -> Callable[[int], object]:
    """The sampler of mbi; the potential of each clique is the log of its marginal given its separator."""
    os.environ["JAX_ENABLE_X64"] = "1"
    import jax
    import mbi

    model = model_of(case)
    domain = mbi.Domain(model.domain.names, model.domain.sizes)
    potentials, marginals = {}, {}
    for clique, belief, separator in zip(
        model.tree.cliques, model.beliefs, model.tree.separators, strict=True
    ):
        others = tuple(axis for axis, name in enumerate(clique) if name not in separator)
        given = np.log(belief) - np.log(belief.sum(axis=others, keepdims=True))
        potentials[clique] = mbi.Factor(domain.project(clique), jax.numpy.asarray(given))
        marginals[clique] = mbi.Factor(domain.project(clique), jax.numpy.asarray(belief))
    cliques = list(model.tree.cliques)
    field = mbi.MarkovRandomField(
        potentials=mbi.CliqueVector(domain, cliques, potentials),
        marginals=mbi.CliqueVector(domain, cliques, marginals),
        total=model.total,
    )
    return field.synthetic_data


SAMPLERS = {"ours": ours, "mbi": mbis}


def measure(sampler: str, case: str, rows: int) -> tuple[float, float]:
    """Seconds, and the increase of the peak memory in MiB."""
    make = SAMPLERS[sampler](case)
    make(WARM_UP)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    make(rows)
    elapsed = time.perf_counter() - started
    return elapsed, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held) / 1024


def main() -> None:
    """Prints seconds, memory and ratios for each model and number of rows."""
    print(
        f"{'model':<16} {'cells':>9} {'rows':>10} {'ours s':>8} {'mbi s':>8} {'ratio':>7} "
        f"{'ours MiB':>9} {'mbi MiB':>8}"
    )
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for case in CASES:
            cells = model_of(case).tree.cells
            for rows in [int(float(argument)) for argument in sys.argv[1:]] or ROWS:
                (our_time, our_size), (time_of_mbi, size_of_mbi) = (
                    pool.apply(measure, (sampler, case, rows)) for sampler in SAMPLERS
                )
                print(f"{case:<16} {cells:>9} {rows:>10} {our_time:>8.3f} {time_of_mbi:>8.3f}", end=" ")
                print(f"{time_of_mbi / our_time:>7.1f} {our_size:>9.0f} {size_of_mbi:>8.0f}", flush=True)


if __name__ == "__main__":
    main()
