"""The command `dpmosaic local-network`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...common.errors import DataError, PartyUnavailable
from ...common.showing.telling import tell


def local_network(
    folder: Annotated[Path, typer.Argument(help="Folder for keys, policies, parties' tables and logs.")],
    data: Annotated[
        Path | None, typer.Option(help="The table: .csv, .csv.gz or .parquet. Omit it to restart a network.")
    ] = None,
    domain: Annotated[Path | None, typer.Option(help="Domain file of the table.")] = None,
    grid: Annotated[str, typer.Option(help="KxS: K slices of rows over S parties; or a JSON file.")] = "2x2",
    align_by: Annotated[
        str | None, typer.Option(help="Column that identifies people; without it, rows are numbered.")
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(help="Share of the people of a slice at all its parties; the others are at some."),
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Each party has its rows in an order of its own.")
    ] = False,
    typos: Annotated[
        float | None, typer.Option(help="Share of identifiers that a party writes wrongly.")
    ] = None,
    attach: Annotated[
        bool, typer.Option("--attach", help="Parties and dealers dial the curator and do not listen.")
    ] = False,
    dealers: Annotated[
        int, typer.Option(help="Number of dealers, 1 or at least 3; by default the curator deals.")
    ] = 0,
) -> None:
    """Partition a table and run parties and dealers as processes on this machine, with mutual TLS.

    They run until this command is stopped. With --align-by, --overlap, --shuffle or --typos, the parties of a
    slice align their rows.
    """
    from ...common.data.domain import Domain
    from ...common.processes.stopping import Stop
    from ..parties.people import Overlap
    from .network import LocalNetwork

    if (data is None) != (domain is None):
        raise DataError("expected both --data and --domain, or neither to restart a network; got one of them")
    stop = Stop().at_signals()
    if data is not None and domain is not None:
        network = LocalNetwork.create(
            folder,
            data,
            Domain.load(domain),
            grid,
            attach=attach,
            overlap=Overlap.of(align_by, overlap, shuffle, typos),
            key=align_by,
            dealers=dealers,
        )
    else:
        network = LocalNetwork.open(folder)
    with network.running() as daemons:
        dealing = f" and {len(network.dealers)} dealers" if network.dealers else ""
        tell(f"{len(network.all_names)} parties{dealing} serve. In another terminal:")
        tell(f"  dpmosaic curator preflight {network.plan}")
        tell(f"  dpmosaic curator release {network.plan} --out {folder / 'release'}")
        tell("Ctrl-C stops them.")
        while not stop.wait(1.0):
            for name, daemon in daemons.items():
                if daemon.process.poll() is not None:
                    raise PartyUnavailable(f"{name} ended; read its log {daemon.log}")
