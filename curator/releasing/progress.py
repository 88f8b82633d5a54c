"""Progress of a release on the error stream: a display in a terminal, or JSON lines for scripts."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.util import find_spec

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ...common.showing.printable import printable
from ..mechanisms.parts.fitted import Progress as Done
from ..mechanisms.parts.fitted import Report, ignore
from ..parties.activity import AWAY, IDLE, Activity

_OFTEN_S = 5.0
_RARELY_S = 20.0
"""Seconds between two lines where there is no terminal; a short release writes none."""

_WAITS = "waits for the curator"
"""What a terminal says of a party that is asked nothing, such as while the curator fits a model."""


@contextlib.contextmanager
def progress_bar(
    console: Console, activity: Activity | None = None, rarely_s: float = _RARELY_S
) -> Iterator[Report]:
    """Shows progress and the activity of each party in a terminal or notebook; elsewhere a line now and then.

    Rich draws in a notebook with the package ipywidgets only; without it nothing is shown.

    Args:
        console: console of the error stream.
        activity: activity of the parties; None if there are no daemons.
        rarely_s: seconds between two lines where there is neither.
    """
    notebook = console.is_jupyter and find_spec("ipywidgets") is not None
    if console.quiet or (console.is_jupyter and not notebook):
        yield ignore
        return
    if not (console.is_terminal or notebook):
        with _rare_lines(console, rarely_s) as told:
            yield told
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[spent]}"),
        TimeElapsedColumn(),
        console=console,
    )
    task = bar.add_task("starting", total=1.0, spent=_share_in_words(0.0))

    def report(done: Done) -> None:
        # Whoever has spent all goes on for a while: the bar moves then, and is not full.
        bar.tasks[0].total = 1.0 if done.spent < 1 else None
        bar.update(task, completed=done.spent, description=_in_words(done), spent=_share_in_words(done.spent))

    def renderable() -> RenderableType:
        return bar if activity is None else Group(bar, parties(activity))

    with Live(get_renderable=renderable, console=console, refresh_per_second=4, transient=True):
        yield report


def parties(activity: Activity) -> Table:
    """The activity of each party as a table."""
    table = Table("party", "doing", "sent, MiB", "received, MiB", "last heard", box=None)
    for one in activity.snapshot():
        colour = {IDLE: "dim", AWAY: "red"}.get(one.doing, "green")
        said = _WAITS if one.doing == IDLE else one.doing
        doing = Text.assemble((said, colour), f" {one.seconds:.0f} s")
        mib = (f"{size / 2**20:.1f}" for size in (one.sent, one.received))
        table.add_row(Text(one.party), doing, *mib, f"{one.silent_s:.0f} s ago")
    return table


@contextlib.contextmanager
def progress_lines(
    write: Callable[[str], None], activity: Activity, every_s: float = _OFTEN_S
) -> Iterator[Report]:
    """Writes one JSON object per line: after every step, and every few seconds.

    Args:
        write: writes one line.
        activity: activity of the parties.
        every_s: seconds between two lines without a step.
    """
    latest = Done("starting", (), 0, 0.0)
    lock = threading.Lock()

    def write_line() -> None:
        doing = [asdict(one) for one in activity.snapshot()]
        write(json.dumps({"event": "progress", **asdict(latest), "parties": doing}))

    def report(done: Done) -> None:
        nonlocal latest
        with lock:
            latest = done
            write_line()

    def write_anyway() -> None:
        with lock:
            write_line()

    with _regularly(write_anyway, every_s):
        yield report


@contextlib.contextmanager
def _rare_lines(console: Console, every_s: float) -> Iterator[Report]:
    """Writes one sentence every so many seconds, also while a step takes long."""
    latest, began = Done("starting", (), 0, 0.0), time.monotonic()

    def report(done: Done) -> None:
        nonlocal latest
        latest = done

    def write_line() -> None:
        line = f"{time.monotonic() - began:.0f} s: {_in_words(latest)}, {_share_in_words(latest.spent)}"
        console.print(line, markup=False, highlight=False)

    with _regularly(write_line, every_s):
        yield report


@contextlib.contextmanager
def _regularly(write: Callable[[], None], every_s: float) -> Iterator[None]:
    """Calls a function every so many seconds, in a thread of its own."""
    stopped = threading.Event()

    def run() -> None:
        while not stopped.wait(every_s):
            write()

    thread = threading.Thread(target=run, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _in_words(done: Done) -> str:
    where = f"round {done.round}: " if done.round else ""
    return printable(where + (" x ".join(done.clique) if done.clique else done.step))


def _share_in_words(share: float) -> str:
    """How much of the budget is spent; a percentage, rounded down, only while there is more to spend."""
    return f"{math.floor(100 * share)} % of the budget" if share < 1 else "budget spent, not finished"
