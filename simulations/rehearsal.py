"""The first run on a machine: kernels are compiled by two processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess

import numpy as np
from numba.core import event

from ..common.data.domain import Domain
from ..common.data.view import View
from ..common.measurement import Measurement
from ..common.processes.children import left_to_the_command
from ..common.processes.workers import cores
from ..curator.mechanisms.mosaic.one_way import sticky_levels
from ..curator.mechanisms.mosaic.settings import SETTINGS
from ..curator.pgm.fitting.descent import descend
from ..curator.pgm.fitting.loss import QuadraticLoss
from ..curator.pgm.inference.oracle import MarginalOracle
from ..curator.pgm.model import MarkovRandomField
from ..curator.pgm.rows.counting import pairs_on_cores
from ..curator.pgm.rows.sampling import generate
from ..curator.pgm.rows.sweeps import Columns, Marginal, sweep
from ..curator.pgm.structure.junction_tree import JunctionTree


def rehearse() -> None:
    """Runs the kernels of a release on a small table without records.

    It leaves out the search for elimination orders: a release needs it first, and compiles it meanwhile.
    """
    # The sizes make codes and cells of each width that usual tables have.
    domain = Domain.coded({"a": 300, "b": 300, "c": 4})
    tree = JunctionTree(domain, (("a", "b"), ("b", "c")), (-1, 0))
    measured = Measurement(View(("b", "c")), np.ones(1200), 1.0, 0.0)
    loss = QuadraticLoss.of(domain, [measured])
    oracle = MarginalOracle(tree, loss.cliques, 1000.0)
    oracle(np.zeros(1200))
    beliefs = oracle.beliefs()
    sticky_levels(np.arange(float(SETTINGS.chain_from)), np.ones(SETTINGS.chain_from))
    descend(oracle, loss, np.zeros(1200), 1, 1.0)
    rng = np.random.default_rng(0)
    table = generate(MarkovRandomField(domain, tree, beliefs, 1000.0, {}, 0.0, 0), 1000, rng)
    columns = dict(zip(domain.names, table.columns, strict=True))
    pairs_on_cores(columns, dict(zip(domain.names, domain.sizes, strict=True)), [("b", "c")])
    codes = np.zeros((8, 2), dtype=np.int32)
    sweep(codes, Columns.of((2, 2), []), [Marginal((0, 1), np.zeros((2, 2), dtype=np.float32))])


@contextmanager
def compiling_beside() -> Iterator[None]:
    """While something has to be compiled, another process compiles what will be needed next.

    Both share the cache on disk (`compiled`). Without a second core there is no other process.

    Run by: a command, whose own module a new process can import; not a library.
    """
    listener = _Starter()
    with event.install_listener("numba:compile", listener):
        try:
            yield
        finally:
            listener.stop()


class _Starter(event.Listener):
    """Starts the other process at the first compilation."""

    def __init__(self) -> None:
        self._started = cores() < 2
        self._process: BaseProcess | None = None

    def on_start(self, event: event.Event) -> None:
        if self._started:
            return
        self._started = True
        process = multiprocessing.get_context("spawn").Process(target=rehearse, daemon=True)
        # Without it, this process compiles everything.
        with suppress(OSError), left_to_the_command():
            process.start()
            self._process = process

    def on_end(self, event: event.Event) -> None:
        pass

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
