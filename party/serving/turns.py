"""One step at a time for each release: calls that arrive together take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from weakref import WeakValueDictionary


class _Turn:
    """The lock of one release; plain locks cannot be held weakly everywhere."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


class Turns:
    """Gives every release its turn.

    A call gives it up while it waits for the network, so that two calls that wait for each other's frames do
    not stand still.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._turns: WeakValueDictionary[str, _Turn] = WeakValueDictionary()

    def of(self, release_id: str) -> Turn:
        """A call's turns in a release."""
        with self._guard:
            turn = self._turns.get(release_id)
            if turn is None:
                turn = self._turns[release_id] = _Turn()
        return Turn(turn)


class Turn:
    """One call's turns; it computes while it has one, and waits for others without.

    Args:
        turn: of its release.
    """

    def __init__(self, turn: _Turn) -> None:
        self._turn = turn

    def replies(self, begin: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
        """What a call replies: each reply is computed in a turn and handed over outside.

        Args:
            begin: starts the call; it runs in the first turn.
        """
        with self._turn.lock:
            replies = begin()
            reply = next(replies, None)
        while reply is not None:
            yield reply
            with self._turn.lock:
                reply = next(replies, None)

    def outside(self, requests: Iterator[bytes]) -> Iterator[bytes]:
        """The requests of a call that is in its turn, each waited for outside."""
        while True:
            self._turn.lock.release()
            try:
                request = next(requests, None)
            finally:
                self._turn.lock.acquire()
            if request is None:
                return
            yield request
