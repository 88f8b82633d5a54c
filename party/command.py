"""The commands `dpmosaic party ...`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from .printing import print_rows
from .release_commands import approve, deny, releases, show
from .role_commands import Folder, Json, add_commands, ledger_of

if TYPE_CHECKING:
    from .home import PartyHome

party_commands = typer.Typer(help="One institution: its keys, its policy, its daemon.", no_args_is_help=True)


@party_commands.command()
def ledger(folder: Folder, json_output: Json = False) -> None:
    """Print the grant and the cost so far of each release, and what is reserved of the lifetime budget."""
    with ledger_of(_home().open(folder)) as opened:
        entries = opened.summaries()
    rows = [
        (e.release_id, e.state, float(e.granted), float(e.spent), float(e.reserved), e.queries)
        for e in entries
    ]
    columns = ("release", "state", "granted_rho", "spent_rho", "reserved_rho", "queries")
    print_rows(columns, rows, json_output)


def _home() -> type[PartyHome]:
    from .home import PartyHome

    return PartyHome


add_commands(party_commands, _home, listing="ledger")
for _command in (releases, show, approve, deny):
    party_commands.command()(_command)
