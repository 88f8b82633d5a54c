"""The commands `dpmosaic experiment list` and `dpmosaic experiment run`."""

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

if TYPE_CHECKING:
    from .experiment import Experiment

experiment_commands = typer.Typer(help="The experiments of the papers.", no_args_is_help=True)

_STDERR = Terminal(stderr=True)


@experiment_commands.command("list")
def list_experiments(
    json_output: JsonOutput = False,
) -> None:
    """List the experiments with the tables and the number of releases that each needs."""
    require_extra("eval")
    from .catalogue import EXPERIMENTS

    if json_output:
        found = [
            {
                "name": e.name,
                "source": e.source,
                "shows": e.title,
                "tables": _tables(e),
                "releases": _counts(e),
            }
            for e in EXPERIMENTS.values()
        ]
        tell(json.dumps(found))
        return
    rows = ((e.name, e.title, ", ".join(_tables(e)), _releases(e)) for e in EXPERIMENTS.values())
    title = "dpmosaic experiment run NAME --data DIR --out DIR"
    Terminal().print(
        terminal_table(("name", "shows", "tables", "releases"), rows, whole=["name"], title=title)
    )


def _releases(experiment: Experiment) -> str:
    counts = _counts(experiment)
    return f"{counts['all']}, quick {counts['quick']}"


def _tables(experiment: Experiment) -> list[str]:
    return list(dict.fromkeys(panel.base.table for panel in experiment.panels))


def _counts(experiment: Experiment) -> dict[str, int]:
    """The number of releases of the whole and of the quick experiment."""
    return {
        "all": len(set(experiment.cells(experiment.seeds))),
        "quick": len(set(experiment.for_quick_run().cells(1))),
    }


@experiment_commands.command("run")
def run_experiment(
    name: Annotated[str, typer.Argument(help="Name of the experiment; `experiment list` lists them.")],
    data: Annotated[Path, typer.Option(help="Folder of NAME/domain.json and NAME/NAME.csv.gz.")],
    out: Annotated[Path, typer.Option(help="Folder for results; a run that was stopped resumes there.")],
    seeds: Annotated[int | None, typer.Option(help="Releases per cell, which are averaged.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run only a part of the releases, with one seed each.")
    ] = False,
    processes: Annotated[int, typer.Option(help="Number of releases that run in parallel.")] = 2,
    json_output: JsonOutput = False,
) -> None:
    """Run the missing releases of an experiment; write its numbers, a figure and a page."""
    require_extra("eval")
    from .catalogue import experiment_named
    from .conduct import conduct, progress

    if processes < 1:
        raise DataError(f"processes: expected at least 1, got {processes}; ask for more")
    found = experiment_named(name)
    if quick and seeds is not None:
        raise DataError(
            "expected --seeds or --quick, which makes each release once, got both; leave out --seeds or "
            "--quick"
        )
    chosen = found.for_quick_run() if quick else found
    with progress(_STDERR) as report:
        outcome = conduct(
            chosen,
            data.resolve(),
            out,
            seeds=chosen.seeds if seeds is None else seeds,
            quick=quick,
            processes=processes,
            report=report,
        )
    if json_output:
        tell(json.dumps(outcome.to_json()))
    else:
        outcome.show(Terminal())
