"""Linear algebra on one processor core."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Limits BLAS to one thread: products are small here, and its threads spin while they wait for others."""
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
