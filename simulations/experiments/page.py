"""The page and the figure of an experiment: one file each, without external resources."""

from __future__ import annotations

from pathlib import Path

from ...common.showing.templates import templates_in
from ...curator.report.page import TEMPLATES as OF_REPORTS
from ..baselines.catalogue import BASELINES
from .figure import BOTTOM, FIGURE_HEIGHT, FIGURE_WIDTH, LEFT, MARKS, RIGHT, TOP, charts, curve_key
from .results import Ratio, Results

_TEMPLATES = Path(__file__).parent / "templates"


def page(results: Results, software: str, quick: bool) -> str:
    """HTML of the charts, of tables of the paper's numbers and ours, and of the differences from the paper.

    Args:
        results: results of the experiment.
        software: version of the software that made them.
        quick: whether only a part of the experiment was run.
    """
    methods = dict.fromkeys(line.changes.get("method", "") for line in results.experiment.lines)
    return _render(
        "experiment.html",
        results,
        software=software,
        quick=quick,
        ratios=[_ratio_row(ratio) for ratio in results.ratios()],
        baselines=[BASELINES[method] for method in methods if method in BASELINES],
        gaps=results.gaps(),
    )


def figure(results: Results) -> str:
    """SVG of the charts: one row per value, one column per panel."""
    return _render("figure.svg", results, columns=len(results.experiment.panels))


def _render(template: str, results: Results, **values: object) -> str:
    return (
        templates_in(_TEMPLATES, OF_REPORTS)
        .get_template(template)
        .render(
            experiment=results.experiment,
            results=results,
            charts=charts(results),
            key=curve_key(results),
            marks=MARKS,
            size=(FIGURE_WIDTH, FIGURE_HEIGHT),
            frame=(LEFT, TOP, FIGURE_WIDTH - RIGHT, FIGURE_HEIGHT - BOTTOM),
            **values,
        )
    )


def _ratio_row(ratio: Ratio) -> tuple[str, ...]:
    middle = f"{ratio.middle:.2f}"
    between = f"{ratio.least:.2f} to {ratio.most:.2f}" if ratio.numbers > 1 else "–"
    return f"{ratio.line}, over {ratio.reported}", middle, between, str(ratio.numbers)
