"""The commands `dpmosaic datasets ...`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ...common.showing.tables import terminal_table
from ...common.showing.telling import tell
from ...common.showing.terminal import Terminal
from ...curator.options import JsonOutput

datasets_commands = typer.Typer(help="Public tables for trying out releases.", invoke_without_command=True)


@datasets_commands.callback()
def show(
    context: typer.Context,
    json_output: JsonOutput = False,
) -> None:
    """List public tables and where to get them."""
    if context.invoked_subcommand is not None:
        return
    from .catalogue import DATASETS, ELSEWHERE

    if json_output:
        built_in = {
            name: {"what": d.what, "records": d.records, "terms": d.terms, "origin": d.origin}
            for name, d in DATASETS.items()
        }
        elsewhere = {name: {"what": e.what, "ask": e.ask} for name, e in ELSEWHERE.items()}
        tell(json.dumps({"built_in": built_in, "elsewhere": elsewhere}))
        return
    console = Terminal()
    headings = "name", "what", "records", "origin", "terms"
    rows = ((name, d.what, f"{d.records:,}", d.origin, d.terms) for name, d in DATASETS.items())
    title = "dpmosaic datasets get NAME FOLDER"
    console.print(terminal_table(headings, rows, right=["records"], title=title))
    others = ((name, e.what, e.ask) for name, e in ELSEWHERE.items())
    title = "Used in the literature, available elsewhere"
    console.print(terminal_table(("name", "what", "where"), others, title=title))


@datasets_commands.command("get")
def fetch(
    name: Annotated[str, typer.Argument(help="As `dpmosaic datasets` lists it.")],
    folder: Annotated[Path, typer.Argument(help="Where to write NAME.csv and NAME.domain.json.")],
    grid: Annotated[
        str | None,
        typer.Option(help="KxS: also write what each of K x S parties holds, into party-1-1, party-1-2, ..."),
    ] = None,
) -> None:
    """Write a public table and its domain file into a folder; downloads are checked by checksum."""
    from .catalogue import DATASETS, get
    from .parts import write_parts

    table, domain = get(name, folder)
    tell(f"{DATASETS[name].records:,} records ({DATASETS[name].terms}) in {table}, domain in {domain}")
    if grid is not None:
        for party in write_parts(table, domain, grid, folder):
            tell(f"rows.parquet and domain.json of a party in {party}")
