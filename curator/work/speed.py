"""How fast this machine does the work of a release, measured once and kept.

Limits of time are counted at the rates of one reference core (`limits`). The speed turns seconds of this
machine into those. It is a property of the machine: the work is fixed, and no records are read.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numba
import numpy as np

from ...common.bounded import json_of, read_bytes
from ...common.data.domain import Domain
from ...common.files.writing import whole_file
from ..pgm.blas import one_thread
from ..pgm.compiled import folder_of
from ..pgm.inference.belief_propagation import pass_messages
from ..pgm.inference.oracle import MarginalOracle
from ..pgm.rows.sweeps import Columns, Marginal, sweep
from ..pgm.structure.junction_tree import JunctionTree

REFERENCE_S = 0.1
"""Processor seconds of the work on the reference core, of an AMD EPYC (Milan) at 2.45 GHz."""

_TIMED_RUNS = 6
"""The fastest counts: other work can only slow one down, and the first one loads what is compiled."""

_FILE = "speed.json"


def speed() -> float:
    """Seconds of the reference core's work that one core of this machine does in a second.

    It is kept beside the cache of compiled functions, and measured again on another machine or with other
    versions. Where there is no such folder, or it is read-only, it is measured each time. To measure takes
    about a second, and the time to compile what a release needs too.
    """
    folder = folder_of(pass_messages)
    path = None if folder is None else folder / _FILE
    known = None if path is None else _kept_speed(path)
    if known is not None:
        return known
    found = measure_speed(time.thread_time)
    if path is not None:
        _keep(path, found)
    return found


def measure_speed(clock: Callable[[], float]) -> float:
    """The speed by a clock.

    Args:
        clock: processor seconds of this thread.
    """
    return REFERENCE_S / min(_seconds_of_work(clock) for _ in range(_TIMED_RUNS))


def _seconds_of_work(clock: Callable[[], float]) -> float:
    started = clock()
    with one_thread():
        _marginals_of_a_model()
        _adjusted_rows()
        _small_tables()
        _decompositions()
    return clock() - started


def _marginals_of_a_model() -> None:
    names = [f"x{place}" for place in range(12)]
    domain = Domain.coded(dict.fromkeys(names, 16))
    cliques = tuple((names[place], names[place + 1], names[place + 2]) for place in range(10))
    oracle = MarginalOracle(JunctionTree(domain, cliques, tuple(range(-1, 9))), cliques, 1000.0)
    potentials = np.random.default_rng(0).normal(size=sum(map(domain.cells, cliques)))
    for _ in range(60):
        oracle(potentials)


def _adjusted_rows() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 8, (20_000, 10)).astype(np.int32)
    pairs = itertools.combinations(range(10), 2)
    surplus = (rng.normal(scale=20.0, size=(8, 8)).astype(np.float32) for _ in itertools.count())
    sweep(codes, Columns.of((8,) * 10, []), [*map(Marginal, pairs, surplus)])


def _small_tables() -> None:
    """Most of this is Python's own work and that of calls."""
    table = np.random.default_rng(0).random((8, 8))
    for _ in range(2500):
        shares = table / table.sum()
        independent = shares.sum(axis=1)[:, None] * shares.sum(axis=0)
        np.argsort(np.abs(shares - independent).reshape(-1))


def _decompositions() -> None:
    values = np.random.default_rng(0).normal(size=(200, 200))
    for _ in range(3):
        np.linalg.eigh(values @ values.T)


def _machine() -> str:
    """What names this machine and the versions on it, in a few letters that say nothing else."""
    said = (
        REFERENCE_S,
        platform.node(),
        platform.machine(),
        platform.processor(),
        os.cpu_count(),
        platform.python_version(),
        np.__version__,
        numba.__version__,
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def _kept_speed(path: Path) -> float | None:
    """The speed in a file; None if there is none, it is damaged, or it is of another machine."""
    try:
        said = json_of(read_bytes(path))
        found = float(said["speed"]) if said["machine"] == _machine() else 0.0
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if 0 < found < math.inf else None


def _keep(path: Path, found: float) -> None:
    # Without a writable folder the speed is not kept.
    with suppress(OSError), whole_file(path) as draft:
        draft.write_text(json.dumps({"machine": _machine(), "speed": found}) + "\n")
