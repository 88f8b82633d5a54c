"""Log of a party's daemon: one JSON object per line, without data values, counts or keys."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Protocol


@dataclass(frozen=True)
class Event:
    """One event of the log.

    Attributes:
        event: kind of event, such as "call" or "started".
        method: method of the call.
        caller: first characters of the fingerprint of the caller's certificate.
        code: status of the call, such as "OK" or "PERMISSION_DENIED"; or the new state.
        seconds: duration of the call.
        bytes_in: bytes of all requests of the call.
        bytes_out: bytes of all replies of the call.
        reason: text of an error, only for the operator.
        address: address on which the party listens.
    """

    event: str
    method: str = ""
    caller: str = ""
    code: str = "OK"
    seconds: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    reason: str = ""
    address: str = ""


Log = Callable[[Event], None]


class Lines(Protocol):
    """Takes lines, such as a file."""

    def write(self, text: str, /) -> object:
        """Takes a line."""

    def flush(self) -> object:
        """Hands on what was taken."""


def silent(event: Event) -> None:
    """Discards an event."""


class EventLog:
    """Writes every event twice: in full for the operator, and only codes for external support.

    Args:
        local: receives all fields.
        shareable: receives time, event, method and code; None for no shareable log.
        now: returns the current time.
    """

    def __init__(
        self,
        local: Lines,
        shareable: Lines | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._local = local
        self._shareable = shareable
        self._now = now
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Writes one event."""
        stamp: dict[str, object] = {"time": self._now().isoformat(timespec="milliseconds")}
        full: dict[str, object] = {
            name: value for name, value in asdict(event).items() if value not in ("", 0, 0.0)
        }
        codes = {name: full[name] for name in ("event", "method", "code") if name in full}
        with self._lock:
            self._write(self._local, stamp | full)
            if self._shareable is not None:
                self._write(self._shareable, stamp | codes)

    @staticmethod
    def _write(stream: Lines, entry: dict[str, object]) -> None:
        # A full disk must not end the call that is logged; the line is written when there is room again.
        with contextlib.suppress(OSError):
            stream.write(json.dumps(entry) + "\n")
            stream.flush()
