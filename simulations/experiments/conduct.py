"""Runs an experiment from its cells to its page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ...common.errors import DataError
from ...common.files.writing import write_text
from ...common.showing.tables import terminal_table
from .cell import Cell, software_version
from .experiment import Experiment
from .page import figure, page
from .results import Results
from .runner import Report, missing, run, table_digest
from .store import Result, Store
from .tables import DataFolder


@dataclass(frozen=True)
class Outcome:
    """The result of a run.

    Attributes:
        results: results of the experiment.
        files: written files, by kind.
        releases: number of cells of the experiment, of cells run now, and of cells without a result.
    """

    results: Results
    files: dict[str, Path]
    releases: tuple[int, int, int]

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON values."""
        cells, run_now, without = self.releases
        return {
            "experiment": self.results.experiment.name,
            "files": {what: str(path) for what, path in self.files.items()},
            "releases": {"all": cells, "run_now": run_now, "without_result": without},
        }

    def show(self, console: Console) -> None:
        """Prints the tables and the paths of the files."""
        experiment = self.results.experiment
        for shown in experiment.shown:
            for panel in experiment.panels:
                headings = (experiment.axis.label, *self.results.headings(shown))
                rows = ((point, *numbers) for point, numbers in self.results.rows(panel, shown))
                title = f"{panel.label}: {shown.label}"
                console.print(terminal_table(headings, rows, right=headings, title=title))
        cells, run_now, without = self.releases
        console.print(f"{cells} releases, {run_now} of them made now, {without} without a result")
        for what, path in self.files.items():
            console.print(f"{what}: {path}", soft_wrap=True)


def conduct(
    experiment: Experiment,
    data: Path,
    out: Path,
    *,
    seeds: int,
    quick: bool,
    processes: int,
    report: Report,
) -> Outcome:
    """Runs the missing cells of an experiment, then writes its numbers, figure and page.

    Args:
        experiment: the experiment; already reduced if `quick`.
        data: folder of the tables.
        out: folder of the results; created if it is missing.
        seeds: number of releases per cell.
        quick: whether this is only a part of the experiment, as the page then states.
        processes: number of cells that run in parallel.
        report: called after every cell.

    Raises:
        DataError: no table is available, or the folder cannot be written.
    """
    tables = DataFolder(data)
    cells = list(dict.fromkeys(experiment.cells(seeds)))
    names = sorted({cell.table for cell in cells})
    absent = {name for name in names if tables.files(name) is None}
    if len(absent) == len(names):
        raise DataError(
            f"expected NAME/NAME.csv.gz and NAME/domain.json in {data}, for NAME "
            f"{' or '.join(names)}, found none; put one there, or choose another data folder"
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise DataError(f"cannot create the folder {out}: {cause.strerror}; choose another") from cause
    store = Store(out, software_version())
    work = [item for item in missing(cells, store, tables) if item.cell.table not in absent]
    if work:
        run(work, store, tables, processes, report)
    found: dict[Cell, Result] = {}
    for cell in cells:
        if cell.table not in absent and (result := store.read(cell, table_digest(cell, tables))):
            found[cell] = result
    results = Results(experiment, seeds, found)
    files = {what: out / f"{experiment.name}.{what}" for what in ("csv", "svg", "html")}
    results.write_csv(files["csv"])
    write_text(files["svg"], figure(results))
    write_text(files["html"], page(results, store.software, quick))
    without = sum(1 for cell in cells if cell not in found or found[cell].failure is not None)
    return Outcome(results, files, (len(cells), len(work), without))


@contextmanager
def progress(console: Console) -> Iterator[Report]:
    """A progress bar over cells; prints lines if the console is not a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("releases", total=None)

        def report(done: int, total: int, last: Result | None) -> None:
            bar.update(task, completed=done, total=total)
            if last is not None and last.failure is not None:
                cell = last.cell
                bar.console.print(
                    f"failed: {cell.table}, {cell.method}: {last.failure.sentence}", markup=False
                )

        yield report
