"""The command `dpmosaic party console`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ...common.extras import require_extra
from ...common.showing.telling import tell


def console(
    folder: Annotated[Path, typer.Argument(help="The party's folder.")],
    address: Annotated[
        str | None, typer.Option(help="host:port of the daemon, if it was started with --listen.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 for a free one.")] = 0,
) -> None:
    """Serve pages to decide on releases, for one browser of this machine, until stopped (Ctrl-C)."""
    require_extra("console")
    from ...common.console.serving import serve
    from ...common.processes.stopping import Stop
    from .pages import party_pages

    stop = Stop().at_signals()
    with serve(partial(party_pages, folder, address), stop, port) as entrance:
        tell(f"open this address in a browser of this machine; it opens once: {entrance}")
        stop.wait()
