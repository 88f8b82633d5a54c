"""The command `dpmosaic evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from ...common.domain import Domain
from ...common.errors import DataError
from ...common.extras import require_extra
from ...common.workload import Workload
from ...party.source import read_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .distances import Distance
    from .evaluation import Evaluation

_SHOWN = 5


def evaluate(
    real: Annotated[Path, typer.Argument(help="The real table: .csv, .csv.gz or .parquet.")],
    synthetic: Annotated[Path, typer.Argument(help="The synthetic table.")],
    domain: Annotated[Path, typer.Option(help="Domain file of both.")],
    label: Annotated[
        str | None, typer.Option(help="Train classifiers to predict this attribute from all others.")
    ] = None,
    holdout: Annotated[
        Path | None, typer.Option(help="With --label: real rows, unseen by the release, to test them on.")
    ] = None,
    pay: Annotated[
        tuple[str, str, str] | None,
        typer.Option(metavar="SPLIT AMOUNT GROUP", help="Attributes of the NIST regression score."),
    ] = None,
    workload: Annotated[str, typer.Option(help="1way, 2way, 3way, or a JSON file.")] = "2way",
    seed: Annotated[int, typer.Option(help="Of what the metrics draw: splits, subsets, queries.")] = 0,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
) -> None:
    """Compare a synthetic table with the real one. The result tells of real rows: not for publication."""
    if holdout is not None and label is None:
        raise DataError("--holdout is what classifiers are tested on; give --label too, or leave it out")
    require_extra("curator" if label is None else "eval")
    from ..nist import Pay
    from .evaluation import evaluate as run

    loaded = Domain.load(domain)
    found = run(
        read_table(real, loaded),
        read_table(synthetic, loaded),
        label=label,
        holdout=None if holdout is None else read_table(holdout, loaded),
        workload=Workload.parse(loaded, workload),
        pay=None if pay is None else Pay(*pay),
        seed=seed,
    )
    if json_output:
        typer.echo(json.dumps(found.to_json()))
    else:
        _show(Console(), found)


def _show(console: Console, found: Evaluation) -> None:
    console.print("Distances to the real table, computed from it: not for publication.\n")
    _print(
        console,
        "Marginals",
        ("attributes", "compared", "total variation", "KL"),
        ((e.k, e.cliques, f"{e.total_variation:.4f}", f"{e.kl:.4f}") for e in found.kway),
    )
    if found.range_queries:
        _print(
            console,
            "Range queries, on shares of records",
            ("attributes", "queries", "mean absolute error", "mean squared error"),
            (
                (e.dimensions, e.queries, f"{e.mean_absolute:.5f}", f"{e.mean_squared:.2e}")
                for e in found.range_queries
            ),
        )
    for place, title in enumerate(("Furthest attributes", "Furthest pairs")):
        _print(console, title, ("attributes", "total variation", "KL"), _furthest(found, place))
    if found.predictions:
        _print(
            console,
            f"Misclassification of {found.predictions[0].label!r} in real rows",
            ("classifier", "synthetic rows", "real rows", "difference", "majority"),
            (
                (
                    p.classifier,
                    f"{p.synthetic:.4f}",
                    f"{p.real:.4f}",
                    f"{p.misclassification_variance:+.4f}",
                    f"{p.majority:.4f}",
                )
                for p in found.predictions
            ),
        )
    scores = [("clustering", found.nist.clustering), ("classification", found.nist.classification)]
    if found.nist.regression is not None:
        scores.append(("regression", found.nist.regression))
    _print(
        console,
        "Scores of the 2018 NIST challenge, at most 1,000,000",
        ("score", "points"),
        ((name, f"{points:,.0f}") for name, points in scores),
    )
    console.print(f"workload error {found.workload_error:.4f}")


def _furthest(found: Evaluation, place: int) -> Iterable[tuple[str, str, str]]:
    from .distances import worst

    furthest: list[Distance] = worst((found.attributes, found.pairs)[place], _SHOWN)
    return ((" x ".join(d.clique), f"{d.total_variation:.4f}", f"{d.kl:.4f}") for d in furthest)


def _print(
    console: Console, title: str, headings: tuple[str, ...], rows: Iterable[tuple[object, ...]]
) -> None:
    cells = [[str(cell) for cell in row] for row in rows]
    if not cells:
        return
    shown = Grid(title=escape(title), title_justify="left")
    for place, heading in enumerate(headings):
        numbers = all(cell[-1:].isdigit() for cell in (row[place] for row in cells))
        shown.add_column(heading, justify="right" if place and numbers else "left")
    for row in cells:
        shown.add_row(*map(escape, row))
    console.print(shown)
