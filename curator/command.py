"""The commands `dpmosaic curator ...`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.errors import DataError
from ..common.extras import require_extra
from ..common.federation.key_commands import add_key_commands
from ..common.files.writing import print_or_write
from ..common.showing.telling import tell
from .checking_commands import preflight, verify
from .console.command import console
from .listening_commands import inbox, listen, mailbox
from .options import Settings, SpreadsheetSafe, parse_settings
from .plan_command import plan
from .results.table_format import Format, TableFile, TableFormat

if TYPE_CHECKING:
    from .parties.client import Connection
    from .parties.home import CuratorHome
    from .releasing.planning.plan import ReleasePlan
    from .releasing.session import Session

curator_commands = typer.Typer(help="Coordinates a release over daemons.", no_args_is_help=True)

_Folder = Annotated[Path, typer.Argument(help="The curator's folder.")]
_PlanFile = Annotated[Path, typer.Argument(help="The plan, a TOML file.")]
_Home = Annotated[Path | None, typer.Option(help="The curator's folder; the plan's folder by default.")]
_Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object; progress goes to the error stream as JSON lines."),
]


@curator_commands.command()
def init(
    folder: _Folder,
    name: Annotated[str, typer.Option(help="The curator's name at the parties: letters, digits, hyphens.")],
    csr: Annotated[
        bool,
        typer.Option(
            "--csr", help="Make a certificate request for the institution's authority, not a certificate."
        ),
    ] = False,
) -> None:
    """Make keys."""
    from ..common.crypto.certificates import fingerprint_text
    from ..common.federation.keyring import REQUEST
    from .parties.home import CuratorHome

    home = CuratorHome.create(folder, name, request=csr)
    tell(f"identity of {name}: {fingerprint_text(home.keyring.identity.public.hex())}")
    if csr:
        tell(f"have your authority sign {home.keyring.folder / REQUEST} and put tls.crt beside it")


@curator_commands.command()
def enroll(
    folder: _Folder,
    card: Annotated[Path, typer.Argument(help="The card of a party or dealer.")],
    address: Annotated[str | None, typer.Option(help="host:port of its daemon.")] = None,
    attached: Annotated[bool, typer.Option("--attached", help="It dials this curator.")] = False,
    by_files: Annotated[
        bool, typer.Option("--by-files", help="A party without a network: people carry files.")
    ] = False,
) -> None:
    """Enroll a party or a dealer; compare its identity out of band."""
    from ..common.crypto.certificates import fingerprint_text
    from ..common.federation.card import Card, read_json
    from .parties.home import ATTACHED, BY_FILES, CuratorHome

    if (address is not None) + attached + by_files != 1:
        raise DataError("expected one of --address, --attached and --by-files; give one of them")
    read, home = Card.from_json(read_json(card)), CuratorHome.open(folder)
    home.enroll(read, address or (ATTACHED if attached else BY_FILES))
    tell(f"identity of {read.role} {read.name}: {fingerprint_text(read.identity.hex())}")
    tell("compare it with the identity that its owner reads to you")
    if by_files:
        tell(
            f"carry {home.first_bundle(read.name)} to it, with the federation file: it answers what it holds"
        )


@curator_commands.command()
def federation(
    folder: _Folder,
    out: Annotated[Path | None, typer.Option(help="File to write; standard output by default.")] = None,
) -> None:
    """Write all cards into one file, which every party and dealer then trusts."""
    from ..common.federation.card import as_text
    from .parties.home import CuratorHome

    print_or_write(as_text(CuratorHome.open(folder).federation().to_json()), out)


curator_commands.command()(inbox)
curator_commands.command()(listen)
curator_commands.command()(mailbox)
curator_commands.command()(plan)
curator_commands.command()(preflight)


@curator_commands.command()
def align(
    plan: _PlanFile,
    home: _Home = None,
    json_output: _Json = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Forecast cost, noise and traffic; charge and match nothing.")
    ] = False,
) -> None:
    """Align the rows of the parties of a plan, unless all still hold an alignment; charged once."""
    require_extra("curator")
    from .parties.home import CuratorHome
    from .releasing.aligning.session import AlignmentSession
    from .releasing.planning.plan import ReleasePlan
    from .releasing.telling import RESUMABLE

    read = ReleasePlan.load(plan)
    alignments = AlignmentSession.of(CuratorHome.open(home or plan.parent), read)
    with alignments.home.links(read.parties, read.listen, read.retry_policy) as links:
        alignments.home.check_times(links)
        slices = read.by_slices(links)
        found = alignments.find(slices, read.retry_policy.away_s)
        if dry_run and found is None:
            _forecast_alignment(read, slices, json_output)
            return
        try:
            made = found or alignments.make(slices, read.retry_policy.away_s)
        except RESUMABLE as stopped:
            if alignments.unfinished_path is None:
                raise
            raise type(stopped)(
                f"{stopped}. The alignment stopped; resume it with the same command, or end it with: "
                f"dpmosaic curator abandon {alignments.unfinished_path}"
            ) from stopped
    charged = 0.0 if found else float(made.zcdp_rho)
    if json_output:
        summary = {"alignment": made.alignment_id, "made": found is None, "zcdp_rho_charged": charged}
        tell(json.dumps(summary | {"sizes": made.sizes, "people": made.people, "sigma": made.sigma}))
    elif found:
        tell(f"all parties still hold the alignment {made.alignment_id}; nothing was charged")
    else:
        tell(f"aligned; every party charged rho {charged:.6g}; alignment {made.alignment_id}")


@curator_commands.command()
def release(
    plan: _PlanFile,
    out: Annotated[Path | None, typer.Option(help="Folder for the results.")] = None,
    home: _Home = None,
    settings: Settings = None,
    table_format: Format = TableFormat.CSV,
    spreadsheet_safe: SpreadsheetSafe = False,
    json_output: _Json = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Forecast costs and accuracy; charge and measure nothing.")
    ] = False,
    link: Annotated[
        float, typer.Option(help="With --dry-run: throughput of the slowest link in MiB/s.", min=1e-3)
    ] = 12.0,
) -> None:
    """Make a release over the parties' daemons."""
    require_extra("curator")
    from .parties.home import CuratorHome
    from .releasing.planning.plan import ReleasePlan

    given, table_file = parse_settings(settings), TableFile(table_format, spreadsheet_safe)
    opened = CuratorHome.open(home or plan.parent)
    if dry_run:
        read = ReleasePlan.load(plan).with_settings(given)
        if read.tables is not None:
            from .related.planned import tell_parts

            tell_parts(read, json_output)
            return
        _forecast(read, opened, link, json_output)
        return
    if out is None:
        raise DataError("expected --out, the folder for the results, or --dry-run; got neither")
    from .releasing.session import Session

    _run(Session.begin(out, plan, opened, table_file, given), json_output)


