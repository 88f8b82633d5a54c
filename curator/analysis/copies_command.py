"""The command `dpmosaic copies`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ...common.extras import require_extra
from ...common.showing.telling import tell
from ..options import JsonOutput, SpreadsheetSafe
from ..results.table_format import TableFile, TableFormat


def copies(
    release: Annotated[Path, typer.Argument(help="Folder of a finished release.")],
    out: Annotated[Path, typer.Option(help="Folder for the copies.")],
    number: Annotated[int, typer.Option(help="Number of copies, at least 2.")] = 10,
    table_format: Annotated[
        TableFormat, typer.Option("--format", help="Format of the copies.")
    ] = TableFormat.CSV,
    seed: Annotated[int | None, typer.Option(help="Makes the copies reproducible.")] = None,
    spreadsheet_safe: SpreadsheetSafe = False,
    json_output: JsonOutput = False,
) -> None:
    """Write synthetic tables that differ as the real table may differ from a release; costs no budget."""
    require_extra("curator")
    from ..results.outputs import formula_warning
    from .copies import check_new, write_copies
    from .published import Published

    check_new(out)
    published, table_file = Published.load(release), TableFile(table_format, spreadsheet_safe)
    write_copies(published, number, out, table_file, seed)
    labels, formulas = published.certificate.labels, formula_warning(published.domain, table_file)
    if json_output:
        warnings = [] if formulas is None else [formulas]
        summary = {"out": str(out), "copies": number, "labels": list(labels), "warnings": warnings}
        tell(json.dumps(summary))
        return
    tell(f"{number} copies written to {out}; analyse each, and combine with (1 + 1/m) B")
    for text in (*labels, *([] if formulas is None else [formulas])):
        tell(f"warning: {text}", fg=typer.colors.YELLOW, err=True)
