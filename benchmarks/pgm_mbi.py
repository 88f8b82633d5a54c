"""The reference of `benchmarks/pgm.py`, measured in a separate process: mbi's mirror descent.

JAX has no cache of compiled programs here, neither on disk nor from another set: each set has a fresh process
that fitted only the small set before. JAX reports compilations and their time; a check ensures that a second
fit of the same set compiles nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

import jax
import mbi
import numpy as np
from mbi.estimation import CALLBACK_EVERY, MirrorDescent
from pgm_ours import loss_of, peak_mb, potentials
from pgm_sets import FitSet, small_set

from dpmosaic.common.data.domain import Clique
from dpmosaic.common.measurement import Measurement

ITERATIONS = 1000
AGAIN_SECONDS = 60.0
"""A longer fit is not repeated: the time of its iterations is its seconds minus those of compiling."""


@dataclass(frozen=True)
class Fit:
    """One fit.

    Attributes:
        seconds: total, with compilation.
        compiling: compilation time, as JAX reports it.
        running: seconds of the iterations only: a second fit, or the first minus compiling.
        steps: iterations; fewer than ITERATIONS if the time limit was reached.
        loss: final loss.
    """

    seconds: float
    compiling: float
    running: float
    steps: int
    loss: float


@dataclass(frozen=True)
class Theirs:
    """Fits of one set: cold, and from our model of one round earlier; peak memory of the cold fit in MiB."""

    cold: Fit
    warm: Fit
    peak_mb: float


class Compilations:
    """Collects JAX's reports of its compilations."""

    def __init__(self) -> None:
        self.seconds, self.programs = 0.0, 0
        jax.monitoring.register_event_duration_secs_listener(self._on_event)

    def _on_event(self, event: str, seconds: float, **_: object) -> None:
        if event.startswith("/jax/core/compile/"):
            self.seconds += seconds
            self.programs += event.endswith("/backend_compile_duration")


class _OutOfTime(Exception):
    """Raised out of a fit by its callback."""


def measure(one: FitSet, limit_seconds: float) -> Theirs:
    """Fits a set cold, and warm-started in a process that has compiled the structure of one round earlier."""
    heard = Compilations()
    _estimate(small_set(), small_set().measurements, None, ITERATIONS, limit_seconds)
    cold = _fit(one, None, limit_seconds, heard)
    peak = peak_mb()
    start = _vector(one, potentials(one, one.before))
    jax.clear_caches()
    _estimate(one, one.before, None, CALLBACK_EVERY if cold.seconds < AGAIN_SECONDS else 0, limit_seconds)
    return Theirs(cold, _fit(one, start, limit_seconds, heard), peak)


def ask(
    one: FitSet, cliques: list[Clique], references: list[np.ndarray], limit_seconds: float
) -> tuple[float, float, int, list[np.ndarray]]:
    """Computes marginals of our model, in mbi's form, and their L1 distances.

    Returns:
        Seconds with compilation, seconds of a second computation, the number of cliques within the time
        limit, and their marginals.
    """
    _estimate(small_set(), small_set().measurements, None, ITERATIONS, limit_seconds)
    vector = _vector(one, potentials(one, one.measurements))
    marginals = MirrorDescent()._oracle(vector.cliques, vector.domain)(vector, one.records)
    model = mbi.MarkovRandomField(potentials=vector, marginals=marginals, total=one.records)
    jax.block_until_ready(model)
    found: list[np.ndarray] = []
    started = time.perf_counter()
    for clique, reference in zip(cliques, references, strict=True):
        found.append(np.asarray(model.project(clique).datavector()))
        np.abs(found[-1] - reference).sum()
        if time.perf_counter() - started > limit_seconds:
            break
    first = time.perf_counter() - started
    started = time.perf_counter()
    for clique, reference in zip(cliques[: len(found)], references, strict=False):
        np.abs(np.asarray(model.project(clique).datavector()) - reference).sum()
    return first, time.perf_counter() - started, len(found), found


def _fit(one: FitSet, start: mbi.CliqueVector | None, limit_seconds: float, heard: Compilations) -> Fit:
    before = heard.seconds
    seconds, iterations, marginals = _estimate(one, one.measurements, start, ITERATIONS, limit_seconds)
    compiling = heard.seconds - before
    running = seconds - compiling
    if seconds < AGAIN_SECONDS:
        programs = heard.programs
        running, _, _ = _estimate(one, one.measurements, start, ITERATIONS, limit_seconds)
        if heard.programs != programs:
            raise AssertionError(
                "expected a second fit without compilation; a structure changed between the fits"
            )
    loss = loss_of(
        one, lambda cliques: [np.asarray(marginals.project(clique).datavector()) for clique in cliques]
    )
    return Fit(seconds, compiling, running, iterations, loss)


def _estimate(
    one: FitSet,
    measurements: tuple[Measurement, ...],
    start: mbi.CliqueVector | None,
    iterations: int,
    limit_seconds: float,
) -> tuple[float, int, mbi.CliqueVector]:
    """Seconds, iterations and marginals of a fit, stopped after the first block beyond the limit.

    The marginals of a stopped fit are those before its last iteration.
    """
    domain = mbi.Domain(one.domain.names, one.domain.sizes)
    theirs = [mbi.LinearMeasurement(m.values, m.clique, stddev=m.sigma) for m in measurements]
    done = 0
    latest = None

    def after_block(marginals: mbi.CliqueVector) -> None:
        nonlocal done, latest
        jax.block_until_ready(marginals)
        done += CALLBACK_EVERY
        if done < iterations and time.perf_counter() - started > limit_seconds:
            latest = marginals
            raise _OutOfTime

    started = time.perf_counter()
    try:
        model = MirrorDescent().estimate(
            domain,
            theirs,
            known_total=one.records,
            iters=iterations,
            callback_fn=after_block,
            warm_start=start,
        )
        latest = jax.block_until_ready(model).marginals
    except _OutOfTime:
        pass
    return time.perf_counter() - started, done, latest


def _vector(one: FitSet, found: Mapping[Clique, np.ndarray]) -> mbi.CliqueVector:
    """Our potentials in mbi's form, each inside a clique that contains it."""
    domain = mbi.Domain(one.domain.names, one.domain.sizes)
    tables = {
        clique: mbi.Factor(domain.project(clique), values.reshape(one.domain.shape(clique)))
        for clique, values in found.items()
    }
    largest = [c for c in found if not any(set(c) < set(other) for other in found)]
    return mbi.CliqueVector(domain, list(found), tables).expand(largest)
