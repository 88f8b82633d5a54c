"""The command `dpmosaic`."""

from __future__ import annotations

import gc
import sys
from typing import Annotated

import typer

from .common.errors import MosaicError
from .common.version import __version__
from .curator.analysis.copies_command import copies
from .curator.analysis.generate_command import generate
from .curator.analysis.query_command import query
from .curator.command import curator_commands
from .curator.mechanisms.command import mechanisms
from .party.command import party_commands
from .party.dealing.command import dealer_commands
from .party.domain_command import domain_commands
from .simulations.command import demo, simulate
from .simulations.datasets.command import datasets_commands
from .simulations.evaluation.command import evaluate
from .simulations.experiments.command import experiment_commands
from .simulations.network_command import local_network
from .simulations.synthesize_command import synthesize

_OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""Python's default of 700 spends a twentieth of a release on looking for cycles, of which there are few."""

app = typer.Typer(
    help="Differentially private synthetic tables from tables partitioned across institutions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(domain_commands, name="domain")
app.add_typer(party_commands, name="party")
app.add_typer(dealer_commands, name="dealer")
app.add_typer(curator_commands, name="curator")
app.add_typer(datasets_commands, name="datasets")
app.add_typer(experiment_commands, name="experiment")
app.command()(synthesize)
app.command()(simulate)
app.command()(demo)
app.command()(evaluate)
app.command()(local_network)
app.command()(mechanisms)
app.command()(query)
app.command()(generate)
app.command()(copies)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Differentially private synthetic tables from tables partitioned across institutions."""


def main() -> None:
    """Runs the command; an error that the user can fix prints one sentence and ends with exit status 1."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    try:
        app()
    except MosaicError as error:
        typer.secho(f"error: {error}", err=True, fg=typer.colors.RED)
        sys.exit(1)
