"""The commands that parties and dealers have in common: from `init` to `abandon`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...common.errors import DataError
from ...common.federation.key_commands import add_key_commands
from ...common.files.writing import print_or_write
from ...common.showing.telling import tell

if TYPE_CHECKING:
    from ...common.federation.card import Card
    from ..accounts.ledger import Ledger
    from ..home.folder import Home

Folder = Annotated[Path, typer.Argument(help="The folder of keys, policy and ledger.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def add_commands(commands: typer.Typer, home_type: Callable[[], type[Home]], listing: str) -> None:
    """Adds the commands of a role.

    Args:
        commands: commands of the role.
        home_type: gives the class of the role's folder; called when a command runs, so that help is quick.
        listing: name of the command that lists accepted releases.
    """
    _add_setup(commands, home_type)
    _add_keys(commands, home_type)
    _add_daemon(commands, home_type, listing)


def in_order(commands: typer.Typer, order: Mapping[str, Sequence[str]]) -> None:
    """Lists commands in help under headings.

    Args:
        commands: all commands of a role.
        order: names of the commands by heading.
    """
    places = {name: (place, heading) for place, heading in enumerate(order) for name in order[heading]}
    ranks = {name: rank for rank, name in enumerate(places)}
    for info in commands.registered_commands:
        assert info.callback is not None
        info.rich_help_panel = places[info.callback.__name__][1]
    commands.registered_commands.sort(key=lambda info: ranks[getattr(info.callback, "__name__", "")])


@contextlib.contextmanager
def ledger_of(home: Home) -> Iterator[Ledger]:
    """The ledger of a folder, closed at the end.

    Raises:
        DataError: the disk is full.
    """
    from ..accounts.ledger import Ledger
    from ..disk import told_if_full
    from ..home.folder import LEDGER

    with told_if_full(home.folder), contextlib.closing(Ledger(home.folder / LEDGER)) as opened:
        yield opened


def _add_setup(commands: typer.Typer, home_type: Callable[[], type[Home]]) -> None:
    @commands.command()
    def init(
        folder: Folder,
        name: Annotated[
            str, typer.Option(help="Name in the federation: lower-case letters, digits, hyphens.")
        ],
        csr: Annotated[
            bool, typer.Option("--csr", help="Create a signing request for the institution's authority.")
        ] = False,
    ) -> None:
        """Create keys and a policy that allows nothing yet."""
        from ...common.crypto.certificates import fingerprint_text
        from ...common.federation.keyring import REQUEST

        home = home_type().create(folder, name, request=csr)
        tell(f"identity of {name}: {fingerprint_text(home.keyring.identity.public.hex())}")
        if csr:
            tell(f"let your authority sign {home.keyring.folder / REQUEST}, and put tls.crt next to it")
        tell(f"now set what you allow in {folder / home.policy_name}")

    @commands.command()
    def card(
        folder: Folder,
        out: Annotated[Path | None, typer.Option(help="Output file; default: standard output.")] = None,
    ) -> None:
        """Print the public card, to be sent to the curator."""
        from ...common.federation.card import as_text

        print_or_write(as_text(home_type().open(folder).card().to_json()), out)

    @commands.command()
    def trust(
        folder: Folder,
        federation: Annotated[Path | None, typer.Argument(help="The curator's list of all cards.")] = None,
        yes: Annotated[bool, typer.Option("--yes", help="The fingerprints were compared already.")] = False,
        revoke: Annotated[str | None, typer.Option(help="Name of a curator to trust no longer.")] = None,
    ) -> None:
        """Pin a curator and the other members, after comparing fingerprints out of band."""
        from ...common.federation.card import FederationList, read_json

        home = home_type().open(folder)
        if (federation is None) == (revoke is None):
            raise DataError("expected either a federation file or --revoke NAME; give one of them")
        if revoke is not None:
            home.revoke(revoke)
            return
        assert federation is not None
        listed = FederationList.from_json(read_json(federation))
        for member in listed.members:
            _show(member)
        if not yes:
            typer.confirm(
                "Did every owner confirm the same identity to you, by telephone or on paper?", abort=True
            )
        home.trust(listed)


def _add_keys(commands: typer.Typer, home_type: Callable[[], type[Home]]) -> None:
    @commands.command()
    def rotate(
        folder: Folder,
        yes: Annotated[bool, typer.Option("--yes", help="All its releases are finished everywhere.")] = False,
    ) -> None:
        """Replace the identity by a new key, to which the old one hands over; stop the daemon first."""
        from ...common.crypto.certificates import fingerprint_text

        home = home_type().open(folder)
        if not yes:
            typer.confirm(
                "Did every curator confirm that its releases with this identity are finished?", abort=True
            )
        with ledger_of(home) as opened:
            rotated = home.rotate(opened)
        tell(f"identity of {rotated.keyring.name}: {fingerprint_text(rotated.keyring.identity.public.hex())}")
        tell(
            f"give its card out: dpmosaic {home.role} card; those who pinned the former identity accept "
            "it by curator enroll and by trust"
        )

    add_key_commands(commands, lambda folder: home_type().open(folder).keyring.folder)

    @commands.command()
    def renew(folder: Folder) -> None:
        """Replace a self-signed certificate by one that is valid for two more years; also while serving."""
        home = home_type().open(folder)
        certificate = home.keyring.renew(datetime.now(UTC))
        tell(f"certificate {certificate.fingerprint}")
        tell(f"valid until {certificate.not_after:%Y-%m-%d}; give its card out: dpmosaic {home.role} card")


def _add_daemon(commands: typer.Typer, home_type: Callable[[], type[Home]], listing: str) -> None:
    @commands.command()
    def serve(
        folder: Folder,
        listen: Annotated[str | None, typer.Option(help="host:port, instead of the policy's.")] = None,
        attach: Annotated[
            str | None, typer.Option(help="host:port of the curator to dial, instead of listening.")
        ] = None,
        through: Annotated[
            str | None,
            typer.Option(
                help="https:// address of the curator's mailbox, for a party that is reached by files."
            ),
        ] = None,
        curator: Annotated[
            str | None, typer.Option(help="With --attach or --through: curator to dial, if several.")
        ] = None,
        metrics: Annotated[
            str | None, typer.Option(help="host:port for Prometheus, or a port on localhost.")
        ] = None,
        until_input_ends: Annotated[
            bool,
            typer.Option(help="Also stop at the end of standard input, as when the parent process ends."),
        ] = False,
    ) -> None:
        """Answer the pinned curators until stopped (Ctrl-C, SIGTERM)."""
        if sum(way is not None for way in (listen, attach, through)) > 1:
            raise DataError("expected one of --listen, --attach and --through, got several; give one of them")
        from ..serving.daemon import serve as serve_home

        serve_home(
            home_type().open(folder),
            sys.stderr,
            listen=listen,
            attach=attach,
            through=through,
            curator=curator,
            metrics=metrics,
            until_ends=sys.stdin.fileno() if until_input_ends else None,
        )

    @commands.command()
    def health(
        folder: Folder,
        address: Annotated[
            str | None, typer.Option(help="host:port of the daemon, instead of the policy's.")
        ] = None,
    ) -> None:
        """Ask the running daemon whether it can answer; status 1 if not. Not for one that attaches."""
        from ..serving.asking import is_serving

        home = home_type().open(folder)
        if not is_serving(home.side(), address or home.serve().listen):
            tell("NOT_SERVING; the reason is in the daemon's log")
            raise typer.Exit(1)
        tell("SERVING")

    @commands.command()
    def abandon(
        folder: Folder, release: Annotated[str, typer.Argument(help="Release id, or a unique prefix.")]
    ) -> None:
        """End a release for good: erase its keys, and give back what it did not spend; also while serving."""
        from ..accounts.rows import CERTIFIED

        home = home_type().open(folder)
        with ledger_of(home) as opened:
            matches = [entry for entry in opened.summaries() if entry.release_id.startswith(release)]
            if len(matches) != 1 or not release:
                raise DataError(
                    f"expected the id of one accepted release, found {len(matches)}; `dpmosaic {home.role} "
                    f"{listing}` lists them"
                )
            if matches[0].state == CERTIFIED:
                raise DataError(
                    "the release is certified, and its keys are erased; there is nothing to abandon"
                )
            opened.abandon(matches[0].release_id)
        tell(f"abandoned {matches[0].release_id}")


def _show(member: Card) -> None:
    from ...common.crypto.certificates import fingerprint_text

    tell(f"{member.role} {member.name}")
    tell(f"  identity     {fingerprint_text(member.identity.hex())}")
    tell(f"  certificate  {fingerprint_text(member.certificate.fingerprint)}")
    left = member.certificate.not_after - datetime.now(UTC)
    tell(f"  expires      {member.certificate.not_after:%Y-%m-%d}, in {left.days} days")
