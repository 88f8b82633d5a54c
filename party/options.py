"""Options that commands which read a table share."""

from __future__ import annotations

from typing import Annotated

import typer

Header = Annotated[
    bool,
    typer.Option(
        "--header/--no-header",
        help="CSV: whether the first line names the columns; without, they are column1, column2, ...",
    ),
]
