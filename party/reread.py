"""What a daemon reads from its keys and pins, read again when they change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..common.keyring import CERTIFICATE
from .folder import TRUSTED

if TYPE_CHECKING:
    from ..common.wire.tls import TlsSide


class Reread:
    """A value read from files, and read again when one of them has changed.

    Args:
        make: reads the files.
        folder: folder of the files.
    """

    def __init__(self, make: Callable[[], TlsSide], folder: Path) -> None:
        self._make = make
        self._folder = folder
        self._lock = threading.Lock()
        self._stamp = self._seen()
        self._value = make()

    def __call__(self) -> TlsSide:
        """The current value."""
        with self._lock:
            if (stamp := self._seen()) != self._stamp:
                self._value, self._stamp = self._make(), stamp
            return self._value

    def _seen(self) -> tuple[tuple[str, int, int], ...]:
        paths = [self._folder / CERTIFICATE, *sorted((self._folder / TRUSTED).glob("*.json"))]
        states = [(path.name, path.stat()) for path in paths]
        return tuple((name, state.st_mtime_ns, state.st_ino) for name, state in states)
