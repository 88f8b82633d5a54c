"""The command `dpmosaic party console`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ...common.errors import DataError
from ...common.extras import require_extra
from ...common.showing.telling import tell


def console(
    folder: Annotated[Path, typer.Argument(help="The party's folder.")],
    address: Annotated[
        str | None, typer.Option(help="host:port of the daemon, if it was started with --listen.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port on this machine; 0 for a free one.")] = 0,
    https: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Listen here instead, for people who sign in as [console] of the policy says.",
        ),
    ] = None,
) -> None:
    """Serve pages to decide on releases, for one browser of this machine, until stopped (Ctrl-C).

    With --https, for people of the institution's network who sign in.
    """
    require_extra("console")
    from ...common.console.serving import serve
    from ...common.processes.stopping import Stop
    from .network import serve_network
    from .pages import party_pages

    stop = Stop().at_signals()
    if https is not None:
        if port:
            raise DataError("--port is for a console on this machine; expected it or --https, got both")
        with serve_network(folder, address, host_and_port(https), stop) as found:
            tell(f"the console is at {found}, for those whom the policy lists")
            stop.wait()
        return
    with serve(partial(party_pages, folder, address), stop, port) as entrance:
        tell(f"open this address in a browser of this machine; it opens once: {entrance}")
        stop.wait()


def host_and_port(text: str) -> tuple[str, int]:
    """Host and port to listen on.

    Raises:
        DataError: the text is not of this form.
    """
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdecimal() and int(port) < 1 << 16):
        raise DataError("--https: expected HOST:PORT, such as 0.0.0.0:8443, got another text")
    return host.removeprefix("[").removesuffix("]"), int(port)
