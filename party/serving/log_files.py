"""Logs of events in files, of which lines are kept as long as the policy says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from ...common.bounded import json_of
from ...common.federation.private_files import private_draft
from ..home.folder import Home


class LogFile:
    """The file of a log, which one process at a time writes.

    Older lines than the days that are kept are deleted when it is opened, and before the first line of a day.

    Args:
        path: the file, readable by its owner only.
        days: days for which lines are kept; None for ever.
        today: returns the day in UTC.
    """

    def __init__(
        self, path: Path, days: int | None, today: Callable[[], date] = lambda: datetime.now(UTC).date()
    ) -> None:
        self._path, self._days, self._today = path, days, today
        self._file = path.open("a", encoding="utf-8")
        self._shortened: date | None = None
        self._shorten()

    def write(self, text: str) -> None:
        """Writes a line."""
        self._shorten()
        self._file.write(text)

    def flush(self) -> None:
        """Hands on what was written."""
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _shorten(self) -> None:
        """Deletes old lines, once a day; with a full disk they stay until the next day."""
        today = self._today()
        if self._days is None or today == self._shortened:
            return
        self._shortened, first = today, (today - timedelta(days=self._days)).isoformat()
        with contextlib.suppress(OSError):
            with self._path.open("rb") as lines, private_draft(self._path) as kept:
                kept.writelines(line for line in lines if _day_of(line) >= first)
            former, self._file = self._file, self._path.open("a", encoding="utf-8")
            former.close()


def log_of(home: Home, name: str) -> LogFile:
    """A log in a folder, of which lines are kept as its policy says.

    Args:
        home: the folder.
        name: name of the file.

    Raises:
        DataError: the policy is missing or does not hold together.
    """
    return LogFile(home.file(name), home.serve().keep_log_days)


def _day_of(line: bytes) -> str:
    """The day of a line, ISO 8601; empty for a line that is none."""
    try:
        return str(json_of(line)["time"])[:10]
    except (ValueError, TypeError, KeyError):
        return ""
