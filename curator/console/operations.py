"""Runs the curator's commands for a console, one at a time, each in a process that can be stopped."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import IO, Any

from ...common.bounded import json_of
from ...common.errors import DataError

_COMMAND = (sys.executable, "-c", "from dpmosaic.command import main; main()")
_GRACE_S = 20.0
"""Seconds that a stopped command has to end by itself; a release can be resumed after any end."""

_MAX_TOLD = 200
_TOLD_LENGTH = 20_000

_ERROR = "error: "
"""Beginning of what a command says when it fails."""

DONE, STOPPED, FAILED = "done", "stopped here", "not done"
"""How an operation ended."""


@dataclass(frozen=True)
class Told:
    """One line of the log of a console.

    Attributes:
        at: time, ISO 8601 in UTC.
        operation: name of the operation.
        text: what it said; of a refusal, what to do.
        failed: whether it is the reason for which the operation ended.
    """

    at: str
    operation: str
    text: str
    failed: bool


@dataclass(frozen=True)
class Operation:
    """An operation that runs or has ended.

    Attributes:
        name: its name.
        began: time, ISO 8601 in UTC.
        records: the JSON objects that it printed.
        progress: its last report of progress; None before the first.
        steps: its reports of progress, one for each finished step.
        ended: how it ended; empty while it runs.
        stopping: whether it was asked to stop.
    """

    name: str
    began: str
    records: tuple[Mapping[str, Any], ...] = ()
    progress: Mapping[str, Any] | None = None
    steps: tuple[Mapping[str, Any], ...] = ()
    ended: str = ""
    stopping: bool = False


@dataclass(frozen=True)
class Shown:
    """The state of all operations at one moment.

    Attributes:
        version: grows with every change.
        current: the operation that runs, or the last one; None before the first.
        last: the last operation of each name.
        told: what operations said, the latest last.
    """

    version: int = 0
    current: Operation | None = None
    last: Mapping[str, Operation] = field(default_factory=dict)
    told: tuple[Told, ...] = ()

    @property
    def running(self) -> bool:
        """Whether an operation runs."""
        return self.current is not None and not self.current.ended


class Operations:
    """Starts, watches and stops commands; thread-safe.

    Args:
        command: the program, to which arguments are added.
        now: returns the current time.
    """

    def __init__(
        self, command: Sequence[str] = _COMMAND, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._command = tuple(command)
        self._now = now
        self._lock = threading.Lock()
        self._shown = Shown()
        self._process: subprocess.Popen[str] | None = None
        self._ended = threading.Event()
        self._ended.set()

    def snapshot(self) -> Shown:
        """The state now."""
        with self._lock:
            return self._shown

    def start(self, name: str, arguments: Sequence[str]) -> None:
        """Starts an operation.

        Args:
            name: name of the operation.
            arguments: of the command.

        Raises:
            DataError: another one runs.
        """
        with self._lock:
            if self._shown.running:
                raise DataError("another operation is running; wait for it, or stop it first")
            # A session of its own: Ctrl-C in the console's terminal reaches it through `close` alone.
            process = subprocess.Popen(
                [*self._command, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
            self._process = process
            self._ended.clear()
            self._set(Operation(name, self._time()))
        threading.Thread(target=self._watch, args=(process,), name=name, daemon=True).start()

    def stop(self) -> None:
        """Asks the operation that runs to stop, and ends it if it does not; nothing if none runs."""
        with self._lock:
            current, process = self._shown.current, self._process
            if current is None or current.ended or process is None:
                return
            self._set(replace(current, stopping=True))
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        timer = threading.Timer(_GRACE_S, process.kill)
        timer.daemon = True
        timer.start()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until no operation runs; returns whether that is so."""
        return self._ended.wait(seconds)

    def close(self) -> None:
        """Stops the operation that runs, and waits for its end."""
        self.stop()
        self.wait()

    def _watch(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        said: list[str] = []
        beside = threading.Thread(target=self._read, args=(process.stderr, said), daemon=True)
        beside.start()
        self._read(process.stdout, said)
        beside.join()
        status = process.wait()
        with self._lock:
            current = self._shown.current
            assert current is not None
            ended = DONE if not status else STOPPED if current.stopping else FAILED
            text = "\n".join(said).removeprefix(_ERROR)[-_TOLD_LENGTH:]
            if text or status:
                what = STOPPED if ended == STOPPED else text or f"ended with status {status}"
                told = Told(self._time(), current.name, what, bool(status))
                self._shown = replace(self._shown, told=(*self._shown.told, told)[-_MAX_TOLD:])
            self._set(replace(current, ended=ended))
        self._ended.set()

    def _read(self, lines: IO[str], said: list[str]) -> None:
        """Takes the lines of one stream: JSON objects, and text for people."""
        with lines:
            for line in lines:
                try:
                    record = json_of(line)
                except ValueError:
                    record = None
                if isinstance(record, dict):
                    self._take(record)
                elif line.strip():
                    said.append(line.strip())

    def _take(self, record: Mapping[str, Any]) -> None:
        with self._lock:
            current = self._shown.current
            assert current is not None
            if record.get("event") != "progress":
                self._set(replace(current, records=(*current.records, record)))
                return
            before = current.progress
            step = {name: record.get(name) for name in ("step", "clique", "round", "spent")}
            new = before is None or any(before.get(name) != value for name, value in step.items())
            steps = (*current.steps, step) if new else current.steps
            self._set(replace(current, progress=record, steps=steps))

    def _set(self, current: Operation) -> None:
        """The state with this current operation; the caller holds the lock."""
        last = {**self._shown.last, current.name: current}
        self._shown = replace(self._shown, version=self._shown.version + 1, current=current, last=last)

    def _time(self) -> str:
        return self._now().isoformat(timespec="seconds")
