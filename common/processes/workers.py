"""Work on ranges of rows: on the calling thread, in threads, or on the machines of a Dask cluster.

A piece of work is a function of a module with arguments that can be pickled, and depends on nothing else, so
that a piece whose worker died is done again by another one, with the same result.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from threadpoolctl import threadpool_limits

from ..errors import PartyUnavailable
from ..extras import require_extra
from .pool import Pool, check_link

MANY_RECORDS = 1 << 19
"""With fewer records, the calling thread is done before others have the work."""

_TIMES_BEGUN = 4
"""So many times the work that is under way is begun."""

Result = TypeVar("Result")


class RangeMap(Protocol):
    """Does pieces of work, and gives their results in order."""

    def __call__(
        self, function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]], records: int
    ) -> Iterator[Result]:
        """The results of a function of the arguments of each piece.

        Args:
            function: of a module.
            pieces: arguments of each piece of work; read as they are needed.
            records: number of rows of all of them.
        """


class Workers:
    """Where pieces of work are done; thread-safe.

    Args:
        begin: begins a pool; None to work on the calling thread alone.
        lost: what a call raises if its worker ended.
        remote: whether arguments are sent to other processes.
    """

    def __init__(
        self,
        begin: Callable[[], Pool] | None = None,
        lost: tuple[type[BaseException], ...] = (),
        *,
        remote: bool = False,
    ) -> None:
        self._begin = begin
        self._remote = remote
        self._lost: tuple[type[BaseException], ...] = (*lost, CancelledError)
        self._lock = threading.Lock()
        self._pool: Pool | None = None

    @classmethod
    def threads(cls, count: int | None = None) -> Workers:
        """Threads of this process: it computes in libraries that let other threads run.

        Products of matrices are then computed on one thread each, in the whole process.

        Args:
            count: how many; one for each of this process's processors if None. One is the calling thread.
        """
        number = cores() if count is None else count
        return cls((lambda: _threads(number)) if number > 1 else None)

    @classmethod
    def cluster(cls, address: str) -> Workers:
        """The workers of a Dask cluster.

        Args:
            address: of its scheduler, such as tls://host:8786; the keys and certificates for TLS are those
                that Dask's configuration names.

        Raises:
            DataError: what is sent to it would not be encrypted, and leaves this machine.
            MissingExtraError: Dask is not installed.
        """
        check_link(address)
        require_extra("cluster")
        from .cluster import LOST, connect

        return cls(lambda: connect(address), LOST, remote=True)

    def map(
        self,
        function: Callable[..., Result],
        pieces: Iterable[tuple[Any, ...]],
        records: int,
        spent: Callable[[float], None] = lambda seconds: None,
        *,
        here: bool = False,
    ) -> Iterator[Result]:
        """The results of a function of the arguments of each piece, in order.

        Memory: the pieces under way, two for each worker.

        Args:
            function: of a module.
            pieces: arguments of each piece of work; read as they are needed.
            records: number of rows of all of them.
            spent: called with the seconds that another thread computed for each piece.
            here: whether to send nothing: the work takes less time than sending its arguments.

        Raises:
            PartyUnavailable: workers ended, or could not be reached, again and again.
        """
        if self._begin is None or records < MANY_RECORDS or (here and self._remote):
            yield from itertools.starmap(function, pieces)
            return
        waiting = iter(pieces)
        pool, under_way, failures = self._begun(None), deque[tuple[tuple[Any, ...], Future[Any]]](), 0
        try:
            while True:
                for piece in itertools.islice(waiting, max(0, 2 * pool.workers - len(under_way))):
                    under_way.append((piece, pool.executor.submit(_run_timed, function, piece)))
                if not under_way:
                    return
                try:
                    result, seconds = under_way[0][1].result()
                except self._lost as cause:
                    failures += 1
                    if failures == _TIMES_BEGUN:
                        raise PartyUnavailable(
                            "the workers that compute ended again and again, or cannot be reached; look at "
                            "the cluster's scheduler and at the memory of its workers"
                        ) from cause
                    pool = self._begun(pool)
                    again = [piece for piece, _ in under_way]
                    under_way.clear()
                    under_way.extend((p, pool.executor.submit(_run_timed, function, p)) for p in again)
                    continue
                under_way.popleft()
                spent(seconds)
                yield result
        finally:
            for _, future in under_way:
                future.cancel()

    def close(self) -> None:
        """Ends the pool, if there is one."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
            self._pool = None

    def _begun(self, broken: Pool | None) -> Pool:
        """The pool; another one than `broken`."""
        assert self._begin is not None, "the calling thread needs no pool"
        with self._lock:
            if self._pool is None or self._pool is broken:
                if self._pool is not None:
                    self._pool.close()
                self._pool = self._begin()
            return self._pool


NONE = Workers()
"""No workers beside the calling thread."""


def inline(
    function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]], records: int
) -> Iterator[Result]:
    """See `RangeMap`: on the calling thread."""
    return itertools.starmap(function, pieces)


def _run_timed(function: Callable[..., Result], arguments: tuple[Any, ...]) -> tuple[Result, float]:
    """A result, and the seconds that this thread computed for it."""
    began = time.thread_time()
    return function(*arguments), time.thread_time() - began


def _threads(count: int) -> Pool:
    threadpool_limits(1)
    executor = ThreadPoolExecutor(count, thread_name_prefix="ranges")
    return Pool(executor, count, lambda: executor.shutdown(wait=True, cancel_futures=True))


def cores() -> int:
    """Processors that this process may use."""
    # Linux alone tells which of them.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
