"""The command `dpmosaic query`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..common.errors import DataError
from ..common.extras import require_extra
from ..common.files.writing import write_text
from ..common.showing.tables import terminal_table
from ..common.showing.telling import tell, write
from ..common.showing.terminal import Terminal

if TYPE_CHECKING:
    from .analysis.queries.answer import Answer

_PRINTED = Path("-")


def query(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    question: Annotated[
        str, typer.Argument(metavar="SQL", help="Such as: SELECT sex, AVG(age) FROM release GROUP BY sex")
    ],
    level: Annotated[float, typer.Option(help="Probability that an interval covers the truth.")] = 0.95,
    population: Annotated[
        bool,
        typer.Option(
            "--population",
            help="Intervals for the population of which the real table is a random sample.",
        ),
    ] = False,
    json_output: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    csv_file: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", allow_dash=True, help="Write CSV into a file; - prints it."),
    ] = None,
) -> None:
    """Ask a release in SQL: counts, shares, means, sums and quantiles, with intervals. Costs no budget."""
    if json_output and csv_file is not None:
        raise DataError("expected --json or --csv, got both; choose one")
    require_extra("curator")
    from .analysis.release import load
    from .people.release import load_people
    from .results.csv_files import csv_text
    from .results.outputs import PEOPLE, write_not_for_release

    held = load_people(release) if (release / PEOPLE).is_file() else load(release)
    answered = held.query(question, level, "population" if population else "table")
    if json_output:
        tell(json.dumps(answered.to_json()))
    elif csv_file == _PRINTED:
        write(csv_text(answered.frame))
        _warn(answered)
    elif csv_file is not None:
        if answered.labels:
            write_not_for_release(csv_file, csv_text(answered.frame), " ".join(answered.labels))
        else:
            write_text(csv_file, csv_text(answered.frame))
        tell(f"{len(answered.rows)} rows written to {csv_file}")
        _warn(answered)
    else:
        _print(answered)


def _print(answered: Answer) -> None:
    numbers = [name for name in answered.columns if name not in answered.groups]
    Terminal().print(terminal_table(answered.columns, answered.texts(), right=numbers))
    for line in (answered.caption, *answered.notes):
        tell(line)
    _warn(answered)


def _warn(answered: Answer) -> None:
    for label in answered.labels:
        tell(f"warning: {label}", fg=typer.colors.YELLOW, err=True)
