"""Our part of `benchmarks/pgm.py`, measured in a separate process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from pgm_sets import FitSet, small_set

from dpmosaic.common.data.domain import Clique
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.pgm.fitting.estimation import estimate
from dpmosaic.curator.pgm.fitting.loss import QuadraticLoss
from dpmosaic.curator.pgm.model import MarkovRandomField

T = TypeVar("T")

REPEATS = 3
ENOUGH_SECONDS = 10.0
"""Seconds above which a fit is timed only once."""
MOST_ITERATIONS = 5000
SAME = 1e-9
"""Relative difference below which two losses count as equal: both fits are at the minimum."""


@dataclass(frozen=True)
class Fit:
    """Time, steps and loss of one fit; an infinite time if it did not reach its target."""

    seconds: float
    steps: int
    loss: float


@dataclass(frozen=True)
class Ours:
    """One set.

    Attributes:
        cold: without an initial model, to mbi's loss.
        warm: from the model of one round earlier, to the same loss.
        further: like `warm`, to mbi's loss after its own warm start.
        default: cold, with the default tolerance.
        tight: cold, with a tolerance of 1e-6, measured once.
        peak_mb: peak memory of this process up to the cold fits, in MiB.
    """

    cold: Fit
    warm: Fit
    further: Fit
    default: Fit
    tight: Fit
    peak_mb: float


def start() -> tuple[float, float]:
    """Seconds of the first and the second fit of a process; the difference is loading or compiling."""
    one = small_set()
    first, _ = timed(lambda: _fit(one, one.measurements).marginals([("x", "z")]))
    second, _ = timed(lambda: _fit(one, one.measurements).marginals([("x", "z")]))
    return first, second


def measure(one: FitSet, target: float, warm_target: float) -> Ours:
    """Fits a set in every way, after the kernels are loaded."""
    start()
    cold = _reach(one, target, None)
    default = _described(one, *_best(lambda: _fit(one, one.measurements)))
    peak = peak_mb()
    before = _fit(one, one.before)
    return Ours(
        cold=cold,
        warm=_reach(one, target, before),
        further=_reach(one, warm_target, before),
        default=default,
        tight=_described(one, *timed(lambda: _fit(one, one.measurements, None, 1e-6, MOST_ITERATIONS))),
        peak_mb=peak,
    )


def ask(one: FitSet, cliques: list[Clique], references: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """Seconds for all L1 distances, and the marginals."""
    model = _fit(one, one.measurements)
    model.marginals(cliques[:1])
    seconds, _ = _best(lambda: model.l1_distances(cliques, references))
    return seconds, model.marginals(cliques)


def potentials(one: FitSet, measurements: tuple[Measurement, ...]) -> dict[Clique, np.ndarray]:
    """Potentials of a fit with the default tolerance."""
    return dict(_fit(one, measurements).potentials)


def loss_of(one: FitSet, marginals: Callable[[list[Clique]], list[np.ndarray]]) -> float:
    """The loss of marginals, by the same function for both implementations."""
    loss = QuadraticLoss.of(one.domain, one.measurements)
    return loss.of_marginals(np.concatenate(marginals(list(loss.cliques))))


def timed(function: Callable[[], T]) -> tuple[float, T]:
    """Seconds of one call, and its result."""
    started = time.perf_counter()
    found = function()
    return time.perf_counter() - started, found


def peak_mb() -> float:
    """Peak memory of this process in MiB, as reported by Linux; elsewhere not a number.

    `resource` would include the process that started this one.
    """
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    except OSError:
        return float("nan")


def _fit(
    one: FitSet,
    measurements: tuple[Measurement, ...],
    warm_start: MarkovRandomField | None = None,
    tolerance: float = 1e-3,
    iterations: int = 1000,
) -> MarkovRandomField:
    return estimate(
        one.domain,
        measurements,
        total=one.records,
        warm_start=warm_start,
        tolerance=tolerance,
        max_iterations=iterations,
    )


def _described(one: FitSet, seconds: float, model: MarkovRandomField) -> Fit:
    return Fit(seconds, model.iterations, loss_of(one, model.marginals))


def _reach(one: FitSet, target: float, warm_start: MarkovRandomField | None) -> Fit:
    """Times a fit of exactly as many iterations as the target needs; their number is found beforehand."""

    def fit(iterations: int) -> MarkovRandomField:
        return _fit(one, one.measurements, warm_start, 0.0, iterations)

    def enough(iterations: int) -> bool:
        return fit(iterations).loss <= target * (1 + SAME)

    below, above = -1, 0
    while not enough(above):
        if above > MOST_ITERATIONS:
            return Fit(float("inf"), above, fit(above).loss)
        below, above = above, max(1, 2 * above)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if enough(middle) else (middle, above)
    return _described(one, *_best(lambda: fit(above)))


def _best(function: Callable[[], T]) -> tuple[float, T]:
    """The shortest time of a few calls, and the result of the first."""
    best, found = timed(function)
    for _ in range(REPEATS - 1):
        if best < ENOUGH_SECONDS:
            best = min(best, timed(function)[0])
    return best, found