@curator_commands.command()
def resume(
    folder: Annotated[Path, typer.Argument(help="Folder of a release that stopped.")],
    table_format: Annotated[
        TableFormat | None,
        typer.Option(
            "--format", help="Format of the synthetic table; by default the one that the release began with."
        ),
    ] = None,
    spreadsheet_safe: Annotated[
        bool | None,
        typer.Option(
            "--spreadsheet-safe/--no-spreadsheet-safe",
            help="CSV: write ' before text that a spreadsheet would run as a formula; by default as the "
            "release began.",
        ),
    ] = None,
    json_output: _Json = False,
) -> None:
    """Resume a release; queries that were answered are neither asked nor charged again."""
    require_extra("curator")
    from .releasing.session import Session

    _run(Session.resume(folder, table_format, spreadsheet_safe), json_output)


@curator_commands.command()
def abandon(
    folder: Annotated[Path, typer.Argument(help="Folder of a release that is not finished.")],
) -> None:
    """End a release for good: erase its keys everywhere; parties get back what was not spent."""
    from .releasing.abandoning import abandon_folder

    failed = abandon_folder(folder)
    for name, reason in failed.items():
        tell(f"{name} did not end the release: {reason}", fg=typer.colors.RED, err=True)
    if failed:
        tell("abandoned here; run this again to reach the others, or let their operators abandon it")
        raise typer.Exit(1)
    tell("abandoned here and at every party and dealer")


curator_commands.command()(verify)


def _forecast(plan: ReleasePlan, home: CuratorHome, link_mib_s: float, json_output: bool) -> None:
    from .forecasting.display import print_forecast
    from .forecasting.forecast import forecast
    from .releasing.aligning.session import AlignmentSession

    with home.links(plan.participants, plan.listen, plan.retry_policy) as links:
        slices, aligned = plan.by_slices(links), None
        if plan.alignment is not None:
            aligned = AlignmentSession.of(home, plan).held(slices)
            if aligned is None:
                _forecast_alignment(plan, slices, json_output)
                tell("align the rows first: what a release takes depends on their number", err=True)
                return
        predicted = forecast(plan, slices, link_mib_s, aligned, links)
    if json_output:
        tell(json.dumps(predicted.to_json()))
    else:
        from ..common.showing.terminal import Terminal

        print_forecast(Terminal(), predicted)


def _forecast_alignment(plan: ReleasePlan, links: Sequence[Sequence[Connection]], json_output: bool) -> None:
    from ..common.showing.terminal import Terminal
    from .forecasting.alignment import forecast_alignment, print_alignment

    predicted = forecast_alignment(plan, links)
    if json_output:
        tell(json.dumps(predicted.to_json()))
    else:
        print_alignment(Terminal(), predicted)


def _run(session: Session, json_output: bool) -> None:
    from .certificates.json_values import to_json_values
    from .parties.private_folder import private_folder
    from .releasing.telling import shown_to_operator
    from .results.outputs import formula_warning

    if session.plan.tables is not None:
        from .related.telling import run_related

        run_related(session, json_output)
        return
    with shown_to_operator(session, json_output) as (report, activity):
        released = session.run(report, activity)
    summary = {
        "out": str(session.folder),
        "differentially_private": released.certificate.differentially_private,
        "promise": to_json_values(released.certificate.promise),
        "rounds": len(released.fitted.rounds),
        "records": released.synthetic.record_count,
        "dropouts": {one.party: one.answers for one in released.certificate.dropouts},
        "warning": formula_warning(released.synthetic.domain, session.table_file),
    }
    if json_output:
        tell(json.dumps(summary))
    else:
        tell(
            f"{summary['records']} synthetic rows, {summary['rounds']} rounds; written to {session.folder}; "
            f"do not publish {private_folder(session.folder)}"
        )
        if released.certificate.dropouts:
            gone, whole = released.certificate.dropouts, len(released.certificate.charges)
            each = ", ".join(f"{one.party} (in {one.answers} of {whole} answers)" for one in gone)
            tell(
                f"dropped out: {each}; later counts are those of the others, scaled to all records", err=True
            )
        if summary["warning"] is not None:
            tell(f"warning: {summary['warning']}", fg=typer.colors.YELLOW, err=True)


def _keys_in(folder: Path) -> Path:
    from .parties.home import CuratorHome

    return CuratorHome.open(folder).keyring.folder


add_key_commands(curator_commands, _keys_in)
curator_commands.command()(console)
