"""The command `dpmosaic curator console`."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ...common.extras import require_extra
from ...common.showing.telling import tell


def console(
    plan: Annotated[Path, typer.Argument(help="The plan, a TOML file.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; by default named like the plan, beside it.")
    ] = None,
    home: Annotated[
        Path | None, typer.Option(help="The curator's folder; the plan's folder by default.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 for a free one.")] = 0,
) -> None:
    """Serve pages to check, make and watch a release, for one browser of this machine, until stopped."""
    require_extra("curator")
    require_extra("console")
    from ...common.console.serving import serve
    from ...common.processes.stopping import Stop
    from .operations import Operations
    from .pages import Place, curator_pages

    place = Place(plan, out or plan.with_name(f"{plan.stem}-release"), home or plan.parent)
    stop, operations = Stop().at_signals(), Operations()
    pages = partial(curator_pages, place, operations)
    with contextlib.closing(operations), serve(pages, stop, port) as address:
        tell(f"open this address in a browser of this machine; it opens once: {address}")
        stop.wait()
