"""Rows and sentences on a terminal; no text in them is read as markup, or can imitate another line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ..common.showing.printable import printable
from ..common.showing.telling import tell


def print_rows(
    columns: tuple[str, ...], rows: Sequence[tuple[str | int | float, ...]], as_json: bool
) -> None:
    """Prints rows as a table, or as a JSON list with one object for each."""
    if as_json:
        tell(json.dumps([dict(zip(columns, row, strict=True)) for row in rows]))
        return
    from ..common.showing.tables import terminal_table
    from ..common.showing.terminal import Terminal

    cells = [[f"{value:.6g}" if isinstance(value, float) else str(value) for value in row] for row in rows]
    Terminal().print(terminal_table(columns, cells, whole=columns[:1]))


def print_entries(entries: Iterable[tuple[str, str]]) -> None:
    """Prints labels and sentences in two columns: a long sentence goes on in its own column.

    Args:
        entries: label and sentence.
    """
    from rich.table import Table
    from rich.text import Text

    from ..common.showing.terminal import Terminal

    columns = Table.grid("", "", padding=(0, 2))
    for entry in entries:
        columns.add_row(*(Text(printable(text), overflow="fold") for text in entry))
    Terminal().print(columns)
