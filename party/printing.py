"""Rows and sentences on a terminal; no text in them is read as markup, or can imitate another line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..common.showing.printable import printable
from ..common.showing.telling import tell

if TYPE_CHECKING:
    from rich.text import Text


def print_rows(
    columns: tuple[str, ...], rows: Sequence[tuple[str | int | float, ...]], as_json: bool
) -> None:
    """Prints rows as a table, or as a JSON list with one object for each."""
    if as_json:
        tell(json.dumps([dict(zip(columns, row, strict=True)) for row in rows]))
        return
    from rich.table import Column, Table

    from ..common.showing.terminal import Terminal

    grid = Table(Column(columns[0], no_wrap=True), *columns[1:])
    for row in rows:
        cells = (f"{value:.6g}" if isinstance(value, float) else str(value) for value in row)
        grid.add_row(*map(_plain, cells))
    Terminal().print(grid)


def print_entries(entries: Iterable[tuple[str, str]], *, err: bool = False) -> None:
    """Prints labels and sentences in two columns: a long sentence goes on in its own column.

    Args:
        entries: label and sentence.
        err: whether to print on standard error.
    """
    from rich.table import Table

    from ..common.showing.terminal import Terminal

    grid = Table.grid("", "", padding=(0, 2))
    for label, sentence in entries:
        grid.add_row(_plain(label), _plain(sentence))
    Terminal(stderr=err).print(grid)


def _plain(text: str) -> Text:
    from rich.text import Text

    return Text(printable(text), overflow="fold")
