"""The commands by which parties and dealers reach a curator: `inbox`, `listen` and `mailbox`."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ..common.errors import DataError
from ..common.showing.telling import tell

_Folder = Annotated[Path, typer.Argument(help="The curator's folder.")]


def inbox(
    folder: _Folder,
    answer: Annotated[Path, typer.Argument(help="The file that `dpmosaic party answer` wrote.")],
) -> None:
    """Take in the answer of a party by files; a release that waits for it goes on."""
    from .parties.home import CuratorHome

    tell(f"taken in: {CuratorHome.open(folder).take_answer(answer)}")


def listen(
    folder: _Folder,
    address: Annotated[str, typer.Option(help="host:port on which enrolled parties dial this curator.")],
) -> None:
    """Listen for parties that dial this curator, between its releases too, so that several may run at once.

    Logs one JSON object for each party that comes or goes. Ends at SIGTERM.
    """
    from ..common.processes.stopping import Stop
    from .parties.home import CuratorHome

    def report_attached(party: str, up: bool) -> None:
        _log("attached" if up else "away", party=party)

    def report_reload(error: Exception | None) -> None:
        _log("reload", error="" if error is None else str(error))

    stop = Stop().at_signals()
    with contextlib.closing(
        CuratorHome.open(folder).listener(address, report_attached, report_reload)
    ) as listener:
        listener.start()
        tell(f"listening for {', '.join(sorted(listener.names))}", err=True)
        stop.wait()


def mailbox(
    folder: _Folder,
    address: Annotated[str, typer.Option(help="host:port on which parties by files ask for their files.")],
    certificate: Annotated[
        Path | None, typer.Option(help="PEM file of a certificate of any authority; read again if replaced.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="PEM file of its key, without a passphrase.")] = None,
) -> None:
    """Serve parties by files over HTTPS: they fetch their files and bring the answers, and nobody carries.

    Without a certificate it is plain HTTP, on this machine only, for a server before it that ends TLS. Logs
    one JSON object for each file that comes or goes. Ends at SIGTERM.
    """
    from ..common.processes.stopping import Stop
    from .parties.home import BY_FILES, CuratorHome
    from .parties.over_https.listening import address_of, tls_of
    from .parties.over_https.server import MailboxServer

    if (certificate is None) != (key is None):
        raise DataError("expected --certificate and --key together, got one of them; give both or none")
    tls = None if certificate is None or key is None else tls_of(certificate, key)
    where = address_of(address, local=tls is None)

    def report(event: str, party: str, reason: str) -> None:
        _log(event, **{name: text for name, text in (("party", party), ("reason", reason)) if text})

    home = CuratorHome.open(folder)
    if BY_FILES not in home.addresses().values():
        raise DataError("expected parties that are enrolled with --by-files, got none; enroll them so first")
    stop = Stop().at_signals()
    with contextlib.closing(MailboxServer(home, where, tls, report)) as server:
        server.start()
        tell(f"mailbox on port {server.port}", err=True)
        stop.wait()


def _log(event: str, **fields: str) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    tell(json.dumps({"time": now, "event": event, **fields}))
