"""Options that commands which read a table share."""

from __future__ import annotations

from typing import Annotated

import typer

Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="CSV: the first line names the columns, or they are column1, column2, ...; by default it does, "
        "unless it reads as a record.",
    ),
]
