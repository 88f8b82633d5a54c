"""The command `dpmosaic generate`."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ...common.extras import require_extra
from ...common.showing.telling import tell
from ...common.showing.terminal import Terminal
from ..options import JsonOutput, SpreadsheetSafe
from ..results.table_format import TableFile, TableFormat


def generate(
    release: Annotated[Path, typer.Argument(help="Folder of a finished release.")],
    rows: Annotated[int, typer.Option(help="Number of rows.", min=1)],
    where: Annotated[
        str, typer.Option(help="Condition that all rows meet, such as age=30..39,sex=F|M.")
    ] = "",
    table_format: Annotated[
        TableFormat, typer.Option("--format", help="Format of the file.")
    ] = TableFormat.CSV,
    out: Annotated[
        Path | None, typer.Option(help="File to write; generated.csv or of another format by default.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Makes the rows reproducible.")] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    json_output: JsonOutput = False,
) -> None:
    """Draw rows from a finished release, any number, perhaps under a condition; costs no budget."""
    require_extra("curator")
    from ..results.outputs import formula_warning
    from .conditions import Condition
    from .drawing import Drawing
    from .published import Published
    from .row_files import check_absent, write_rows

    table_file = TableFile(table_format, spreadsheet_safe)
    path = out or Path(f"generated.{table_format.value}")
    check_absent(path)
    published = Published.load(release)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        drawing = Drawing.of(published, rows, Condition.of(published.domain, where or None), seed)
    told = [str(warning.message) for warning in caught]
    formulas = formula_warning(published.domain, table_file)
    told += [formulas] if formulas is not None else []
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
    if json_output:
        summary = {"out": str(path), "rows": rows, "where": where, "labels": list(labels), "warnings": told}
        tell(json.dumps(summary))
        return
    tell(f"{rows} rows; written to {path}")
    for text in told:
        tell(f"warning: {text}", fg=typer.colors.YELLOW, err=True)
    if labels:
        tell("not for release; see the file beside it", fg=typer.colors.YELLOW, err=True)


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
