"""The command `dpmosaic generate`."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..common.errors import DataError
from ..common.extras import require_extra
from ..common.showing.telling import tell
from ..common.showing.terminal import Terminal
from .options import JsonOutput, SpreadsheetSafe
from .results.table_format import TableFile, TableFormat


def generate(
    release: Annotated[Path, typer.Argument(help="Folder of a finished release.")],
    rows: Annotated[int | None, typer.Option(help="Number of rows.", min=1)] = None,
    people: Annotated[
        int | None,
        typer.Option(
            help="Of a release of related tables, or with a key: number of people, with all their rows.",
            min=1,
        ),
    ] = None,
    where: Annotated[
        str, typer.Option(help="Condition that all rows, or people, meet, such as age=30..39,sex=F|M.")
    ] = "",
    table_format: Annotated[
        TableFormat, typer.Option("--format", help="Format of the file.")
    ] = TableFormat.CSV,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write, or of people the folder; by default generated.csv, or of another format, "
            "and generated."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the rows reproducible.")] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    json_output: JsonOutput = False,
) -> None:
    """Draw rows from a finished release, any number, perhaps under a condition; costs no budget."""
    require_extra("curator")
    from .results.outputs import PEOPLE

    table_file = TableFile(table_format, spreadsheet_safe)
    of_people = (release / PEOPLE).is_file()
    number, other = (people, rows) if of_people else (rows, people)
    if number is None or other is not None:
        wanted, what = ("--people", "people, each with all rows") if of_people else ("--rows", "one table")
        raise DataError(f"{wanted}: expected it alone for a release of {what}, got another; give {wanted}")
    write = _write_people if of_people else _write_rows
    path, sizes, labels, told = write(release, number, where, table_file, out, seed)
    if json_output:
        tell(
            json.dumps({"out": str(path), **sizes, "where": where, "labels": list(labels), "warnings": told})
        )
        return
    tell(f"{number} {'people' if of_people else 'rows'}; written to {path}")
    for text in told:
        tell(f"warning: {text}", fg=typer.colors.YELLOW, err=True)
    if labels:
        tell("not for release; see the file beside it", fg=typer.colors.YELLOW, err=True)


_Written = tuple[Path, dict[str, object], tuple[str, ...], list[str]]
"""What was written where, its numbers of rows, why it must not be released, and warnings."""


def _write_rows(
    release: Path, rows: int, where: str, table_file: TableFile, out: Path | None, seed: int | None
) -> _Written:
    """Writes rows of one table to a file."""
    from .analysis.conditions import Condition
    from .analysis.drawing import Drawing
    from .analysis.published import Published
    from .analysis.row_files import check_absent, write_rows
    from .results.outputs import formula_warning

    path = out or Path(f"generated.{table_file.table_format.value}")
    check_absent(path)
    published = Published.load(release)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        drawing = Drawing.of(published, rows, Condition.of(published.domain, where or None), seed)
    told = [str(warning.message) for warning in caught]
    formulas = formula_warning(published.domain, table_file)
    labels = published.certificate.labels
    with _bar(rows) as bar:
        task = bar.add_task("rows", total=rows)
        write_rows(
            drawing,
            path,
            table_file,
            labels,
            lambda done: bar.update(task, completed=done),
            published.storage.labels,
        )
    return path, {"rows": rows}, labels, told + ([] if formulas is None else [formulas])


def _write_people(
    release: Path, people: int, where: str, table_file: TableFile, out: Path | None, seed: int | None
) -> _Written:
    """Writes people with all that belongs to them to a folder."""
    from .analysis.row_files import check_absent
    from .people.release import load_people
    from .people.table_files import formula_warning, write_tables

    folder = out or Path("generated")
    check_absent(folder)
    known = load_people(release)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        frames = known.generate(people, where or None, seed)
    write_tables(folder, known.family, frames, table_file, known.certificate.labels)
    told = [str(warning.message) for warning in caught]
    formulas = formula_warning(known.family, table_file, known.public)
    sizes = {"people": people, "tables": {name: len(rows) for name, rows in frames.items()}}
    return folder, sizes, known.certificate.labels, told + ([] if formulas is None else [formulas])


def _bar(rows: int) -> Progress:
    """Progress on the error stream; nothing if that is no terminal."""
    console = Terminal(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
