"""Compilation of hot loops, cached on disk."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache

from ...common.processes.locks import lock

_COMPILING_S = 120.0
"""Seconds to wait for the process that compiles a function, before it is compiled here too."""

F = TypeVar("F", bound=Callable[..., Any])


# Its stubs lack some of its options.
_njit: Any = numba.njit
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "reassoc"},
    "no_cfunc_wrapper": True,
}


def compiled(function: F) -> F:
    """Compile a function of arrays and numbers; it releases the GIL.

    Sums may be reordered for vectorisation; infinities and NaN keep their meaning. The machine code is cached
    beside the source, or in the user's cache folder if that is read-only, or not at all. Processes that share
    this cache compile a function once: the others wait. It is compiled again when its own file changes:
    functions that call each other belong in one file.
    """
    dispatcher = _njit(**_OPTIONS)(function)
    # Without a writable folder there is no cache.
    with suppress(RuntimeError):
        dispatcher._cache = _OneAtATime(function)
    return cast(F, dispatcher)


def compiled_part(function: F) -> F:
    """Compile a function that only compiled functions call: without an entry from Python, in less time."""
    return cast(F, _njit(no_cpython_wrapper=True, **_OPTIONS)(function))


def folder_of(function: Callable[..., Any]) -> Path | None:
    """The folder of a compiled function's cache; None if there is no cache.

    It may not exist before something was compiled.
    """
    path: str | None = cast(Any, function).stats.cache_path
    return None if path is None else Path(path)


class _OneAtATime(FunctionCache):
    """A function's cache on disk, whose lock is held from a miss to the end of the compilation.

    If the process ends before, the lock is released.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._lock_path = Path(self.cache_path) / f"{function.__module__}.{function.__qualname__}.lock"
        self._lock: IO[str] | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None and self._lock is None:
            self._lock = _lock_file(self._lock_path)
            found = super().load_overload(sig, target_context)
            if found is not None:
                self._release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        finally:
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _lock_file(path: Path) -> IO[str] | None:
    """The file, locked; None where files cannot be locked, or if another process holds the lock for long."""
    waits_until = time.monotonic() + _COMPILING_S
    try:
        file = path.open("a")
    except OSError:
        return None
    with suppress(OSError):
        while not (locked := lock(file.fileno(), wait=False)) and time.monotonic() <= waits_until:
            time.sleep(0.02)
        if locked:
            return file
    file.close()
    return None
