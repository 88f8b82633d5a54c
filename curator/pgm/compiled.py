"""Compilation of hot loops: once per machine, kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a function of arrays and numbers; threads run it side by side.

    Sums may be reordered, so that they are vectorised; infinities and NaN keep their meaning. The machine
    code is kept beside the source, or in the user's cache folder where that cannot be written, or nowhere
    where neither can. It is made anew when the function's own file changes: functions that call each other
    belong in one file.
    """
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"contract", "nsz", "reassoc"},
    }
    try:
        return cast(F, numba.njit(cache=True, **options)(function))
    except RuntimeError:
        return cast(F, numba.njit(**options)(function))
