"""The command `dpmosaic`."""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from .common.errors import MosaicError
from .common.showing.examples import with_examples
from .common.showing.telling import tell
from .common.version import __version__

_OBJECTS_BETWEEN_COLLECTIONS = 20_000
"""Python's default of 700 spends a twentieth of a release on looking for cycles, of which there are few."""

COMMANDS: Mapping[str, tuple[str, str]] = {
    "synthesize": (
        "synthesis.command:synthesize",
        "Release a synthetic table from one file, with differential privacy.",
    ),
    "budget": (
        "synthesis.ledgers.command:budget",
        "Say what the releases of a table promise together, and set a limit that they keep to.",
    ),
    "resume": (
        "synthesis.command:resume",
        "Resume a release from one file; what was answered is neither asked nor charged again.",
    ),
    "simulate": (
        "simulations.command:simulate",
        "Partition a table over K x S parties, release a synthetic table from them, and compare the two.",
    ),
    "demo": (
        "simulations.command:demo",
        "Release a bundled health insurance table from two insurers and two clinics, with each protocol.",
    ),
    "evaluate": (
        "synthesis.evaluating.command:evaluate",
        "Compare synthetic tables with the real ones. The result depends on real rows: not for publication.",
    ),
    "attack": (
        "synthesis.attacking.command:attack",
        "Attack a release as its owner, who has the real rows. The result is not for publication.",
    ),
    "local-network": (
        "synthesis.over_parties.command:local_network",
        "Partition a table and run parties and dealers as processes on this machine, with mutual TLS.",
    ),
    "mechanisms": (
        "curator.mechanisms.command:mechanisms",
        "List the mechanisms: what each does, when to use it, over which protocols, what `--set` changes.",
    ),
    "schema": (
        "simulations.schema_command:schema",
        "Print the JSON schema of a file that people write, for editors; reading the file checks the same.",
    ),
    "query": (
        "curator.query_command:query",
        "Ask a release in SQL: counts, shares, means, sums and quantiles, with intervals. Costs no budget.",
    ),
    "generate": (
        "curator.generate_command:generate",
        "Draw rows from a finished release, any number, perhaps under a condition; costs no budget.",
    ),
    "copies": (
        "curator.analysis.copies_command:copies",
        "Write synthetic tables that differ as the real table may differ from a release; costs no budget.",
    ),
    "dossier": (
        "curator.dossier.command:dossier",
        "Write what officers, catalogues and journals ask of a release, and a page that verifies it.",
    ),
    "domain": (
        "party.drafting.command:domain_commands",
        "Domain files: possible values of each attribute.",
    ),
    "party": (
        "party.command:party_commands",
        "One institution: its keys, its policy, its daemon.",
    ),
    "dealer": (
        "party.dealing.command:dealer_commands",
        "A dealer of randomness, which holds no rows: its keys, its policy, its daemon.",
    ),
    "curator": (
        "curator.command:curator_commands",
        "Coordinates a release over daemons.",
    ),
    "datasets": (
        "simulations.datasets.command:datasets_commands",
        "Public tables for trying out releases.",
    ),
    "omop": (
        "synthesis.omop.command:omop_commands",
        "Databases of the OMOP common data model: made up, released, checked.",
    ),
    "experiment": (
        "simulations.experiments.command:experiment_commands",
        "The experiments of the papers.",
    ),
}
"""For each command its home, MODULE:NAME, and the first line of its help."""


SPENDING = ("synthesize", "resume", "simulate")
"""Commands that spend budget in their own process."""


_NO_MEMORY = (
    "expected to find room in memory, got less than this takes; end other programs, use fewer columns or "
    "coarser bins, or run it on a machine with more"
)


_NO_ROOM = (
    "expected a disk with room that can be written, found another ({}); make room, or let this user write "
    "there, and try again"
)


class _Unloaded(TyperCommand):
    """Stands for a command in the list of commands; whoever calls the command loads its module first."""

    def __init__(self, name: str) -> None:
        super().__init__(name, help=COMMANDS[name][1])

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """The context of the command itself, which parses the arguments."""
        assert self.name is not None
        return load_command(self.name).make_context(*args, **extra)


class _Commands(TyperGroup):
    """The commands, none of them loaded."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": {name: _Unloaded(name) for name in COMMANDS}})


@cache
def load_command(name: str) -> Any:
    """A command with its options, after its module is imported; made once, which takes tens of ms."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(import_module(f".{module}", __package__), attribute)
    if isinstance(found, typer.Typer):
        return typer.main.get_group(found)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(found)
    command = typer.main.get_command(alone)
    command.help = with_examples(name, command.help or "")
    return command


_ABOUT = "Differentially private synthetic tables from tables partitioned across institutions."

app = typer.Typer(
    cls=_Commands,
    help=with_examples("", _ABOUT),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        tell(__version__)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Differentially private synthetic tables from tables partitioned across institutions."""


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Prints a warning as one sentence, without the line of code that gave it."""
    tell(f"warning: {message}", err=True, fg=typer.colors.YELLOW)


def main() -> None:
    """Runs the command; an error that the user can fix prints one sentence and ends with exit status 1."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    warnings.showwarning = _show_warning
    spending = sys.argv[1:2] and sys.argv[1] in SPENDING
    for number in (signal.SIGINT, signal.SIGTERM) if spending else ():
        signal.signal(number, _stop_before_resuming if sys.argv[1] == "resume" else _stop_before_spending)
    try:
        app()
    except MosaicError as error:
        tell(f"error: {error}", err=True, fg=typer.colors.RED)
        if error.page:
            tell(f"more: {error.page}", err=True)
        sys.exit(1)
    except MemoryError:
        # What other libraries say of it may be a number of rows.
        tell(f"error: {_NO_MEMORY}", err=True, fg=typer.colors.RED)
        sys.exit(1)
    except Exception as error:
        from .common.formats import is_of_disk

        if not is_of_disk(error):
            raise
        tell(f"error: {_NO_ROOM.format(error)}", err=True, fg=typer.colors.RED)
        sys.exit(1)
    finally:
        # What is left is to end.
        for number in (signal.SIGINT, signal.SIGTERM) if spending else ():
            signal.signal(number, signal.SIG_IGN)


def _stop_before_spending(number: int, frame: object) -> None:
    """Ends a command that spends budget, before it begins; from then on `simulations.stopping` does."""
    os.write(sys.stderr.fileno(), b"stopped: nothing was spent, and nothing was written\n")
    os._exit(128 + number)


def _stop_before_resuming(number: int, frame: object) -> None:
    """The same for a release that goes on."""
    os.write(sys.stderr.fileno(), b"stopped: nothing more was spent, and nothing was written\n")
    os._exit(128 + number)
