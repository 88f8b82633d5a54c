"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ..common.errors import DataError

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

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a parameter of the mechanism; may be repeated. time_limit counts work at fixed rates.",
    ),
]

TimeLimit = Annotated[
    float | None,
    typer.Option(help="mosaic: about how many seconds of this machine the release may take."),
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
