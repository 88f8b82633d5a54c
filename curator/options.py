"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

MechanismName = Annotated[str, typer.Option(help="Name of the mechanism; `dpmosaic mechanisms` lists them.")]

Rows = Annotated[
    int | None,
    typer.Option(help="Number of synthetic rows; by default as many as the table has, at most 10^7."),
]

Seed = Annotated[
    int | None, typer.Option(help="Makes the run reproducible, for tests; the result is not for release.")
]

SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe", help="CSV: write ' before text that a spreadsheet would run as a formula."
    ),
]

JsonOutput = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
