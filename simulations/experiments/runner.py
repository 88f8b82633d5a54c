"""Runs cells in several processes; if one of them ends, the results of the others are kept."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, ForkServerProcess

from .cell import Cell
from .measures import Values, run_cell
from .store import Failure, Result, Store
from .tables import DataFolder

_PATIENCE_S = 5.0

Report = Callable[[int, int, Result | None], None]
"""Called with the number of finished cells, the number of all cells and the last result (None at first)."""


@dataclass(frozen=True)
class Work:
    """A cell to run, and the digest of its table."""

    cell: Cell
    table_digest: str


def missing(cells: Sequence[Cell], store: Store, data: DataFolder) -> list[Work]:
    """The cells without a result or with a failure, without duplicates."""
    work = []
    for cell in dict.fromkeys(cells):
        digest = table_digest(cell, data)
        result = store.read(cell, digest)
        if result is None or result.failure is not None:
            work.append(Work(cell, digest))
    return work


def table_digest(cell: Cell, data: DataFolder) -> str:
    """The digest of a cell's table; empty if the table is missing."""
    if data.files(cell.table) is None:
        return ""
    return data.load(cell.table, cell.binary).digest()


def run(work: Sequence[Work], store: Store, data: DataFolder, processes: int, report: Report) -> None:
    """Runs cells and stores their results.

    A cell that fails, or whose process dies, gets a failure as its result. An interrupt ends the processes;
    the results so far are kept.

    Args:
        work: cells to run, started in this order.
        store: store of results.
        data: folder of tables.
        processes: number of cells that run in parallel, at least 1.
        report: called before the first and after every cell.
    """
    pool = _Pool(data, min(processes, len(work)))
    try:
        report(0, len(work), None)
        for done, (item, outcome) in enumerate(pool.results(work), start=1):
            failure = outcome if isinstance(outcome, Failure) else None
            result = Result(item.cell, {} if isinstance(outcome, Failure) else outcome, failure)
            store.write(result, item.table_digest)
            report(done, len(work), result)
    finally:
        pool.close()


class _Pool:
    """Processes that each run one cell at a time; a process that dies is replaced."""

    def __init__(self, data: DataFolder, size: int) -> None:
        self._context = get_context("forkserver")
        # The imports of a cell take seconds: the server does them once for all processes that it forks.
        self._context.set_forkserver_preload([run_cell.__module__])
        self._data = data
        self._size = size
        self._processes: dict[Connection, ForkServerProcess] = {}
        self._running: dict[Connection, Work] = {}

    def results(self, work: Sequence[Work]) -> Iterator[tuple[Work, Values | Failure]]:
        """Yields each item with its values or its failure, in the order of completion."""
        waiting = deque(work)
        for _ in range(self._size):
            self._give(self._start(), waiting.popleft())
        while self._running:
            for ready in wait(list(self._running)):
                assert isinstance(ready, Connection)
                item = self._running.pop(ready)
                try:
                    outcome = ready.recv()
                except (EOFError, ConnectionResetError):
                    outcome = Failure(
                        "ProcessDied", "the process that ran this cell ended, perhaps for lack of memory"
                    )
                if waiting:
                    self._give(ready, waiting.popleft())
                yield item, outcome

    def close(self) -> None:
        """Ends all processes, even during a cell."""
        for connection, process in self._processes.items():
            process.terminate()
            process.join(_PATIENCE_S)
            if process.is_alive():
                process.kill()
                process.join()
            connection.close()
        self._processes.clear()

    def _start(self) -> Connection:
        here, there = self._context.Pipe()
        process = _process(self._context, there, self._data)
        process.start()
        there.close()
        self._processes[here] = process
        return here

    def _give(self, connection: Connection, item: Work) -> None:
        """Gives a process its next cell, or another process if this one has ended."""
        try:
            connection.send(item.cell)
        except (BrokenPipeError, ConnectionResetError):
            self._processes.pop(connection).join(_PATIENCE_S)
            connection.close()
            connection = self._start()
            connection.send(item.cell)
        self._running[connection] = item


def _process(context: ForkServerContext, connection: Connection, data: DataFolder) -> ForkServerProcess:
    return context.Process(target=_serve, args=(connection, data), daemon=True)


def _serve(connection: Connection, data: DataFolder) -> None:
    """Runs cells until the connection is closed."""
    # The parent process handles interrupts.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _use_one_core()
    while True:
        try:
            cell = connection.recv()
        except (EOFError, ConnectionResetError):
            return
        try:
            outcome: Values | Failure = run_cell(cell, data)
        except Exception as error:
            outcome = Failure(type(error).__name__, str(error))
        try:
            connection.send(outcome)
        except (BrokenPipeError, ConnectionResetError):
            return


def _use_one_core() -> None:
    """Limits the process to one thread, since several processes share the machine."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
