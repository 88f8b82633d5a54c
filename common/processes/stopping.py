"""Stop request for a serving process."""

from __future__ import annotations

import signal
from queue import Empty, SimpleQueue


class Stop:
    """A stop request that a signal handler or any thread can make.

    A `threading.Event` does not suffice: its lock may be held when a signal arrives, while `SimpleQueue.put`
    is reentrant.
    """

    def __init__(self) -> None:
        self._requests: SimpleQueue[None] = SimpleQueue()

    def at_signals(self) -> Stop:
        """Lets SIGTERM and SIGINT request the stop; to be called in the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.request())
        return self

    def request(self) -> None:
        """Ends one wait, now or later."""
        self._requests.put(None)

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for a request, at most so many seconds; returns whether there was one."""
        try:
            self._requests.get(timeout=seconds)
        except Empty:
            return False
        return True
