"""The command `dpmosaic attack`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...common.errors import DataError
from ...common.extras import require_extra
from ...common.showing.tables import terminal_table
from ...common.showing.telling import tell
from ...common.showing.terminal import Terminal
from ...curator.options import JsonOutput
from ...party.sources.options import Header

if TYPE_CHECKING:
    from .page import Attacks


def attack(
    real: Annotated[Path, typer.Argument(help="The real table: .csv, .csv.gz or .parquet.")],
    release: Annotated[Path, typer.Argument(help="The folder of its release.")],
    holdout: Annotated[
        Path | None,
        typer.Option(help="Real rows that chance left out of the table, and that the release has not used."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page for readers.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the rows that are guessed.")] = 0,
    header: Header = None,
    json_output: JsonOutput = False,
) -> None:
    """Attack a release as its owner, who has the real rows. The result is not for publication.

    Ends with status 1 if something contradicts the promise.
    """
    require_extra("curator")
    from ...curator.analysis.release import load
    from ...curator.results.outputs import PEOPLE
    from .attack import attack as run

    if (release / PEOPLE).is_file():
        raise DataError(
            f"{release}: expected a release of one table with one row a person, got one of related tables; "
            "no attack on these is known to this command"
        )
    found = run(real, load(release), holdout, header=header, seed=seed)
    if report is not None:
        found.save(report)
    if json_output:
        tell(json.dumps(found.to_json()))
    else:
        _show(found)
    if found.alarms:
        raise typer.Exit(1)


def _show(found: Attacks) -> None:
    from ...simulations.evaluation.metrics import PRIVATE

    console = Terminal()
    console.print(f"Attacks on the release, {PRIVATE}.\n")
    rows = ((one.name, one.found, "ALARM" if one.alarm else "no") for one in found.findings)
    console.print(terminal_table(("attack", "found", "alarm"), rows, lines=True))
    console.print(
        f"A release that keeps its promise raises an alarm in at most {found.false_alarms:.0%} of cases."
    )
