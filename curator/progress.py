"""A progress bar on the standard error stream: step, round, clique, budget used, time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .mechanisms.mechanism import Progress as Done
from .mechanisms.mechanism import Report


@contextlib.contextmanager
def progress_bar(console: Console) -> Iterator[Report]:
    """Shows a run on a terminal; silent where there is none."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} % of the budget"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("starting", total=1.0)

        def report(done: Done) -> None:
            where = f"round {done.round}: " if done.round else ""
            what = " x ".join(done.clique) if done.clique else done.step
            bar.update(task, completed=done.spent, description=where + what)

        yield report
