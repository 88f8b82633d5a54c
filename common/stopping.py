"""How a process that serves is told to stop."""

from __future__ import annotations

import signal
from queue import Empty, SimpleQueue


class Stop:
    """Something to wait for that a signal's handler and any thread can bring about.

    An event will not do: its lock may be held where a signal comes in, and a simple queue can be put into
    anywhere.
    """

    def __init__(self) -> None:
        self._told: SimpleQueue[None] = SimpleQueue()

    def at_signals(self) -> Stop:
        """SIGTERM and SIGINT bring it about; to be called by the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.tell())
        return self

    def tell(self) -> None:
        """Ends one wait, under way or to come."""
        self._told.put(None)

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it was told to stop, at the latest after so many seconds."""
        try:
            self._told.get(timeout=seconds)
        except Empty:
            return False
        return True
