"""Concurrent calls: those of one release take turns, and callers share how many may be open."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from weakref import WeakValueDictionary


def _count_nothing(release_id: str) -> AbstractContextManager[None]:
    return contextlib.nullcontext()


class _Turn:
    """The lock of one release; a class, since not all lock types support weak references."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Turns:
    """Locks of all releases.

    A call releases the lock while it waits for the network, so that two calls that wait for each other do not
    deadlock.

    Args:
        counted: given the id of a release, a context in which a call computes for it.
    """

    def __init__(self, counted: Callable[[str], AbstractContextManager[None]] = _count_nothing) -> None:
        self._counted = counted
        self._guard = threading.Lock()
        self._turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()

    def of(self, release_id: str) -> Turn:
        """The turns of a new call in a release."""
        with self._guard:
            turn = self._turns.get(release_id)
            if turn is None:
                turn = self._turns[release_id] = _Turn()
        return Turn(turn, lambda: self._counted(release_id))


class Turn:
    """The turns of one call: it computes in a turn, and waits for the network outside.

    Args:
        turn: lock of its release.
        counted: context in which it computes.
    """

    def __init__(self, turn: _Turn, counted: Callable[[], AbstractContextManager[None]]) -> None:
        self._turn = turn
        self._counted = counted

    def replies(self, begin: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
        """The replies of a call, each computed in a turn and yielded outside.

        Args:
            begin: starts the call, in the first turn.
        """
        with self._turn.lock, self._counted():
            replies = begin()
            reply = next(replies, None)
        while reply is not None:
            yield reply
            with self._turn.lock, self._counted():
                reply = next(replies, None)

    def outside(self, requests: Iterator[bytes]) -> Iterator[bytes]:
        """The requests of a call that is in its turn; it waits for each outside."""
        while True:
            self._turn.lock.release()
            try:
                request = next(requests, None)
            finally:
                self._turn.lock.acquire()
            if request is None:
                return
            yield request


class Shares:
    """Counts the open calls of each caller; thread-safe.

    A call has a thread until it ends, also if its caller sends nothing, so each caller has its share of them.

    Args:
        most: number of calls that all callers together may hold open.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def one_more(self, caller: str, callers: int) -> Iterator[bool]:
        """Counts another open call of a caller until it ends.

        Args:
            caller: fingerprint of its certificate.
            callers: number of those that may call.

        Yields:
            Whether the caller has room for it.
        """
        with self._lock:
            self._open[caller] += 1
            room = self._open[caller] <= max(1, self._most // max(1, callers))
        try:
            yield room
        finally:
            with self._lock:
                self._open[caller] -= 1
                # Certificates change: those of earlier callers are forgotten.
                self._open += Counter()
