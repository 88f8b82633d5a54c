"""Processes that a command starts beside itself."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def left_to_the_command() -> Iterator[None]:
    """Processes that are started meanwhile never receive Ctrl-C, which a terminal sends to all at once.

    The command ends them. A handler in the process itself would come too late: after its imports.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
