"""Processes that a command starts beside itself."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .locks import POSIX


def end_with_the_command() -> None:
    """Ends this process when the command has ended, also where that was killed and could end nobody.

    Run by: a process beside the command, first of all.
    """
    command = multiprocessing.parent_process()
    if command is None:
        raise ValueError("expected a process that another one started")

    def wait() -> None:
        command.join()
        os._exit(1)

    threading.Thread(target=wait, name="the command's end", daemon=True).start()


@contextmanager
def left_to_the_command() -> Iterator[None]:
    """Processes that are started meanwhile never receive Ctrl-C, which a terminal sends to all at once.

    The command ends them. A handler in the process itself would come too late: after its imports.
    """
    if not POSIX:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
