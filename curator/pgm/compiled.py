"""Compilation of hot loops, cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "reassoc"},
    "no_cfunc_wrapper": True,
}


def compiled(function: F) -> F:
    """Compile a function of arrays and numbers; it releases the GIL.

    Sums may be reordered for vectorisation; infinities and NaN keep their meaning. The machine code is cached
    beside the source, or in the user's cache folder if that is read-only, or not at all. The function is
    compiled again when its own file changes: functions that call each other belong in one file.
    """
    try:
        return cast(F, numba.njit(cache=True, **_OPTIONS)(function))
    except RuntimeError:
        return cast(F, numba.njit(**_OPTIONS)(function))


def compiled_part(function: F) -> F:
    """Compile a function that only compiled functions call: without an entry from Python, in less time."""
    return cast(F, numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function))
