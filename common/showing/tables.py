"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from .printable import printable


def terminal_table(
    headings: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    right: Collection[str] = (),
    whole: Collection[str] = (),
    title: str = "",
    caption: str = "",
    lines: bool = False,
) -> Table:
    """A table for a terminal: no text in it is read as markup, or can imitate another row.

    Args:
        headings: of the columns.
        rows: their cells.
        right: columns of numbers, which are aligned to the right.
        whole: columns whose cells are not broken into lines.
        title: above the table.
        caption: below it.
        lines: whether there is a line between two rows.
    """
    columns = (
        Column(
            escape(printable(name)),
            justify="right" if name in right else "left",
            no_wrap=name in whole,
            overflow="fold",
        )
        for name in headings
    )
    found = Table(
        *columns,
        title=escape(title) or None,
        title_justify="left",
        caption=escape(caption) or None,
        caption_justify="left",
        show_lines=lines,
    )
    for row in rows:
        found.add_row(*(Text(printable(cell)) for cell in row))
    return found
