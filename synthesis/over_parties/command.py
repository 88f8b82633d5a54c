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
        Path | None,
        typer.Option(
            help="The table: .csv, .csv.gz or .parquet; with --relations, their folder. Omit it to restart a "
            "network."
        ),
    ] = None,
    domain: Annotated[Path | None, typer.Option(help="Domain file of the table.")] = None,
    grid: Annotated[
        str,
        typer.Option(
            help="KxS: K slices of rows over S parties; or a JSON file. Of related tables, the first party "
            "holds the people, and the others what belongs to them."
        ),
    ] = "2x2",
    key: Annotated[
        str | None,
        typer.Option(
            help="Column that names the person of each row: the promise is for a person with all rows."
        ),
    ] = None,
    relations: Annotated[
        Path | None,
        typer.Option(
            help="TOML file that says which table of the folder belongs to which, with their domains."
        ),
    ] = None,
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

    They run until this command is stopped. With --relations, each party holds tables of its people. With
    --align-by, --overlap, --shuffle or --typos, the parties of a
    slice align their rows.
    """
    from ...common.data.domain import Domain
    from ...common.processes.stopping import Stop
    from ...simulations.local_network.network import LocalNetwork
    from ...simulations.parties.people import Overlap
    from .network import create_network

    stop = Stop().at_signals()
    sharing = Overlap.of(align_by, overlap, shuffle, typos)
    if relations is not None and data is not None:
        if domain is not None or key is not None or sharing is not None:
            raise DataError(
                "--relations: expected no --domain, --key or options of an alignment, since the file states "
                "domains and keys; leave these out"
            )
        network = create_network(folder, data, relations, grid, attach=attach, dealers=dealers)
    elif data is not None and domain is not None:
        if key is not None and align_by not in (None, key):
            raise DataError("--key: expected people to be aligned by the same column, got another; give one")
        network = LocalNetwork.create(
            folder,
            data,
            Domain.load(domain),
            grid,
            attach=attach,
            overlap=sharing,
            key=key or align_by,
            all_rows=key is not None,
            dealers=dealers,
        )
    elif (data, domain, relations, key) != (None, None, None, None):
        raise DataError(
            "expected --data with --domain or --relations, or none of them to restart a network; got some"
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
