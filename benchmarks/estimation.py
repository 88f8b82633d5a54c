"""Fitting a graphical model to noisy marginals, against mbi's mirror descent, compiled beforehand.

The table is made here: 12 attributes of 2 to 50 values, each depending on the one before it.

Run: python benchmarks/estimation.py
"""

from __future__ import annotations

import os
import time

os.environ.setdefault("JAX_ENABLE_X64", "1")

import mbi
import numpy as np
from mbi import estimation as reference

from dpmosaic.common.domain import Domain
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.estimation import estimate
from dpmosaic.curator.pgm.loss import QuadraticLoss

SIZES = (50, 8, 20, 16, 7, 15, 6, 5, 2, 30, 12, 2)
RECORDS, SIGMA = 50_000, 40.0
CASES = {"chain": 1, "chain and every other": 2, "chain and two more": 3}


def noisy_marginals(domain: Domain, reach: int) -> list[Measurement]:
    """All one-way marginals, and the pairs of attributes at most `reach` apart, with Gaussian noise."""
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, SIZES[0], RECORDS)]
    for size in SIZES[1:]:
        follows = rng.random(RECORDS) < 0.5
        columns.append(np.where(follows, columns[-1] % size, rng.integers(0, size, RECORDS)))
    cliques = [(i,) for i in range(len(SIZES))]
    cliques += [(i, j) for i in range(len(SIZES)) for j in range(i + 1, min(i + 1 + reach, len(SIZES)))]
    found = []
    for places in cliques:
        shape = [SIZES[i] for i in places]
        counts = np.bincount(
            np.ravel_multi_index([columns[i] for i in places], shape), minlength=np.prod(shape)
        )
        values = counts + rng.normal(0, SIGMA, counts.size)
        found.append(Measurement(tuple(domain.names[i] for i in places), values, SIGMA, 0.0))
    return found


def main() -> None:
    """Prints seconds, losses and the ratio for each structure."""
    domain = Domain.coded({f"x{i:02}": size for i, size in enumerate(SIZES)})
    other = mbi.Domain(domain.names, domain.sizes)
    print(f"{'structure':<24} {'ours s':>8} {'mbi s':>8} {'ratio':>7} {'our loss':>10} {'mbi loss':>10}")
    for name, reach in CASES.items():
        measurements = noisy_marginals(domain, reach)
        started = time.perf_counter()
        model = estimate(domain, measurements, total=RECORDS)
        ours = time.perf_counter() - started
        theirs = [mbi.LinearMeasurement(m.values, m.clique, stddev=m.sigma) for m in measurements]
        for _ in range(2):
            started = time.perf_counter()
            fitted = reference.MirrorDescent().estimate(other, theirs, known_total=RECORDS, iters=1000)
            elapsed = time.perf_counter() - started
        loss = QuadraticLoss.of(domain, measurements)
        marginals = np.concatenate([np.asarray(fitted.project(c).datavector()) for c in loss.cliques])
        reached = loss.of_marginals(marginals)
        print(f"{name:<24} {ours:>8.2f} {elapsed:>8.2f} {elapsed / ours:>7.1f}", end="")
        print(f" {model.loss:>10.0f} {reached:>10.0f}")


if __name__ == "__main__":
    main()
