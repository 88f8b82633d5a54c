"""What a party's daemon tells its operator: one JSON object a line, never a value, a count or a key."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TextIO


@dataclass(frozen=True)
class Event:
    """Something that happened.

    Attributes:
        event: what, such as "call" or "started".
        method: of the call.
        caller: the beginning of the fingerprint of who called.
        code: status of the call, such as "OK" or "PERMISSION_DENIED"; or the state that was entered.
        seconds: how long it took.
        bytes_in: of all requests of the call.
        bytes_out: of all its replies.
        reason: the text of an error, for the operator alone.
        address: where the party listens.
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


def silent(event: Event) -> None:
    """Tells nobody."""


class EventLog:
    """Writes every event twice: in full for the operator, and in codes alone for whoever helps from outside.

    Args:
        local: gets all fields.
        shareable: gets time, event, method and code; None where nothing is kept to be shared.
        now: the clock.
    """

    def __init__(
        self,
        local: TextIO,
        shareable: TextIO | None = None,
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
    def _write(stream: TextIO, entry: dict[str, object]) -> None:
        stream.write(json.dumps(entry) + "\n")
        stream.flush()
