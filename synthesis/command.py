"""The command `dpmosaic synthesize`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..common.errors import DataError
from ..common.extras import require_extra
from ..common.privacy.budget import DEFAULT_DELTA
from ..common.release_spec import BUDGET, OUTPUT
from ..common.showing.telling import tell
from ..common.showing.terminal import Terminal
from ..curator.options import (
    EPSILON,
    MECHANISM,
    PEOPLE,
    Delta,
    JsonOutput,
    Key,
    MechanismName,
    Rows,
    Seed,
    SpreadsheetSafe,
    Target,
    TimeLimit,
)
from ..curator.results.table_format import Format, TableFile, TableFormat
from ..party.sources.options import Header
from ..simulations.stopping import UNFINISHED, spends

if TYPE_CHECKING:
    from ..curator.analysis.release import Release
    from ..curator.people.release import PeopleRelease

COPIES = "copies"
"""Folder of the copies, in that of the release."""

_STDERR = Terminal(stderr=True)

Anyway = Annotated[
    bool, typer.Option("--anyway", help="Without a domain: release a table of too few rows too.")
]

_NO_ROWS = (
    "no row was drawn, since noise hides whether there are real ones; a larger epsilon, or a domain with "
    "fewer columns, lets it have some"
)
_TOLD = ("out", "json_output")
"""Options that a resumed release is given anew."""


@spends
def synthesize(
    data: Annotated[
        Path,
        typer.Argument(
            help="The real table: .csv, .tsv (perhaps .gz), .parquet, .feather, .xlsx, .sav, .dta, .sas7bdat "
            "or .xpt; with --relations, their folder."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the release.")],
    epsilon: Annotated[float, EPSILON] = 1.0,
    delta: Delta = DEFAULT_DELTA,
    domain: Annotated[
        Path | None,
        typer.Option(help="Domain file; without one, a part of the budget learns what the columns hold."),
    ] = None,
    key: Key = None,
    order: Annotated[
        str | None,
        typer.Option(
            help="With --key: column by which the rows of a person are in order, such as a date.",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(
            help="With --key and --order: column of categories, such as a test, within whose values what "
            "follows what is kept.",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    drop_incomplete: Annotated[
        bool,
        typer.Option(
            "--drop-incomplete",
            help="With --key or --relations: leave out rows without a key, a parent or a value of the order.",
            rich_help_panel=PEOPLE,
        ),
    ] = False,
    rising: Annotated[
        list[str] | None,
        typer.Option(
            help="With --key and --order: a column of which no row of a person has less than the one before; "
            "may be given several times.",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    once: Annotated[
        list[str] | None,
        typer.Option(
            help="With --key: a column of which no two rows of a person have the same, of categories or the "
            "order; may be given several times.",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    counts: Annotated[
        list[str] | None,
        typer.Option(
            help="With --key: a column that counts the rows of a person from 1, or COLUMN=0; may be given "
            "several times.",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    per_person: Annotated[
        list[str] | None,
        typer.Option(
            help="With --key: a column that is the same in all rows of a person; may be given several times.",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    releases: Annotated[
        int | None,
        typer.Option(
            help="With --key and --order: number of releases that share epsilon and delta, one a period.",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            help="With --releases: the last value of the order in this one, such as 2026-12-31.",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    continues: Annotated[
        Path | None,
        typer.Option(
            help="With --releases: folder of the release before, in each but the first.",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    relations: Annotated[
        Path | None,
        typer.Option(
            help="TOML file that says which table of the folder belongs to which, or SDV's metadata (.json).",
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    adjacency: Annotated[
        str,
        typer.Option(
            help="Which tables are neighbours: add-remove, zero-out or replace-one.", rich_help_panel=BUDGET
        ),
    ] = "add-remove",
    anyway: Anyway = False,
    mechanism: MechanismName = "mosaic",
    prior: Annotated[
        Path | None,
        typer.Option(
            help="What is known beforehand: folder of an earlier release, or a public table of the same "
            "columns. It moves what is expected, never the promise, which does not cover the people in it: "
            "never private rows. An earlier release of the same people adds its own epsilon.",
            rich_help_panel=MECHANISM,
        ),
    ] = None,
    prior_is_public: Annotated[
        bool,
        typer.Option(
            "--prior-is-public",
            help="The prior is public, or was made from a private release: you answer for that.",
            rich_help_panel=MECHANISM,
        ),
    ] = False,
    time_limit: TimeLimit = None,
    target: Target = None,
    workload: Annotated[
        str | None,
        typer.Option(
            help="1way, 2way, 3way, or a JSON file; 2way. With --key, a JSON file of pairs of columns.",
            rich_help_panel=MECHANISM,
        ),
    ] = None,
    rows: Rows = None,
    copies: Annotated[
        int | None,
        typer.Option(
            help="Also write so many copies, for intervals by any software; see `dpmosaic copies`.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    seed: Seed = None,
    header: Header = None,
    table_format: Format = TableFormat.CSV,
    spreadsheet_safe: SpreadsheetSafe = False,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Ledger that counts the release; by default the one beside the table.",
            rich_help_panel=BUDGET,
        ),
    ] = None,
    no_ledger: Annotated[
        bool,
        typer.Option(
            "--no-ledger", help="Count the release in no ledger of the table.", rich_help_panel=BUDGET
        ),
    ] = False,
    json_output: JsonOutput = False,
) -> None:
    """Release a synthetic table from one file, with differential privacy."""
    options = {name: value for name, value in locals().items() if name not in _TOLD}
    require_extra("curator")
    from ..curator.analysis.copies import check_count, check_new, write_copies
    from ..curator.certificates.checking import process_for_checks
    from ..curator.people.table_files import Description, added_to, formula_warning
    from ..curator.results import outputs as files
    from ..simulations.rehearsal import compiling_beside
    from .relations_file import read_relations
    from .synthesize import synthesize as run
    from .unfinished import unfinished_release

    table_file = TableFile(table_format, spreadsheet_safe)
    if copies is not None:
        check_count(copies)
        if not (out / UNFINISHED).exists():
            check_new(out / COPIES)
    asked: dict[str, Any] = {
        name: options[name]
        for name in (
            *("epsilon", "delta", "adjacency", "anyway", "mechanism", "time_limit", "target", "workload"),
            *("rows", "seed", "header", "prior", "prior_is_public", "drop_incomplete"),
        )
    }
    if ledger is not None and no_ledger:
        raise DataError("--ledger and --no-ledger: expected one of them, got both; leave one out")
    asked["ledger"] = ledger or not no_ledger
    if relations is None and data.is_dir():
        raise DataError(
            f"{data}: expected a file, or --relations beside a folder of tables, got a folder alone; draft "
            f"what belongs to what by `dpmosaic domain infer {data} --out DRAFTS`, review it, and name it by "
            "--relations DRAFTS/relations.toml"
        )
    if key is not None or relations is not None:
        if copies is not None:
            raise DataError("copies: a release of people with several rows has none; leave them out")
        periods = {"releases": releases, "until": until, "continues": continues}
        if any(one is not None for one in periods.values()):
            before = None if continues is None else Description.read(continues).spreadsheet_safe
            table_file = added_to(table_file, before)
        stated = None if relations is None else read_relations(relations, data)
        with unfinished_release(out, _command(options)) as kept, _warnings_said(not json_output) as notes:
            chosen: dict[str, Any] = (
                {
                    **{"key": key, "order": order, "series": series, "per_person": per_person or ()},
                    **{"rising": rising, "once": once, "counts": _first_numbers(counts)},
                    **{"domain": domain, **periods},
                }
                if stated is None
                else {
                    "relations": stated.relations,
                    **periods,
                    "order": stated.order,
                    "domain": stated.domains or domain,
                    "summaries": stated.summaries,
                    "series": stated.series or None,
                    "within": stated.within,
                    "near": stated.near or None,
                    **{one: said or None for one, said in vars(stated.implied).items()},
                    "drop_incomplete": drop_incomplete or stated.drop_incomplete,
                    "public": sorted(stated.public),
                    "workload": stated.workload or workload,
                }
            )
            found: Any = run(data if stated is None else stated.files, **asked | chosen, out=kept)
            people: PeopleRelease = found
            people.write(out, table_file)
        sizes = {"tables": {name: len(table) for name, table in people.frames.items()}}
        promised, where = people.certificate.budget, f"the tables are in {out / 'tables'}"
        formulas = formula_warning(people.family, table_file, people.public)
        unsaid = [*(notes if json_output else []), *([] if formulas is None else [formulas])]
        unsaid += [f"{name}: {_NO_ROWS}" for name, rows in people.frames.items() if not len(rows)]
        _tell(people, sizes, promised, out, where, unsaid, json_output)
        return
    alone = (order, series, rising, once, counts, releases, until, continues)
    if per_person or drop_incomplete or any(one is not None for one in alone):
        raise DataError(
            "order, series, rising, once, counts, drop_incomplete, per_person, releases, until and "
            "continues: expected --key beside them, got none; name the key"
        )
    with unfinished_release(out, _command(options)) as kept, _warnings_said(not json_output) as notes:
        with process_for_checks() as checks, compiling_beside():
            release = run(data, **asked, domain=domain, checks=checks, out=kept)
        release.write(out, table_file)
        if copies is not None and not (out / COPIES).exists():
            write_copies(release.published, copies, out / COPIES, table_file, seed)
    formulas = files.formula_warning(release.domain, table_file)
    unsaid = [*(notes if json_output else []), *([] if formulas is None else [formulas])]
    size, promise = {"rows": release.rows.record_count}, release.certificate.promise
    _tell(release, size, promise, out, f"open {out / 'report.html'}", unsaid, json_output)


def _first_numbers(counts: list[str] | None) -> dict[str, int] | None:
    """Columns that count rows, each with the first number, as the command names them."""
    if not counts:
        return None
    parts = [one.rpartition("=") if one.endswith(("=0", "=1")) else (one, "", "1") for one in counts]
    return {column: int(first) for column, _, first in parts}


def resume(
    folder: Annotated[Path, typer.Argument(help="Folder of a release that stopped.")],
    anyway: Anyway = False,
    json_output: JsonOutput = False,
) -> None:
    """Resume a release from one file; what was answered is neither asked nor charged again."""
    require_extra("curator")
    from .unfinished import command_of

    options = command_of(folder)
    named = ("data", "domain", "relations", "ledger", "continues", "prior")
    paths = {name: Path(options[name]) for name in named if options.get(name) is not None}
    table_format = TableFormat(options["table_format"])
    again = {**options, **paths, "table_format": table_format, "anyway": anyway or options["anyway"]}
    synthesize(**again, out=folder, json_output=json_output)


def _command(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options for `resume`, as JSON values, which mean the same in another working directory."""
    workload = options["workload"]
    named = workload is None or not Path(workload).is_file()
    files = {"workload": workload if named else str(Path(workload).resolve())}
    paths = {name: str(one.resolve()) for name, one in options.items() if isinstance(one, Path)}
    return {**options, **paths, **files}


