"""Ctrl-C and SIGTERM while a command makes a release: one sentence says what was spent, and the process ends.

The main thread removes what it keeps in temporary folders. It may be inside compiled code for seconds, or
wait for threads there, so another thread reads the signal too, and ends the process after a second in any
case.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.util
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from ..common.errors import MosaicError
from ..common.privacy.budget import Accountant

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_CLEARING_S = 1.0
"""Seconds in which the main thread may clear up, before the process ends in any case."""

_SHOW_CURSOR = "\r\x1b[?25h"
"""A progress bar hides the cursor of a terminal."""


class Charged(Protocol):
    """What charges an accountant: a measurer, or counts of a first step."""

    accountant: Accountant


class Spending:
    """What the release that a command makes has spent so far.

    Args:
        budget: the budget in words, such as "epsilon 1".
    """

    def __init__(self, budget: str) -> None:
        self._budget = budget
        self._measured: list[tuple[float, Charged]] = []
        self._folder: Path | None = None
        self.cleared = threading.Event()

    def measure(self, measurer: Charged, share: float) -> None:
        """Counts what a measurer charges.

        Args:
            measurer: before its first charge.
            share: the share of the budget that it was granted.
        """
        self._measured.append((share, measurer))

    def write(self, folder: Path) -> None:
        """Files are written from now on."""
        self._folder = folder

    @property
    def share(self) -> float:
        """The share of the budget that was charged, in zCDP."""
        return sum(share * measurer.accountant.spent_share for share, measurer in self._measured)

    @property
    def told(self) -> str:
        """What was spent, and what was written."""
        if not self.share:
            return "nothing was spent, and nothing was written"
        share = f"{self.share:.0%}".replace("%", " %") if self.share >= 0.01 else "less than 1 %"
        spent = f"{share} of the budget ({self._budget}) was spent"
        if self._folder is None:
            return f"{spent} on noisy answers that nobody saw; nothing was written"
        return f"{spent}, and files may be missing in {self._folder}; delete the folder"


_RUNNING: list[Spending] = []
"""That of the command; a process has one answer to a signal."""


def count_spending(measurer: Charged, share: float) -> None:
    """Counts what a measurer charges if a command is running; see `Spending.measure`."""
    for spending in _RUNNING:
        spending.measure(measurer, share)


@contextmanager
def stoppable(budget: str) -> Iterator[Spending]:
    """Until its end, a signal ends this process with one sentence and exit status 128 + its number.

    An error says what was spent too, if anything was.

    Run by: a command, in the main thread.

    Args:
        budget: see `Spending`.
    """
    spending = Spending(budget)
    arrived, sent = os.pipe()
    os.set_blocking(sent, False)
    handlers = {number: signal.signal(number, _interrupt) for number in SIGNALS}
    before = signal.set_wakeup_fd(sent, warn_on_full_buffer=False)
    waiting = threading.Thread(target=_wait, args=(arrived, spending), name="stopping", daemon=True)
    waiting.start()
    _RUNNING.append(spending)
    try:
        yield spending
    except MosaicError as error:
        if spending.share:
            raise type(error)(f"{error}. {spending.told}") from error
        raise
    except KeyboardInterrupt:
        spending.cleared.set()
        waiting.join()  # It ends the process.
    finally:
        _RUNNING.remove(spending)
        signal.set_wakeup_fd(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        os.close(sent)
        waiting.join()
        os.close(arrived)


def _interrupt(number: int, frame: object) -> None:
    """Makes the main thread clear up, once."""
    for each in SIGNALS:
        signal.signal(each, _leave)
    raise KeyboardInterrupt


def _leave(number: int, frame: object) -> None:
    """The process ends already."""


def _wait(arrived: int, spending: Spending) -> None:
    """Reads the numbers of signals until one of `SIGNALS` arrives, or the pipe is closed."""
    while number := os.read(arrived, 1):
        if number[0] in SIGNALS:
            _end(spending, 128 + number[0])


def _end(spending: Spending, status: int) -> None:
    """Ends the process with the sentence."""
    for process in multiprocessing.active_children():
        process.kill()
    spending.cleared.wait(_CLEARING_S)
    start = _SHOW_CURSOR if sys.stderr.isatty() else ""
    os.write(sys.stderr.fileno(), f"{start}stopped: {spending.told}\n".encode())
    # Otherwise another process of Python's would find semaphores that nobody removed, and say so.
    multiprocessing.util._exit_function()  # type: ignore[attr-defined]
    os._exit(status)
