"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ..common.errors import DataError

BUDGET, MECHANISM, OUTPUT = "Budget", "Mechanism", "Output"
"""Headings of options in help."""

MechanismName = Annotated[
    str,
    typer.Option(help="Name of the mechanism; `dpmosaic mechanisms` lists them.", rich_help_panel=MECHANISM),
]

Rows = Annotated[
    int | None,
    typer.Option(
        help="Number of synthetic rows; by default as many as the table has, at most 10^7.",
        rich_help_panel=OUTPUT,
    ),
]

Seed = Annotated[
    int | None,
    typer.Option(
        help="Makes the run reproducible, for tests; the result is not for release.", rich_help_panel=OUTPUT
    ),
]

SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="CSV: write ' before text that a spreadsheet would run as a formula.",
        rich_help_panel=OUTPUT,
    ),
]

JsonOutput = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else.", rich_help_panel=OUTPUT)
]

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a parameter of the mechanism; may be repeated. time_limit counts work at fixed rates.",
        rich_help_panel=MECHANISM,
    ),
]

TimeLimit = Annotated[
    float | None,
    typer.Option(
        help="mosaic: about how many seconds of this machine the release may take.", rich_help_panel=MECHANISM
    ),
]


def parsed(settings: Sequence[str] | None) -> dict[str, str]:
    """The parameters given by `--set`.

    Raises:
        DataError: one has no key or no value, or is given twice.
    """
    pairs = [setting.partition("=") for setting in settings or ()]
    for key, equals, _ in pairs:
        if not (key and equals):
            raise DataError(f"--set: expected KEY=VALUE, got {key!r}; add the value")
    if len({key for key, _, _ in pairs}) < len(pairs):
        raise DataError("--set: expected each parameter at most once, got one twice; remove one")
    return {key: value for key, _, value in pairs}
