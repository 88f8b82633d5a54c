"""The commands `dpmosaic omop ...`."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from ...common.extras import require_extra
from ...common.release_spec import BUDGET
from ...common.showing.tables import terminal_table
from ...common.showing.telling import tell
from ...common.showing.terminal import Terminal
from ...curator.options import JsonOutput, Seed
from ...simulations.stopping import stoppable

omop_commands = typer.Typer(help="Databases of the OMOP common data model: made up, released, checked.")

Database = Annotated[str, typer.Argument(help="A CDM: a file of DuckDB, or postgresql://... .")]
Schema = Annotated[str, typer.Option(help="Schema of the tables.")]


@omop_commands.command("generate")
def generate(
    database: Annotated[Path, typer.Argument(help="New file of DuckDB; in a folder, cdm.duckdb.")],
    people: Annotated[int, typer.Option(help="Number of people.")] = 10_000,
    seed: Annotated[int | None, typer.Option(help="Makes the same people again.")] = None,
) -> None:
    """Write a CDM of made-up people, with an invented vocabulary."""
    require_extra("curator")
    from .generate import generate as run

    tell(f"{people:,} made-up people written to {run(database, people, seed)}")


@omop_commands.command("synthesize")
def synthesize(
    database: Database,
    out: Annotated[Path, typer.Argument(help="Folder for the synthetic CDM and its release.")],
    epsilon: Annotated[
        float, typer.Option(help="Privacy budget of a person, with delta.", rich_help_panel=BUDGET)
    ] = 1.0,
    delta: Annotated[
        float, typer.Option(help="Privacy budget of a person, with epsilon.", rich_help_panel=BUDGET)
    ] = 1e-6,
    schema: Schema = "",
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="First day that is released; ten years before the last."),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Last day that is released; by default the source's date."),
    ] = None,
    categories: Annotated[
        int, typer.Option(help="Most categories of conditions, of drugs and of measurements.")
    ] = 20,
    ranges: Annotated[
        Path | None, typer.Option(help="File of public ranges: measurements with a range keep values.")
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Ledger that counts the release; by default the one beside the file.", rich_help_panel=BUDGET
        ),
    ] = None,
    no_ledger: Annotated[
        bool, typer.Option("--no-ledger", help="Count the release in no ledger.", rich_help_panel=BUDGET)
    ] = False,
    seed: Seed = None,
) -> None:
    """Release a CDM as a CDM of synthetic people, with differential privacy of a person."""
    require_extra("curator")
    from .choices import read_ranges
    from .synthesize import synthesize_cdm

    with stoppable(f"epsilon {epsilon:g}", "the same command"):
        made = synthesize_cdm(
            database,
            out,
            epsilon,
            delta=delta,
            schema=schema,
            since=None if since is None else since.date(),
            until=None if until is None else until.date(),
            most=categories,
            known=None if ranges is None else read_ranges(ranges),
            seed=seed,
            ledger=ledger or not no_ledger,
        )
    for label in made.release.certificate.labels:
        Terminal(stderr=True).print(f"[bold red]{escape(label)}[/]")
    path = made.database
    tell(f"synthetic people written to {path}; `dpmosaic omop check {path} --released` checks them")


@omop_commands.command("check")
def check(
    database: Database,
    released: Annotated[
        bool, typer.Option("--released", help="Also that no source value or free text is there.")
    ] = False,
    schema: Schema = "",
    json_output: JsonOutput = False,
) -> None:
    """Say of each rule of a CDM whether it holds; exit status 1 if one does not."""
    require_extra("curator")
    from .checks import check as run

    found = run(database, schema=schema, released=released)
    broken = [one for one in found if not one.holds]
    if json_output:
        tell(json.dumps({one.rule.name: one.rows for one in found}))
    else:
        title = f"{len(found) - len(broken)} of {len(found)} rules hold"
        caption = "Numbers of rows are private if the database is."
        rows = ((one.rule.name, "yes" if one.holds else f"no: {one.rows:,} rows") for one in found)
        Terminal().print(terminal_table(("rule", "holds"), rows, title=title, caption=caption))
    if broken:
        raise typer.Exit(1)
