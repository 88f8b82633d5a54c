"""What a daemon's operator should know between two looks at the log: each thing is told once."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping

from ...common.errors import MosaicError
from ...common.processes.notices import Notifier
from ..home.folder import Condition
from .events import Event, Log

WATCH_SECONDS = 30.0


class Watch:
    """Looks at conditions periodically, beside all calls; tells each thing in the log and by a notice.

    A thing that no longer holds is told again when it holds again.

    Args:
        conditions: event -> condition.
        notifier: sends the notices.
        log: receives an event for each.
        every_s: seconds between two looks.
    """

    def __init__(
        self,
        conditions: Mapping[str, Condition],
        notifier: Notifier,
        log: Log,
        every_s: float = WATCH_SECONDS,
    ) -> None:
        self._conditions = conditions
        self._notifier = notifier
        self._log = log
        self._every_s = every_s
        self._told: dict[str, set[str]] = {event: set() for event in conditions}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watch", daemon=True)

    def start(self) -> None:
        """Looks now, and then periodically."""
        self._thread.start()

    def look(self) -> None:
        """Tells what holds and was not told."""
        for event, condition in self._conditions.items():
            try:
                holds = set(condition())
            except (MosaicError, OSError, sqlite3.Error):
                # Health tells what cannot be read.
                continue
            if holds - self._told[event]:
                self._log(Event("notice", code=event.upper()))
                self._notifier.send(event)
            self._told[event] = holds

    def stop(self) -> None:
        """Ends the looks."""
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        self.look()
        while not self._stopped.wait(self._every_s):
            self.look()
