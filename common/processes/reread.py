"""A value read from files, and read again when one of them has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class Reread(Generic[_Value]):
    """A value read from files, and read again when one of them has changed.

    Args:
        make: reads the files.
        paths: the files that exist now.
    """

    def __init__(self, make: Callable[[], _Value], paths: Callable[[], Iterable[Path]]) -> None:
        self._make = make
        self._paths = paths
        self._lock = threading.Lock()
        self._stamp = self._file_states()
        self._value = make()

    def __call__(self) -> _Value:
        """The current value."""
        with self._lock:
            if (stamp := self._file_states()) != self._stamp:
                self._value, self._stamp = self._make(), stamp
            return self._value

    def _file_states(self) -> tuple[tuple[str, int, int], ...]:
        states = [(path.name, path.stat()) for path in self._paths()]
        return tuple((name, state.st_mtime_ns, state.st_ino) for name, state in states)