@contextmanager
def _warnings_said(at_once: bool) -> Iterator[list[str]]:
    """The texts of warnings; some of them come before anything is spent, so people read them then.

    Args:
        at_once: whether each is printed when it comes.
    """
    notes: list[str] = []

    def hear(message: Warning | str, *_: object, **__: object) -> None:
        notes.append(str(message))
        if at_once:
            _warn(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = hear
        yield notes


def _warn(note: str) -> None:
    _STDERR.print(f"[yellow]warning:[/] {escape(note)}")


def _tell(
    release: Release | PeopleRelease,
    size: Mapping[str, object],
    promise: object,
    out: Path,
    where: str,
    notes: list[str],
    json_output: bool,
) -> None:
    """Says what was released.

    Args:
        release: the release.
        size: its numbers of rows, as the summary in JSON has them.
        promise: what was promised, for that summary.
        out: its folder.
        where: what to look at there, in words.
        notes: warnings.
        json_output: whether the summary is printed, and nothing else.
    """
    from ..curator.certificates.json_values import to_json_values

    certificate = release.certificate
    if json_output:
        summary = {
            "out": str(out),
            **size,
            "differentially_private": certificate.differentially_private,
            "labels": list(certificate.labels),
            "promise": to_json_values(promise),
            "warnings": notes,
        }
        tell(json.dumps(summary))
        return
    for label in certificate.labels:
        _STDERR.print(f"[bold red]{escape(label)}[/]")
    for note in notes:
        _warn(note)
    tell(f"{release!r} written to {out}: {where}")
