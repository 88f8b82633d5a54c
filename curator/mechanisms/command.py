"""The command `dpmosaic mechanisms`."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from ...common.extras import require_extra


def mechanisms(
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """List the mechanisms: what each does, when to use it, over which protocols, what `--set` changes."""
    require_extra("curator")
    from .catalogue import CATALOGUE, CENTRAL, parameters

    if json_output:
        form = {
            name: {
                "what": entry.what,
                "use": entry.use,
                "protocols": entry.protocols,
                "variants": list(entry.variants),
                "on_paper": entry.on_paper,
                "parameters": [vars(parameter) for parameter in parameters(name)],
            }
            for name, entry in CATALOGUE.items()
        }
        typer.echo(json.dumps(form))
        return
    console = Console()
    for name, entry in CATALOGUE.items():
        set_by = ", ".join(f"{known.name}={str(known.default).lower()}" for known in parameters(name))
        shown = Grid(title=name, title_justify="left", title_style="bold", show_header=False, box=None)
        shown.add_row("what it does", entry.what)
        shown.add_row("use it for", entry.use)
        central = entry.protocols == CENTRAL
        where = " (in simulation; needs the extra 'gan')" if central else ""
        shown.add_row("protocols", ", ".join(entry.protocols) + where)
        note = " (not private)" if central else " (protocol theorem alone: not private)"
        noted = dict.fromkeys(entry.on_paper, note)
        shown.add_row("variants", ", ".join(name + noted.get(name, "") for name in entry.variants))
        shown.add_row("parameters", set_by or "none")
        console.print(shown)
