"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe", help="CSV: write ' before text that a spreadsheet would run as a formula."
    ),
]

JsonOutput = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
