"""The commands `dpmosaic party ...`."""

from __future__ import annotations

import contextlib
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ..common.card import Card, FederationList, as_text, read_json
from ..common.crypto.certificates import shown
from ..common.errors import DataError
from ..common.keyring import REQUEST
from . import policy_file
from .home import LEDGER, PartyHome
from .ledger import Ledger
from .ledger_rows import CERTIFIED
from .printing import print_rows
from .release_commands import approve, deny, releases, show
from .serving.daemon import serve as serve_party

party_commands = typer.Typer(help="One institution: its keys, its policy, its daemon.", no_args_is_help=True)

_Folder = Annotated[Path, typer.Argument(help="The party's folder.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


@party_commands.command()
def init(
    folder: _Folder,
    name: Annotated[str, typer.Option(help="Name in the federation: lower-case letters, digits, hyphens.")],
    csr: Annotated[
        bool, typer.Option("--csr", help="Create a signing request for the institution's authority.")
    ] = False,
) -> None:
    """Create keys and a policy that allows nothing yet."""
    home = PartyHome.create(folder, name, request=csr)
    typer.echo(f"identity of {name}: {shown(home.keyring.identity.public.hex())}")
    if csr:
        typer.echo(f"let your authority sign {home.keyring.folder / REQUEST}, and put tls.crt next to it")
    typer.echo(f"now set what you allow in {folder / policy_file.NAME}")


@party_commands.command()
def card(
    folder: _Folder,
    out: Annotated[Path | None, typer.Option(help="Output file; default: standard output.")] = None,
) -> None:
    """Print the party's public card, to be sent to the curator."""
    text = as_text(PartyHome.open(folder).card().to_json())
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")


@party_commands.command()
def trust(
    folder: _Folder,
    federation: Annotated[Path | None, typer.Argument(help="The curator's list of all cards.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="The fingerprints were compared already.")] = False,
    revoke: Annotated[str | None, typer.Option(help="Name of a curator to trust no longer.")] = None,
) -> None:
    """Pin a curator and the other parties, after comparing fingerprints out of band."""
    home = PartyHome.open(folder)
    if (federation is None) == (revoke is None):
        raise DataError("expected either a federation file or --revoke NAME; give one of them")
    if revoke is not None:
        home.revoke(revoke)
        return
    assert federation is not None
    listed = FederationList.from_json(read_json(federation))
    for member in (listed.curator, *listed.parties):
        _show(member)
    if not yes:
        typer.confirm(
            "Did every owner confirm the same identity to you, by telephone or on paper?", abort=True
        )
    home.trust(listed)


@party_commands.command()
def serve(
    folder: _Folder,
    listen: Annotated[str | None, typer.Option(help="host:port, instead of the policy's.")] = None,
    attach: Annotated[
        str | None, typer.Option(help="host:port of the curator to dial, instead of listening.")
    ] = None,
    curator: Annotated[str | None, typer.Option(help="With --attach: curator to dial, if several.")] = None,
    metrics: Annotated[
        str | None, typer.Option(help="host:port for Prometheus, or a port on localhost.")
    ] = None,
    until_input_ends: Annotated[
        bool, typer.Option(help="Also stop at the end of standard input, as when the parent process ends.")
    ] = False,
) -> None:
    """Answer the pinned curators until stopped (Ctrl-C, SIGTERM)."""
    if (listen is not None) == (attach is not None) and listen is not None:
        raise DataError("expected --listen or --attach, got both; give one of them")
    home = PartyHome.open(folder)
    serve_party(
        home,
        sys.stderr,
        listen=listen,
        attach=attach,
        curator=curator,
        metrics=metrics,
        until_ends=sys.stdin.fileno() if until_input_ends else None,
    )


@party_commands.command()
def ledger(folder: _Folder, json_output: _Json = False) -> None:
    """Print the grant and the cost so far of each release, and what is reserved of the lifetime budget."""
    with _ledger(folder) as opened:
        entries = opened.summaries()
    rows = [
        (e.release_id, e.state, float(e.granted), float(e.spent), float(e.reserved), e.queries)
        for e in entries
    ]
    columns = ("release", "state", "granted_rho", "spent_rho", "reserved_rho", "queries")
    print_rows(columns, rows, json_output)


@party_commands.command()
def abandon(
    folder: _Folder, release: Annotated[str, typer.Argument(help="Release id, or a unique prefix.")]
) -> None:
    """End a release for good: erase its keys, and give back what it did not spend; also while serving."""
    with _ledger(folder) as opened:
        matches = [entry for entry in opened.summaries() if entry.release_id.startswith(release)]
        if len(matches) != 1 or not release:
            raise DataError(
                f"expected the id of one accepted release, found {len(matches)}; `dpmosaic party ledger` "
                "lists them"
            )
        if matches[0].state == CERTIFIED:
            raise DataError("the release is certified, and its keys are erased; there is nothing to abandon")
        opened.abandon(matches[0].release_id)
    typer.echo(f"abandoned {matches[0].release_id}")


for _command in (releases, show, approve, deny):
    party_commands.command()(_command)


def _ledger(folder: Path) -> contextlib.closing[Ledger]:
    return contextlib.closing(Ledger(PartyHome.open(folder).folder / LEDGER))


def _show(member: Card) -> None:
    typer.echo(f"{member.role} {member.name}")
    typer.echo(f"  identity     {shown(member.identity.hex())}")
    typer.echo(f"  certificate  {shown(member.certificate.fingerprint)}")
    left = member.certificate.not_after - datetime.now(UTC)
    typer.echo(f"  expires      {member.certificate.not_after:%Y-%m-%d}, in {left.days} days")
