"""Tells that a release stopped, and how to resume it; also the curator's operator, if its folder says how."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ...common.bounded import read_bytes, toml_of
from ...common.errors import (
    AnswerPending,
    ApprovalPending,
    DataError,
    DeliveriesLost,
    PartyUnavailable,
    PolicyError,
)
from ...common.federation.card import CURATOR
from ...common.forms.tables import Key, Table, check_file
from ...common.processes.notices import APPROVAL_WAITS, FORM, PARTY_DOWN, Notifier, Notify
from ...common.showing.telling import tell
from ...common.showing.terminal import Terminal
from ..mechanisms.parts.fitted import Progress as Done
from ..mechanisms.parts.fitted import Report
from ..parties.activity import Activity
from ..parties.home import CuratorHome
from ..parties.journal import Journal
from .progress import progress_bar, progress_lines
from .session import Session

NAME = "notify.toml"
"""File in the curator's folder with a section [notify], as in a party's policy."""

INTERRUPTED = 130
"""Exit status of a command that Ctrl-C stopped, as of a shell's."""

RESUMABLE = (PartyUnavailable, PolicyError, DeliveriesLost)
"""What stops a release that can be resumed, unless it was abandoned."""


@contextlib.contextmanager
def say_how_to_resume(journal: Journal, folder: Path) -> Iterator[None]:
    """Adds to an error that stops a release by which command it goes on.

    Args:
        journal: of the release.
        folder: of its results.
    """
    try:
        yield
    except RESUMABLE as stopped:
        if journal.abandoned:
            raise
        raise type(stopped)(
            f"{stopped}. The release stopped; resume it with: dpmosaic curator resume {folder}"
        ) from stopped


@contextlib.contextmanager
def shown_to_operator(session: Session, json_output: bool) -> Iterator[tuple[Report, Activity]]:
    """What the command shows while a release is made, and says and sends if it stops.

    Args:
        session: of the release.
        json_output: whether progress is lines on standard error, beside one JSON object.

    Yields:
        What takes the progress, and what counts the calls.
    """
    activity = Activity()
    shown = (
        progress_lines(partial(tell, err=True), activity)
        if json_output
        else progress_bar(Terminal(stderr=True), activity)
    )
    spent = 0.0

    def watch(done: Done) -> None:
        nonlocal spent
        spent = done.spent
        report(done)

    try:
        resumable = say_how_to_resume(session.journal, session.folder)
        with resumable, notify_on_failure(session.home), shown as report:
            yield watch, activity
    except KeyboardInterrupt:
        tell(f"stopped: {_sentence_of_stop(spent, session.folder)}", err=True)
        sys.exit(INTERRUPTED)


def _sentence_of_stop(spent: float, folder: Path) -> str:
    """What was surely spent of the budget when an operator stopped a release, and how it goes on."""
    said = "no step was finished, but the first may be charged"
    if spent:
        said = f"at least {spent:.0%}".replace("%", " %") + " of the budget was spent"
    return f"{said}; `dpmosaic curator resume {folder}` goes on, and charges nothing twice"


@contextlib.contextmanager
def notify_on_failure(home: CuratorHome) -> Iterator[None]:
    """Sends a notice if a party does not answer, or if a release waits for an operator; hides no error.

    Args:
        home: folder of the curator.

    Raises:
        DataError: the file does not hold together.
    """
    notifier = Notifier(notify_of(home), CURATOR, home.keyring.name, _tell_undelivered)
    try:
        yield
    except AnswerPending:
        raise
    except PartyUnavailable:
        notifier.send(PARTY_DOWN)
        raise
    except ApprovalPending:
        notifier.send(APPROVAL_WAITS)
        raise
    finally:
        notifier.close(wait_s=30.0)


def notify_of(home: CuratorHome) -> Notify | None:
    """How the curator's operator is told; None if the folder has no such file.

    Raises:
        DataError: the file does not hold together.
    """
    path = home.folder / NAME
    if not path.exists():
        return None
    try:
        form = toml_of(read_bytes(path))
    except ValueError as cause:
        raise DataError(f"{path} is not TOML: {cause}; fix the line") from cause
    check_file(NAME, Table({"notify": Key(FORM, required=True)}), form)
    return Notify.of(NAME, form)


def _tell_undelivered(why: str) -> None:
    tell(f"a notice was not delivered: {why}", err=True)
