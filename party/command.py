"""The commands `dpmosaic party ...`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.showing.telling import tell
from .console.command import console
from .deciding.commands import approve, deny, releases, show
from .deciding.trail_command import trail
from .operating.recovery_commands import backup, doctor, recount, restore
from .operating.role_commands import Folder, Json, add_commands, in_order
from .printing import print_rows

if TYPE_CHECKING:
    from .home.home import PartyHome

party_commands = typer.Typer(help="One institution: its keys, its policy, its daemon.", no_args_is_help=True)


@party_commands.command()
def ledger(folder: Folder, json_output: Json = False) -> None:
    """Print the grant and the cost so far of each release, and what is reserved of the lifetime budget.

    The time of the last charge is unknown if the software kept no times then.
    """
    from ..common.federation.card import PARTY
    from .accounts.rows import moment
    from .accounts.summaries import summaries_of
    from .names import POLICY

    entries = summaries_of(folder, PARTY, POLICY)
    rows = [
        (
            e.release_id,
            e.state,
            float(e.granted),
            float(e.spent),
            float(e.reserved),
            e.queries,
            moment(e.charged_at) or ("unknown" if e.queries else ""),
        )
        for e in entries
    ]
    columns = ("release", "state", "granted_rho", "spent_rho", "reserved_rho", "queries", "last_charge")
    print_rows(columns, rows, json_output)


@party_commands.command()
def check(folder: Folder, json_output: Json = False) -> None:
    """Check files, disk and rows of a party: all faults at once, for its operator only; status 1 if any.

    The daemon need not run. Numbers outside the bounds, other values that are changed and rows that are left
    out are told too.
    """
    from .home.home import PartyHome
    from .operating.checking import check_home
    from .sources.checking import PRIVATE

    findings = list(check_home(PartyHome.open(folder)))
    rows = [(f.where, f.what, f.rows or "", f.verdict) for f in findings]
    tell(PRIVATE, err=True, fg=typer.colors.YELLOW)
    if rows or json_output:
        print_rows(("where", "finding", "rows", "verdict"), rows, json_output)
    else:
        tell("files, disk and rows are as the policy and the domain say")
    for finding in findings:
        if finding.warned:
            tell(f"warning: {finding.where}: {finding.what}", err=True, fg=typer.colors.YELLOW)
    if any(finding.refused for finding in findings):
        raise typer.Exit(1)


@party_commands.command()
def answer(
    folder: Folder,
    request: Annotated[Path, typer.Argument(help="The file that the curator wrote for this party.")],
    out: Annotated[Path, typer.Option(help="File for the answer, which goes back to the curator.")],
) -> None:
    """Answer a file of the curator, without a daemon or a network; a file is charged once."""
    from .home.home import PartyHome
    from .serving.by_files import answer_file

    done = answer_file(PartyHome.open(folder), request, out)
    header = done.bundle.header
    tell(f"release {header.release_id}, curator {header.recipient}: {done.calls} calls answered")
    tell(f"charged now: rho {done.charged:.6g}; carry {out} to the curator")
    if done.refusal is not None:
        tell(f"refused, as the answer says: {done.refusal}", err=True, fg=typer.colors.YELLOW)


def _home() -> type[PartyHome]:
    from .home.home import PartyHome

    return PartyHome


add_commands(party_commands, _home, listing="ledger")
for _command in (releases, show, approve, deny, trail, console, backup, restore, recount, doctor):
    party_commands.command()(_command)

_DAY = {
    "To begin": ("init", "card", "trust", "check", "doctor"),
    "To serve": ("serve", "health", "answer"),
    "To decide": ("console", "releases", "show", "approve", "deny", "ledger", "trail", "abandon"),
    "To keep keys and recover": ("renew", "rotate", "encrypt", "decrypt", "backup", "restore", "recount"),
}
"""The commands in the order of an operator's day, by heading."""

in_order(party_commands, _DAY)
