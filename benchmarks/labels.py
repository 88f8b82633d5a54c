"""Labels of an open category that partition selection finds, against the true most frequent ones.

Run: python benchmarks/labels.py

A column of 10,000 rows has 2,000 texts with Zipf frequencies (exponent 1). For each epsilon (delta 1e-9,
of which labels take a tenth), share of the budget and number of slices: the noise and the threshold in rows,
the number of labels that are found, the share of the true top 10, 20 and 50 among them, the share of rows
that they cover, and its ratio to what as many of the most frequent labels cover.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.labels import DELTA_SHARE
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency, gaussian_sigma, grid_of
from dpmosaic.common.privacy.partition_selection import frequent, threshold

ROWS, TEXTS, DELTA, RUNS = 10_000, 2_000, 1e-9, 20
MOST = 1_000


def main() -> None:
    """Prints one line for each setting, averaged over runs with fresh tables and noise."""
    print("epsilon share slices  sigma threshold labels top10 top20 top50 covered ratio")
    for epsilon in (0.5, 1.0, 2.0, 5.0):
        budget = Budget(epsilon, DELTA).without_delta(DELTA_SHARE * DELTA)
        granted = budget.granted(gaussian_only=True)
        for share in (Fraction(5, 100), Fraction(15, 100)):
            sigma = gaussian_sigma(Fraction(float(share * granted)), Adjacency.ZERO_OUT)
            least = threshold(sigma, DELTA_SHARE * DELTA) / grid_of(sigma)
            for slices in (1, 2, 4):
                found = np.mean([_measured(sigma, slices, seed) for seed in range(RUNS)], axis=0)
                labels, top10, top20, top50, covered, ratio = found
                print(
                    f"{epsilon:7} {float(share):5} {slices:6} {sigma:6.1f} {least:9.1f} {labels:6.1f} "
                    f"{top10:5.2f} {top20:5.2f} {top50:5.2f} {covered:7.2f} {ratio:5.2f}"
                )


def _measured(sigma: float, slices: int, seed: int) -> tuple[float, ...]:
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, TEXTS + 1)
    rows = rng.choice(TEXTS, ROWS, p=weights / weights.sum())
    found: set[int] = set()
    for number, held in enumerate(np.array_split(rows, slices)):
        texts, counts = np.unique(held, return_counts=True)
        stream = RandomStream.from_seed(100 * seed + number)
        stated = frequent(counts.astype(np.int64), sigma, DELTA_SHARE * DELTA, 1, MOST, stream)
        found |= {int(texts[place]) for place in stated}
    counts = np.bincount(rows, minlength=TEXTS)
    order = np.argsort(-counts, kind="stable")
    covered = int(counts[sorted(found)].sum())
    best = int(counts[order[: len(found)]].sum())
    recalls = [len(found & set(order[:k].tolist())) / k for k in (10, 20, 50)]
    return len(found), *recalls, covered / ROWS, covered / best if best else 1.0


if __name__ == "__main__":
    main()
