"""The command `dpmosaic domain infer`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .sources.inference import NOT_PRIVATE, infer_domain

domain_commands = typer.Typer(help="Domain files: possible values of each attribute.", no_args_is_help=True)


@domain_commands.callback()
def _domain() -> None:
    """Domain files: possible values of each attribute."""


@domain_commands.command()
def infer(
    data: Annotated[Path, typer.Argument(help="A table: .csv, .csv.gz or .parquet.")],
    out: Annotated[Path | None, typer.Option(help="Output file; default: standard output.")] = None,
) -> None:
    """Draft a domain file from a table. Not private: review it against public knowledge."""
    text = json.dumps(infer_domain(data).to_json(), indent=2, ensure_ascii=False)
    typer.secho(NOT_PRIVATE, err=True, fg=typer.colors.YELLOW)
    if out is None:
        typer.echo(text)
    else:
        out.write_text(text + "\n", encoding="utf-8")
