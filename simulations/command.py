"""The commands `dpmosaic simulate` and `dpmosaic demo`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..common.errors import DataError
from ..common.extras import require_extra
from ..common.files.writing import write_text
from ..common.privacy.budget import DEFAULT_DELTA
from ..common.protocols.aligned import DEFAULT_RHO, Population
from ..common.release_spec import BUDGET, OUTPUT, PARTITION, ReleaseSpec
from ..common.showing.tables import terminal_table
from ..common.showing.telling import tell
from ..common.showing.terminal import Terminal
from ..curator.options import (
    EPSILON,
    MECHANISM,
    Delta,
    JsonOutput,
    Key,
    MechanismName,
    Seed,
    Settings,
    SpreadsheetSafe,
    Target,
    TimeLimit,
    WorkloadName,
    parse_settings,
    with_options_of,
)
from ..curator.releasing.planning.bins_share import DEFAULT_SHARE, check_coded
from ..curator.results.table_format import Format, TableFile, TableFormat
from ..party.sources.options import Header
from .stopping import running, spends

if TYPE_CHECKING:
    from ..common.data.domain import Domain
    from ..common.data.table import Table
    from ..curator.analysis.published import Drawn
    from .evaluation.values.distribution import Distribution
    from .simulate import Simulation

ALIGNED = "Aligned rows"
"""Heading of options in help."""

_STDERR = Terminal(stderr=True)


# Longer than other functions, since Typer reads every option from the signature.
@spends
@with_options_of(ReleaseSpec, after="grid")
def simulate(
    data: Annotated[Path, typer.Argument(help="The real table: .csv, .csv.gz or .parquet.")],
    domain: Annotated[Path, typer.Option(help="Domain file; `dpmosaic domain infer` drafts one.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the results.", rich_help_panel=OUTPUT)] = None,
    epsilon: Annotated[float | None, EPSILON] = None,
    delta: Delta = DEFAULT_DELTA,
    rho: Annotated[
        float | None, typer.Option(help="Privacy budget in zCDP, instead of epsilon.", rich_help_panel=BUDGET)
    ] = None,
    grid: Annotated[
        str,
        typer.Option(help="KxS: K slices of rows over S parties; or a JSON file.", rich_help_panel=PARTITION),
    ] = "1x1",
    dealers: Annotated[
        int,
        typer.Option(
            help="masked: number of dealers, 1 or at least 3; by default the curator deals.",
            rich_help_panel=PARTITION,
        ),
    ] = 0,
    mechanism: MechanismName = "mosaic",
    settings: Settings = None,
    time_limit: TimeLimit = None,
    variant: Annotated[
        str, typer.Option(help="default, or paper to follow the paper's text.", rich_help_panel=MECHANISM)
    ] = "default",
    binarise: Annotated[
        bool,
        typer.Option(
            "--binarise",
            help="Release binary digits of the codes, as PrivBayes does.",
            rich_help_panel=MECHANISM,
        ),
    ] = False,
    record_wise: Annotated[
        bool,
        typer.Option(
            "--record-wise",
            help="indicator: noise on every record even within one party.",
            rich_help_panel=PARTITION,
        ),
    ] = False,
    workload: WorkloadName = None,
    target: Target = None,
    key: Key = None,
    align_by: Annotated[
        str | None,
        typer.Option(help="Align rows by this column, which identifies people.", rich_help_panel=ALIGNED),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(
            help="Align rows: share of the people of a slice at all its parties; the others are at some.",
            rich_help_panel=ALIGNED,
        ),
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle",
            help="Align rows: each party has them in an order of its own.",
            rich_help_panel=ALIGNED,
        ),
    ] = False,
    typos: Annotated[
        float | None,
        typer.Option(
            help="Align rows: share of identifiers that a party writes wrongly.", rich_help_panel=ALIGNED
        ),
    ] = None,
    population: Annotated[
        str,
        typer.Option(
            help="Aligned rows: release the people everywhere or anywhere in their slice.",
            rich_help_panel=ALIGNED,
        ),
    ] = Population.EVERYWHERE.value,
    alignment_rho: Annotated[
        float, typer.Option(help="Budget of the alignment, zCDP.", rich_help_panel=ALIGNED)
    ] = DEFAULT_RHO,
    bins_share: Annotated[
        float,
        typer.Option(
            help="Share of the budget that chooses bins where the domain leaves them open.",
            rich_help_panel=BUDGET,
        ),
    ] = DEFAULT_SHARE,
    seed: Seed = None,
    header: Header = None,
    table_format: Format = TableFormat.CSV,
    spreadsheet_safe: SpreadsheetSafe = False,
    json_output: JsonOutput = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Forecast cost, noise, time and memory; measure nothing.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    **options: Any,
) -> None:
    """Partition a table over K x S parties, release a synthetic table from them, and compare the two."""
    require_extra("curator")
    from ..common.data.binarise import Binarisation
    from ..common.data.domain import Domain
    from ..common.privacy.budget import Budget
    from ..curator.certificates.checking import process_for_checks
    from ..curator.certificates.verify import BINS
    from ..curator.mechanisms.catalogue import mechanism_named
    from ..curator.releasing.progress import progress_bar
    from ..curator.results import outputs as files
    from ..party.sources.source import FileSource
    from .originals import Original, read_original
    from .parties.people import Overlap, read_people
    from .rehearsal import compiling_beside
    from .simulate import simulate as run
    from .tables.frames import written
    from .time_limit import lateness, limited

    budget = Budget(epsilon, delta, rho)
    table_file = TableFile(table_format, spreadsheet_safe)
    if not dry_run:
        if out is None:
            raise DataError("expected --out, the folder for the results, or --dry-run; got neither")
        files.check_folder(out, ["metrics.json", BINS])
    chosen = limited(mechanism_named(mechanism, variant, parse_settings(settings)), time_limit)
    source = FileSource(data, header)
    loaded = Domain.load(domain)
    if align_by is not None and key is not None:
        raise DataError("--align-by: expected none beside --key, by which rows are aligned; leave it out")
    identifiers = people = None
    if align_by is None and key is None:
        original = read_original(source, loaded)
    else:
        table, names = read_people(source, loaded, key or align_by)
        original = Original(table, {})
        identifiers, people = (names, None) if key is None else (None, names)
    if binarise and population != Population.EVERYWHERE.value:
        raise DataError("--binarise: the value `absent` has no binary digits; release the people everywhere")
    if binarise:
        check_coded(loaded)
    binary = Binarisation(loaded) if binarise else None
    coded = binary.encode(original.table) if binary else original.table
    aligned = Overlap.of(identifiers, overlap, shuffle, typos) is not None
    asked: dict[str, Any] = {
        "epsilon": budget,
        "grid": grid,
        "dealers": dealers,
        "mechanism": chosen,
        "workload": workload,
        "target": target,
        "bins_share": bins_share,
        **options,
    }
    if dry_run:
        if aligned or record_wise or people is not None:
            raise DataError(
                "--dry-run: expected rows in the same order and neither --record-wise nor --key; leave "
                "them out"
            )
        _forecast(coded, json_output, **asked)
        return
    assert out is not None
    with process_for_checks() as checks, compiling_beside(), progress_bar(_STDERR) as report:
        result = run(
            coded,
            **asked,
            record_wise=record_wise,
            people=people,
            identifiers=identifiers,
            overlap=overlap,
            shuffle=shuffle,
            typos=typos,
            population=population,
            alignment_rho=alignment_rho,
            seed=seed,
            report=report,
            checks=checks,
        )
    synthetic = binary.decode(result.rows) if binary else result.rows
    columns = written(loaded, source.columns())
    released = replace(result.drawn.released, synthetic=synthetic)
    drawn = replace(result.drawn, columns=columns, released=released)
    for spending in running():
        spending.write(out)
    _write(out, drawn, result.metrics, table_file, loaded, None if aligned else original.numbers)
    late = lateness(time_limit, result.metrics["seconds"])
    said = (files.formula_warning(synthetic.domain, table_file), late)
    warning = "; ".join(one for one in said if one is not None) or None
    if json_output:
        tell(json.dumps(_summary(result, out, warning)))
    else:
        _show(result, out, warning)


def demo(
    page: Annotated[
        Path | None, typer.Option("--report", help="Write an HTML report of all protocols.")
    ] = None,
    json_output: JsonOutput = False,
) -> None:
    """Release a bundled health insurance table from two insurers and two clinics, with each protocol."""
    require_extra("demo")
    from ..curator.releasing.progress import progress_bar
    from . import demo as demonstration

    with progress_bar(_STDERR) as report:
        lines = list(demonstration.run(report=report))
    if page is not None:
        write_text(page, demonstration.page(lines))
    if json_output:
        tell(json.dumps([line.to_json() for line in lines]))
        return
    console, numbers = Terminal(), ("error of pairs", "seconds")
    rows = (
        (one.protocol, one.mechanism, f"{one.total_variation:.4f}", f"{one.seconds:.1f}", one.meaning)
        for one in lines
    )
    title = f"20,190 yearly records, 2 insurers x 2 clinics, epsilon = {demonstration.EPSILON:g}"
    headings = ("protocol", "mechanism", *numbers, "what it means")
    console.print(terminal_table(headings, rows, right=numbers, title=title))
    console.print("Error of pairs: average total variation distance of the two-way marginals; 0 means equal.")
    if page is not None:
        console.print(f"report: {page}")


def _forecast(table: Table, json_output: bool, **arguments: Any) -> None:
    from ..curator.forecasting.display import print_forecast
    from .foreseen import forecast_simulation

    predicted = forecast_simulation(table, **arguments)
    if json_output:
        tell(json.dumps(predicted.to_json()))
    else:
        print_forecast(Terminal(), predicted)


def _write(
    out: Path,
    drawn: Drawn,
    metrics: dict[str, Any],
    table_file: TableFile,
    domain: Domain,
    numbers: Mapping[str, Distribution] | None,
) -> None:
    """Writes the files of a simulated release; values are compared unless its rows are a join.

    Args:
        out: folder, checked.
        drawn: the release.
        metrics: its errors.
        table_file: how the synthetic table is written.
        domain: as the user gave it.
        numbers: the distributions of the real numbers; None without a comparison.
    """
    from ..curator.analysis.release import write_drawn
    from ..curator.results import outputs as files
    from .evaluation.metrics import PRIVATE
    from .evaluation.values.number_distances import MainFigures

    figures = MainFigures(domain, numbers or {})
    write_drawn(drawn, out, table_file, figures.add)
    if numbers is not None:
        metrics = {**metrics, "values": figures.to_json()}
    files.write_not_for_release(out / "metrics.json", files.json_text(metrics), PRIVATE)


def _summary(result: Simulation, out: Path, warning: str | None) -> dict[str, object]:
    from ..curator.certificates.json_values import to_json_values

    return {
        "out": str(out),
        "differentially_private": result.certificate.differentially_private,
        "labels": list(result.certificate.labels),
        "promise": to_json_values(result.certificate.promise),
        "metrics": result.metrics,
        "rounds": len(result.fitted.rounds),
        "warning": warning,
    }


def _show(result: Simulation, out: Path, warning: str | None) -> None:
    from .evaluation.metrics import PRIVATE

    console = Terminal()
    for label in result.certificate.labels:
        console.print(f"[bold red]{label}[/]")
    headings = "marginals", "compared", "total variation", "KL"
    rows = (
        (f"{one['k']}-way", str(one["cliques"]), f"{one['total_variation']:.4f}", f"{one['kl']:.4f}")
        for one in result.metrics["kway"]
    )
    console.print(
        terminal_table(headings, rows, right=headings, title="Distance to the real table", caption=PRIVATE)
    )
    console.print(
        f"workload error {result.metrics['workload_error']:.4f}, {len(result.fitted.rounds)} rounds, ", end=""
    )
    console.print(f"{result.metrics['seconds']:.1f} s; written to {out}; do not publish metrics.json")
    if warning is not None:
        console.print(f"[yellow]warning:[/] {escape(warning)}")
