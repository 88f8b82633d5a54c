"""Ctrl-C and SIGTERM while a command makes a release: one sentence says what was spent, and the process ends.

The main thread removes what it keeps in temporary folders. It may be inside compiled code for seconds, or
wait for threads there, so another thread reads the signal too, and ends the process after a second in any
case.
"""

from __future__ import annotations

import functools
import multiprocessing
import multiprocessing.util
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

from ..common.errors import MosaicError
from ..common.privacy.budget import Accountant

UNFINISHED = "unfinished"
"""Folder in that of a release from one table, until it is written; see `unfinished`."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)

_CLEARING_S = 1.0
"""Seconds in which the main thread may clear up, before the process ends in any case."""

_SHOW_CURSOR = "\r\x1b[?25h"
"""A progress bar hides the cursor of a terminal."""

_TIDY = "ignore::UserWarning:multiprocessing.resource_tracker"
"""Interpreter option of the process of Python's that removes the semaphores of one that ended.

A process that ends while another thread removes a semaphore leaves one that is registered and gone.
"""


class Charged(Protocol):
    """What charges an accountant: a measurer, or counts of a first step."""

    accountant: Accountant


class Spending:
    """What the release that a command makes has spent so far.

    Args:
        budget: the budget in words, such as "epsilon 1".
        again: what goes on with a release that stopped; by default `dpmosaic resume`.
    """

    def __init__(self, budget: str, again: str = "") -> None:
        self._budget = budget
        self._goes_on = again
        self._measured: list[tuple[float, Charged]] = []
        self._folder: Path | None = None
        self._kept: Path | None = None
        self._again, self._required = False, ""
        self._before = self._aligning = 0.0
        self._part = 1.0
        self.cleared = threading.Event()

    def measure(self, measurer: Charged, share: float) -> None:
        """Counts what a measurer charges.

        Args:
            measurer: before its first charge.
            share: the share of the budget that it was granted.
        """
        self._measured.append((share * self._part, measurer))

    def go_to(self, part: float) -> float:
        """From now on, the whole budget of what is measured is this part of that of the command.

        Returns:
            The part before.
        """
        before, self._part = self._part, part
        return before

    def write(self, folder: Path) -> None:
        """Files are written from now on."""
        self._folder, self._kept = folder, None

    def keep(self, folder: Path, before: float) -> None:
        """A folder keeps all answers, from which the release goes on.

        Args:
            folder: of the release.
            before: the share of the budget that was charged before; its charges are made again here.
        """
        self._kept, self._before = folder, before

    def go_on(self, folder: Path) -> None:
        """A folder holds a release that stopped, and that goes on."""
        self._kept, self._again = folder, True

    def require(self, option: str) -> None:
        """The release goes on only with an option that it began without."""
        self._required = f" {option}"

    def align(self, rho: float) -> None:
        """Rows are aligned, which has a budget of its own, zCDP; all of it is charged at once."""
        self._aligning = rho

    @property
    def anything(self) -> bool:
        """Whether anything was charged."""
        return bool(self.share or self._aligning)

    @property
    def share(self) -> float:
        """The share of the budget that was charged, in zCDP."""
        return max(
            self._before, sum(share * measurer.accountant.spent_share for share, measurer in self._measured)
        )

    @property
    def _going_on(self) -> str:
        return f"{self._goes_on or f'`dpmosaic resume {self._kept}{self._required}`'} goes on"

    @property
    def description(self) -> str:
        """What was spent, and what was written."""
        if not self.anything and self._again:
            return f"nothing more was spent; {self._going_on}"
        if not self.anything:
            return "nothing was spent, and nothing was written"
        share = f"{self.share:.0%}".replace("%", " %") if self.share >= 0.01 else "less than 1 %"
        parts = [f"{share} of the budget ({self._budget})"] if self.share else []
        parts += [f"the alignment's budget (rho {self._aligning:g})"] if self._aligning else []
        spent = f"{' and '.join(parts)} {'were' if len(parts) > 1 else 'was'} spent"
        if self._kept is not None:
            return f"{spent}; {self._going_on}, and charges nothing twice"
        if self._folder is None:
            return f"{spent} on noisy answers that nobody saw; nothing was written"
        return f"{spent}, and files may be missing in {self._folder}; delete the folder"


_COMMANDS: list[Spending] = []
"""That of the command, as a process has one answer to a signal."""

_COUNTED: ContextVar[tuple[Spending, ...]] = ContextVar("counted", default=())
"""Those of ledgers: releases of several threads have each its own."""


@contextmanager
def counted_spending() -> Iterator[Spending]:
    """Counts what the releases of this thread charge until the end of the block, without a command too."""
    spending = Spending("")
    before = _COUNTED.set((*_COUNTED.get(), spending))
    try:
        yield spending
    finally:
        _COUNTED.reset(before)


def running() -> tuple[Spending, ...]:
    """What counts the charges of a release: that of the command, if one runs, and those of ledgers."""
    return (*_COMMANDS, *_COUNTED.get())


def share_spent() -> float:
    """The share of its budget that a running release has charged; 0 without one."""
    return max((spending.share for spending in running()), default=0.0)


def spends(command: Callable[..., None]) -> Callable[..., None]:
    """A command that can be stopped; its options `epsilon` and perhaps `rho` are its budget."""

    @functools.wraps(command)
    def stoppable_command(**options: Any) -> None:
        given = {name: options.get(name) for name in ("epsilon", "rho")}
        stated = ", ".join(f"{name} {value:g}" for name, value in given.items() if value is not None)
        with stoppable(stated) as spending:
            out = options["out"]
            if out is not None and (out / UNFINISHED).exists():
                spending.go_on(out)
            command(**options)

    return stoppable_command


@contextmanager
def stoppable(budget: str, again: str = "") -> Iterator[Spending]:
    """Until its end, a signal ends this process with one sentence and exit status 128 + its number.

    An error says what was spent too, if anything was.

    Run by: a command, in the main thread.

    Args:
        budget: see `Spending`.
        again: see there.
    """
    spending = Spending(budget, again)
    sys.warnoptions.append(_TIDY)
    arrived, sent = socket.socketpair()
    sent.setblocking(False)
    handlers = {number: signal.signal(number, _interrupt) for number in SIGNALS}
    before = signal.set_wakeup_fd(sent.fileno(), warn_on_full_buffer=False)
    waiting = threading.Thread(target=_wait, args=(arrived, spending), name="stopping", daemon=True)
    waiting.start()
    _COMMANDS.append(spending)
    try:
        yield spending
    except MosaicError as error:
        if spending.anything:
            raise type(error)(f"{error}. {spending.description}") from error
        raise
    except KeyboardInterrupt:
        spending.cleared.set()
        waiting.join()  # It ends the process.
    finally:
        _COMMANDS.remove(spending)
        sys.warnoptions.remove(_TIDY)
        signal.set_wakeup_fd(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sent.close()
        waiting.join()
        arrived.close()


def _interrupt(number: int, frame: object) -> None:
    """Makes the main thread clear up, once.

    Compiled code that calls back to Python, and an object's end, drop the error with a message; threads
    fail as what they use is removed. Of neither is anything told beside the sentence.
    """
    for each in SIGNALS:
        signal.signal(each, _leave)
    sys.unraisablehook = threading.excepthook = _leave
    raise KeyboardInterrupt


def _leave(*_: object) -> None:
    """The process ends already."""


def _wait(arrived: socket.socket, spending: Spending) -> None:
    """Reads the numbers of signals until one of `SIGNALS` arrives, or the other end is closed."""
    while number := arrived.recv(1):
        if number[0] in SIGNALS:
            _end(spending, 128 + number[0])


def _end(spending: Spending, status: int) -> None:
    """Ends the process with the sentence."""
    for process in multiprocessing.active_children():
        process.kill()
    spending.cleared.wait(_CLEARING_S)
    start = _SHOW_CURSOR if sys.stderr.isatty() else ""
    os.write(sys.stderr.fileno(), f"{start}stopped: {spending.description}\n".encode())
    multiprocessing.util._exit_function()  # type: ignore[attr-defined]
    os._exit(status)
