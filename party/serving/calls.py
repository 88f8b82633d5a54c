"""What a party's log says of one call, whichever way it came."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator

from ...common.errors import MosaicError
from .events import Event, Log


class Call:
    """Counts what one call moves, and tells the log when it ends.

    Args:
        method: that is called.
        log: is told.
        caller: the beginning of the fingerprint of the caller's certificate, where it is known.
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
        """Tells the log."""
        seconds = round(time.monotonic() - self._began, 3)
        self._log(Event("call", self._method, self._caller, code, seconds, self._in, self._out, reason))


def reason(error: Exception) -> str:
    """The text of our own errors; of others the place alone, since their texts may hold values."""
    if isinstance(error, MosaicError):
        return str(error)
    places = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} at " + " < ".join(f"{p.name}:{p.lineno}" for p in reversed(places[-4:]))
