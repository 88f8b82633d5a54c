"""What commands print: lines in which every text is shown as `printable` does."""

from __future__ import annotations

import typer

from .printable import printable, printable_lines


def tell(text: str = "", *, err: bool = False, fg: str | None = None, bold: bool | None = None) -> None:
    """Prints one line.

    Args:
        text: the line; a line break in it is shown as `printable` does.
        err: whether to standard error.
        fg: colour, if the output is a terminal.
        bold: whether in bold letters, if the output is a terminal.
    """
    typer.secho(printable(text), err=err, fg=fg, bold=bold)


def write(text: str, *, err: bool = False) -> None:
    """Prints a text of several lines, as it ends.

    Args:
        text: the lines.
        err: whether to standard error.
    """
    typer.echo(printable_lines(text), err=err, nl=False)


def ask_secret(words: str, *, confirm: bool) -> str:
    """Asks whoever sits at the terminal for a secret, which is not shown.

    Args:
        words: what for.
        confirm: whether to ask twice, for a new one.
    """
    answer: str = typer.prompt(printable(words), hide_input=True, confirmation_prompt=confirm, err=True)
    return answer
