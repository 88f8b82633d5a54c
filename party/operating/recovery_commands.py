"""The commands `dpmosaic party backup`, `restore`, `recount` and `doctor`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from ...common.errors import DataError
from ...common.showing.printable import printable
from ...common.showing.telling import tell

_Folder = Annotated[Path, typer.Argument(help="The party's folder.")]
_Backup = Annotated[Path, typer.Argument(help="The file of the backup.")]
_IN_PART = (
    "curators and parties that saw later events refuse this identity: give them another one by `dpmosaic "
    "party rotate`"
)


def backup(folder: _Folder, file: _Backup) -> None:
    """Write keys, pins, policy, domain, ledger and requests to one secret file; also while serving."""
    from ..disk import told_if_full
    from ..home.home import PartyHome
    from .backup import SECRETS, back_up

    with told_if_full(folder):
        made = back_up(PartyHome.open(folder), file)
    tell(f"{file}: party {made.name} after {made.mark.events} events, without its rows")
    tell(f"keep it as secret as the folder: {SECRETS}")


def restore(
    file: _Backup, folder: Annotated[Path, typer.Argument(help="The new folder; it must not exist yet.")]
) -> None:
    """Make a party's folder from a backup; it accepts nothing before `recount`."""
    from ..disk import told_if_full
    from .backup import restore as restore_folder

    with told_if_full(folder.parent):
        made = restore_folder(file, folder)
    tell(f"party {made.name} as of {made.made}; open releases are abandoned, and their grants count as spent")
    tell(
        "copy its rows; then count what it spent since: "
        f"dpmosaic party recount {folder} CERTIFICATE... --reason TEXT"
    )


def recount(
    folder: _Folder,
    reason: Annotated[str, typer.Option(help="How you know that nothing else was spent; stored.")],
    certificates: Annotated[
        list[Path] | None, typer.Argument(help="Certificates of releases since the backup.")
    ] = None,
    rho: Annotated[
        float, typer.Option(help="What was granted to releases without a certificate, zCDP.", min=0.0)
    ] = 0.0,
    everything: Annotated[
        bool, typer.Option("--everything", help="Count all that is left of lifetime_rho as spent.")
    ] = False,
) -> None:
    """Count what was spent since a backup as spent, so that a restored party may accept releases again."""
    from ..home.home import PartyHome
    from ..policies.file import Settings
    from .recounting import recount as count
    from .role_commands import ledger_of

    home = PartyHome.open(folder)
    if not printable(reason).strip():
        raise DataError("expected a reason, got none; say how you know what was spent since the backup")
    with ledger_of(home) as ledger:
        found = count(certificates or [], home.keyring.name, ledger)
        counted = found.spent.zcdp_rho + Fraction(rho)
        if everything:
            counted = max(counted, Settings.load(folder).policy.lifetime_rho - ledger.total_reserved())
        ledger.recount(counted, printable(reason), found.spent.delta)
    tell(f"counted rho {float(counted):.6g} as spent since the backup")
    if found.is_old:
        tell(f"the backup lacks events that a certificate states; {_IN_PART}")


def doctor(
    folder: _Folder,
    address: Annotated[
        str | None, typer.Option(help="host:port of the daemon; by default listen of the policy.")
    ] = None,
    diagnose: Annotated[
        Path | None,
        typer.Option(
            help="File for others who help: results and versions, no texts, names, values or paths."
        ),
    ] = None,
) -> None:
    """Check all that the party needs: one line each, with what to do; status 1 if anything has to be done."""
    from ..home.home import PartyHome
    from .diagnosis import write_diagnosis
    from .doctor import diagnose as look

    home = PartyHome.open(folder)
    found = list(look(home, address))
    for one in found:
        line = f"ok   {one.about}: {one.finding}" if one.passed else f"FIX  {one.about}: {one.finding}"
        remedy = f"; do: {one.remedy}" if one.remedy else ""
        tell(line + remedy, fg=None if one.passed else typer.colors.RED)
    if diagnose is not None:
        write_diagnosis(home, found, diagnose)
    if not all(one.passed for one in found):
        raise typer.Exit(1)
