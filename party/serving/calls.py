"""The log event of one call, independent of the transport."""

from __future__ import annotations

import time
from collections.abc import Iterator

from .events import Event, Log


class Call:
    """Counts the bytes of one call, and logs its end.

    Args:
        method: name of the called method.
        log: receives the event.
        caller: first characters of the fingerprint of the caller's certificate, if known.
    """

    def __init__(self, method: str, log: Log, caller: str = "") -> None:
        self._method = method
        self._caller = caller
        self._log = log
        self._began = time.monotonic()
        self._in = self._out = 0

    def counted_in(self, requests: Iterator[bytes]) -> Iterator[bytes]:
        """The requests, counted."""
        for request in requests:
            self._in += len(request)
            yield request

    def counted_out(self, replies: Iterator[bytes]) -> Iterator[bytes]:
        """The replies, counted."""
        for reply in replies:
            self._out += len(reply)
            yield reply

    def end(self, code: str, reason: str = "") -> None:
        """Logs the end of the call."""
        seconds = round(time.monotonic() - self._began, 3)
        self._log(Event("call", self._method, self._caller, code, seconds, self._in, self._out, reason))
