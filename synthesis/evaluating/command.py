"""The command `dpmosaic evaluate`."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ...common.errors import DataError
from ...common.extras import require_extra
from ...common.showing.tables import terminal_table
from ...common.showing.telling import tell
from ...common.showing.terminal import Terminal
from ...curator.options import PEOPLE, JsonOutput
from ...party.sources.options import Header

if TYPE_CHECKING:
    from ...common.data.domain import Domain
    from ...curator.certificates.certificate import Certificate
    from ...curator.report.comparison import ScoreTable
    from ...simulations.evaluation.evaluation import Evaluation
    from ...simulations.evaluation.people import PeopleEvaluation


def evaluate(
    real: Annotated[
        Path,
        typer.Argument(help="The real table: .csv, .csv.gz or .parquet; of related tables their folder."),
    ],
    synthetic: Annotated[
        Path,
        typer.Argument(help="The folder of the release; or the synthetic table of one row a person."),
    ],
    domain: Annotated[
        Path | None,
        typer.Option(help="Domain file of both; by default bins/domain.json of a release that chose bins."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help="Train classifiers and regressions to predict this attribute from all others."),
    ] = None,
    holdout: Annotated[
        Path | None,
        typer.Option(
            help="Real rows that the release has not used: to test classifiers on, and to count equal rows."
        ),
    ] = None,
    pay: Annotated[
        tuple[str, str, str] | None,
        typer.Option(metavar="SPLIT AMOUNT GROUP", help="Attributes of the NIST regression score."),
    ] = None,
    workload: Annotated[
        str | None, typer.Option(help="1way, 2way, 3way, or a JSON file; 2way by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of splits, subsets and queries of the metrics.")] = 0,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page; it shows real distributions.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="With --report: the release's certificate, to show its promise.")
    ] = None,
    relations: Annotated[
        Path | None,
        typer.Option(help="The file of relations, if files are not named as tables.", rich_help_panel=PEOPLE),
    ] = None,
    follow: Annotated[
        tuple[str, str, str] | None,
        typer.Option(
            metavar="UNTIL STATE BY",
            help="Columns of people for curves of survival: until when each was followed, whether it "
            'happened then, and one that has a curve for each value, or "".',
            rich_help_panel=PEOPLE,
        ),
    ] = None,
    header: Header = None,
    json_output: JsonOutput = False,
) -> None:
    """Compare synthetic tables with the real ones. The result depends on real rows: not for publication."""
    if certificate is not None and report is None:
        raise DataError("--certificate is for the report; give --report too, or leave it out")
    require_extra("curator" if target is None else "eval")
    from ...curator.results import outputs as files

    if (synthetic / files.PEOPLE).is_file():
        given = {"domain": domain, "target": target, "holdout": holdout, "pay": pay, "workload": workload}
        if useless := [name for name, one in {**given, "certificate": certificate}.items() if one]:
            raise DataError(f"{useless[0]}: an evaluation of related tables has no such choice; leave it out")
        _evaluate_people(real, synthetic, relations, follow, report, json_output)
        return
    if relations is not None or follow is not None:
        raise DataError(
            f"relations and follow: expected the folder of a release of people, found no {files.PEOPLE} in "
            f"{synthetic}; name the real tables first, and then that folder"
        )
    from ...common.data.domain import Domain

    learned: tuple[str, ...] = ()
    stated = None if domain is None else Domain.load(domain)
    if synthetic.is_dir():
        synthetic, chosen, names = _parts_of(synthetic)
        stated, learned = (chosen, names) if stated is None else (stated, learned)
    if stated is None:
        raise DataError(
            "expected the domain of both tables, got none; give --domain, or name the folder of the release "
            "in place of its table"
        )
    from ...common.data.workload import Workload
    from ...curator.report.page import evaluation_report
    from ...curator.results.comparable import comparable
    from ...simulations.evaluation.evaluation import evaluate as run
    from ...simulations.evaluation.metrics import PRIVATE
    from ...simulations.evaluation.nist import Pay
    from ...simulations.evaluation.tables import comparison
    from ...simulations.evaluation.usefulness import usefulness
    from ...simulations.evaluation.values.distances import value_distances
    from ...simulations.evaluation.values.values import Values

    issued = None if certificate is None else _certificate_of(certificate, stated)
    _check_unpacked(synthetic)
    # The real table may hold what the release has not learned.
    known = comparable(stated, learned)
    rows, made_up = Values.read(real, known, header=header), Values.read(synthetic, known)
    apart = None if holdout is None else Values.read(holdout, known, header=header)
    found = run(
        rows.table,
        made_up.table,
        target=target,
        holdout=None if apart is None else apart.table,
        workload=Workload.wanted(known, workload, None),
        pay=None if pay is None else Pay(*pay),
        seed=seed,
    )
    found = replace(
        found,
        values=value_distances(rows, made_up, target=target, holdout=apart, seed=seed),
        usefulness=None if target is None else usefulness(rows, made_up, target, apart, seed),
    )
    if report is not None:
        page = evaluation_report(made_up.table, comparison(found, rows.table), issued)
        files.write_not_for_release(report, page, PRIVATE)
    if json_output:
        tell(json.dumps(found.to_json()))
    else:
        _show(Terminal(), found)


def _check_unpacked(path: Path) -> None:
    """Refuses a synthetic table, which somebody else may have made, that takes far more memory than its file.

    Raises:
        DataError: it does; files of other kinds than Parquet are refused when they are read.
    """
    import pyarrow as pa

    from ...common.files.unpacking import check_parquet

    if path.suffix.lower() == ".parquet":
        # What is none is said where it is read.
        with suppress(OSError, pa.ArrowException):
            check_parquet(path)


def _parts_of(folder: Path) -> tuple[Path, Domain | None, tuple[str, ...]]:
    """The table of a release of one row a person, the domain that it chose, if any, and learned columns."""
    from ...common.data.domain import Domain
    from ...curator.analysis.published import Published

    published, domain = Published.load(folder), folder / "bins" / "domain.json"
    if published.table is None:
        raise DataError(f"{folder}: expected a release with its table, found none; draw new rows from it")
    learned = tuple(one.name for one in published.certificate.plan.unseen)
    return published.table, Domain.load(domain) if domain.is_file() else None, learned


def _evaluate_people(
    real: Path,
    folder: Path,
    relations: Path | None,
    follow: tuple[str, str, str] | None,
    report: Path | None,
    json_output: bool,
) -> None:
    from ...curator.people.release import load_people
    from ...curator.results import outputs as files
    from ...simulations.evaluation.metrics import PRIVATE
    from ...simulations.evaluation.people import evaluate_people
    from ...simulations.evaluation.people_tables import comparison
    from ..related.frames import named_frames
    from ..relations_file import file_of, read_relations

    release = load_people(folder)
    if real.is_dir():
        stated = {} if relations is None else read_relations(relations, real).files
        rows = named_frames({name: stated.get(name) or file_of(real, name) for name in release.frames})
    else:
        rows = named_frames(real)
    found = evaluate_people(rows, release, follow)
    if report is not None:
        compared = comparison(found, release.family, rows)
        files.write_not_for_release(report, release.page(compared), PRIVATE)
    if json_output:
        tell(json.dumps(found.to_json()))
    else:
        _show_people(Terminal(), found)


def _show_people(console: Console, found: PeopleEvaluation) -> None:
    from ...simulations.evaluation.people_tables import score_tables

    _print(console, "tables", score_tables(found))


def _show(console: Console, found: Evaluation) -> None:
    from ...simulations.evaluation.tables import furthest_tables, score_tables

    _print(console, "table", [*score_tables(found), *furthest_tables(found)])


def _print(console: Console, what: str, tables: list[ScoreTable]) -> None:
    from ...simulations.evaluation.metrics import PRIVATE

    console.print(f"Distances to the real {what}, {PRIVATE}.\n")
    for table in tables:
        numbers = table.headings[1:]
        console.print(
            terminal_table(table.headings, table.rows, right=numbers, title=table.title, caption=table.note)
        )


def _certificate_of(path: Path, domain: Domain) -> Certificate:
    """The certificate of a release of this domain, or of its binary digits."""
    from ...common.data.binarise import Binarisation
    from ...curator.certificates.certificate import Certificate

    certificate = Certificate.load(path)
    if certificate.plan.domain_digest not in (domain.digest(), Binarisation(domain).domain.digest()):
        raise DataError(
            f"{path}: is of a release with another domain; give the certificate of this table's release"
        )
    return certificate
