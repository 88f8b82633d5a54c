"""Notices to an operator by a command or a webhook: that something happened, without any data."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from ..errors import DataError
from ..forms.several import ListOf
from ..forms.tables import Key, Table
from ..forms.values import Number, Text

APPROVAL_WAITS, BUDGET_LOW = "approval_waits", "budget_low"
CERTIFICATE_ENDS, UNHEALTHY, PARTY_DOWN = "certificate_ends", "unhealthy", "party_down"
"""Events of notices."""

FORM = Table(
    {
        "command": Key(ListOf(Text(), like="a program and its arguments"), "Run without a shell."),
        "webhook": Key(Text(), "An https:// URL to which the notice is posted."),
        "budget_below": Key(Number(least=0, below=1), "With less left of the budget: a notice."),
    }
)
"""The section [notify]."""

PAUSES_S = (1.0, 10.0)
"""Seconds between the tries to deliver a notice."""

_FORMAT = "dpmosaic notice 1"
_DELIVERY_S = 10.0
_MOST_WAITING = 100
_KEPT_VARIABLES = ("PATH", "HOME", "LANG")
_HERE = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Notify:
    """The section [notify].

    Attributes:
        command: a program and its arguments, run without a shell; it reads the notice as JSON on its input.
        webhook: URL to which the notice is posted as JSON; one of the two is empty.
        budget_below: share of the lifetime budget; with less of it left there is a notice. 0 for none.
    """

    command: tuple[str, ...] = ()
    webhook: str = ""
    budget_below: float = 0.0

    @classmethod
    def of(cls, name: str, form: Mapping[str, Any]) -> Notify | None:
        """The section of a file; None if it has none.

        Args:
            name: name of the file.
            form: its sections.

        Raises:
            DataError: it names no command or webhook or both, or a value is out of range.
        """
        section = form.get("notify")
        if section is None:
            return None
        command, webhook = section.get("command", []), section.get("webhook", "")
        if bool(command) == bool(webhook):
            raise DataError(f"{name}: [notify] needs either command or webhook; give one of them")
        if webhook and not is_safe(webhook):
            raise DataError(f"{name}: webhook in [notify] has to begin with https://; fix it")
        below = float(section.get("budget_below", 0.0))
        return cls(tuple(command), webhook, below)

    def deliver(self, notice: Mapping[str, str]) -> None:
        """Delivers a notice, within ten seconds.

        Raises:
            OSError: it was not delivered.
        """
        text = json.dumps(notice).encode()
        if self.command:
            _run(self.command, text)
        else:
            from .webhook import post

            post(self.webhook, text, _DELIVERY_S)


class Notifier:
    """Delivers notices in a thread of its own: the caller never waits, and never fails.

    Args:
        settings: by which way; None for none.
        role: role of the sender.
        name: name of the sender.
        failed: is told why a notice was not delivered.
        pauses_s: seconds between the tries.
    """

    def __init__(
        self,
        settings: Notify | None,
        role: str,
        name: str,
        failed: Callable[[str], None],
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        self._settings = settings
        self._sender = {"format": _FORMAT, "role": role, "name": name}
        self._failed = failed
        self._pauses_s = pauses_s
        self._waiting: queue.Queue[dict[str, str] | None] = queue.Queue()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._deliver_all, name="notices", daemon=True)
        if settings is not None:
            self._thread.start()

    def send(self, event: str) -> None:
        """Sends a notice of an event, if there is a way; returns at once."""
        if self._settings is None:
            return
        notice = {**self._sender, "event": event, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        if self._waiting.qsize() >= _MOST_WAITING:
            self._failed("too many notices wait")
        else:
            self._waiting.put(notice)

    def close(self, wait_s: float) -> None:
        """Delivers what waits, without further pauses, for at most some seconds."""
        self._stopped.set()
        if self._settings is not None:
            self._waiting.put(None)
            self._thread.join(wait_s)

    def _deliver_all(self) -> None:
        while (notice := self._waiting.get()) is not None:
            self._deliver(notice)

    def _deliver(self, notice: Mapping[str, str]) -> None:
        assert self._settings is not None
        why = ""
        for pause_s in (0.0, *self._pauses_s):
            self._stopped.wait(pause_s)
            try:
                self._settings.deliver(notice)
                return
            except (OSError, ValueError) as error:
                why = str(error)
        self._failed(why)


def _run(command: Sequence[str], text: bytes) -> None:
    variables = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    # A session of its own, so that what the command started ends with it.
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=variables,
        start_new_session=True,
    ) as process:
        try:
            process.communicate(text, timeout=_DELIVERY_S)
        except subprocess.TimeoutExpired:
            raise OSError(f"the command took longer than {_DELIVERY_S:.0f} s") from None
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise OSError(f"the command ended with status {process.returncode}")


def is_safe(url: str) -> bool:
    """Whether a URL is one of HTTPS, or of this machine."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (
        parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _HERE)
    )
