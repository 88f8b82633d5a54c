"""Discrete Gaussian draws on one core, against rounded floating-point Gaussians (unsafe for releases).

Run: python benchmarks/noise.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.privacy.noise import discrete_gaussian

DRAWS = 2_000_000
SIGMAS = (0.5, 1.0, 10.0, 256.0, 1e4, 1e6)


def seconds(draw: Callable[[], object], repeats: int = 5) -> float:
    """The median time of a call, after one call that is not timed."""
    times = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        draw()
        times.append(time.perf_counter() - started)
    return float(np.median(times[1:]))


def main() -> None:
    """Prints draws per second and the ratio to NumPy's rounded normal draws, for each scale."""
    stream, rng = RandomStream.from_os(), np.random.default_rng()
    print(f"{'sigma':>9} {'million draws/s':>16} {'times the rounded Gaussian':>28}")
    for sigma in SIGMAS:
        ours = seconds(lambda sigma=sigma: discrete_gaussian(sigma, DRAWS, stream))
        theirs = seconds(lambda sigma=sigma: np.rint(rng.normal(0, sigma, DRAWS)).astype(np.int64))
        print(f"{sigma:>9g} {DRAWS / ours / 1e6:>16.1f} {ours / theirs:>28.2f}")


if __name__ == "__main__":
    main()
