"""Figures of a release, drawn by matplotlib: its columns, the errors of its pairs, and correlations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.table import Table
from ...common.extras import require_extra
from .correlations import ordered_columns, rank_correlations
from .distributions import COLUMNS_HEIGHT, COLUMNS_WIDTH, Columns, Distribution, Measured, Row, distribution
from .pair_charts import LEVELS
from .pairs import Pair

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SYNTHETIC, _REAL, _INK = "#2a93a6", "#c2410c", "#17212e"
_COLOURS = ("#dff3ee", "#a4dcd2", "#57b3b3", "#237a92", "#123a57")

_ACROSS = 4
"""Charts of columns beside each other."""

_NAMES_SHOWN = 40
"""Names at a heat map; more would overlap."""

_LONGEST = 18
"""Characters of a name or label."""


def figure(
    synthetic: Table,
    real: Table | None,
    names: Sequence[str],
    paired: Sequence[str],
    measured: Mapping[str, Measured],
    distances: Mapping[Pair, float],
    title: str,
) -> Figure:
    """A figure of some columns of a release, beside the real ones in a comparison.

    Args:
        synthetic: the synthetic table.
        real: the real table of the same domain, in a comparison.
        names: columns that are drawn.
        paired: columns whose pairs and correlations are.
        measured: shares of codes as they were measured, for whiskers.
        distances: of pairs: bounds, or distances to the real table.
        title: of the figure.
    """
    require_extra("plot")
    from matplotlib.figure import Figure

    ordered = [name for name in ordered_columns(synthetic) if name in paired]
    maps = (len(paired) > 1) + (1 + (real is not None)) * (len(ordered) > 1)
    rows = math.ceil(len(names) / _ACROSS)
    made = Figure(figsize=(13, 2.5 * rows + 4.6 * (maps > 0) + 0.7), layout="constrained")
    made.suptitle(title, fontsize=11)
    parts: Any = made.subfigures(
        1 + (maps > 0), 1, squeeze=False, height_ratios=[2.5 * rows, 4.6][: 1 + (maps > 0)]
    )
    parts = parts.ravel()
    charts = parts[0].subplots(rows, _ACROSS, squeeze=False).ravel()
    for place, chart in enumerate(charts):
        if place < len(names):
            shown = distribution(names[place], synthetic, real, measured.get(names[place]))
            _draw(chart, shown, legend=place == 0)
        else:
            chart.set_axis_off()
    if maps:
        squares = list(parts[1].subplots(1, maps, squeeze=False).ravel())
        if len(paired) > 1:
            what = "Distance to the real table" if real is not None else "Bound on the distance"
            _draw_pairs(squares.pop(0), paired, distances, what)
        if len(ordered) > 1:
            _draw_correlations(squares.pop(0), ordered, rank_correlations(synthetic, ordered), "synthetic")
            if real is not None:
                _draw_correlations(squares.pop(0), ordered, rank_correlations(real, ordered), "real")
    return made


def _draw(chart: Any, shown: Distribution, *, legend: bool) -> None:
    """The chart of a column: a histogram, or a bar for each of few values."""
    notes = [] if shown.missing is None else [f"missing {shown.missing[0]:.1%}"]
    if shown.columns is not None:
        _draw_columns(chart, shown.columns)
        notes += [f"{row.label}: {row.synthetic:.1%}" for row in shown.rows[:3]]
    else:
        _draw_rows(chart, shown.rows)
    chart.set_title(_cut(shown.name, 30), fontsize=9, loc="left", fontweight="bold")
    if notes:
        chart.text(
            0.98,
            0.97,
            "\n".join(notes),
            transform=chart.transAxes,
            ha="right",
            va="top",
            fontsize=7,
            color=_INK,
        )
    chart.tick_params(labelsize=7)
    for side in ("top", "right"):
        chart.spines[side].set_visible(False)
    if legend:
        handles, labels = chart.get_legend_handles_labels()
        place = {"loc": "lower right", "bbox_to_anchor": (1, 0.98)}
        chart.legend(handles, labels, fontsize=7, frameon=False, ncols=2, borderpad=0, **place)


def _draw_columns(chart: Any, columns: Columns) -> None:
    x, _, width, height = np.array(columns.synthetic).T
    chart.bar(x, height, width, align="edge", color=_SYNTHETIC, label="synthetic")
    if columns.real_heights:
        edges = np.append(x, x[-1] + width[-1])
        chart.stairs(columns.real_heights, edges, color=_REAL, linewidth=1.2, label="real")
    if columns.whiskers:
        at, top, low = np.array(columns.whiskers).T
        chart.vlines(at, COLUMNS_HEIGHT - low, COLUMNS_HEIGHT - top, color=_INK, linewidth=0.7, alpha=0.6)
    chart.set_xticks(
        [place * COLUMNS_WIDTH for place, _ in columns.ticks], [text for _, text in columns.ticks]
    )
    chart.set_xlim(0, COLUMNS_WIDTH)
    chart.set_ylim(0, COLUMNS_HEIGHT * 1.08)
    chart.set_yticks([])


def _draw_rows(chart: Any, rows: Sequence[Row]) -> None:
    places = np.arange(len(rows))[::-1]
    synthetic = np.array([row.synthetic for row in rows])
    real = [row.real for row in rows if row.real is not None]
    chart.barh(places, synthetic, 0.6, color=_SYNTHETIC, label="synthetic")
    if real:
        chart.barh(places - 0.38, real, 0.14, color=_REAL, label="real")
    known = [
        (place, row.interval) for place, row in zip(places, rows, strict=True) if row.interval is not None
    ]
    if known:
        at, ends = zip(*known, strict=True)
        low, high = np.array(ends).T
        chart.hlines(at, low, high, color=_INK, linewidth=0.9, alpha=0.7)
    chart.set_yticks(places, [_cut(row.label) for row in rows])
    chart.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    chart.xaxis.set_major_locator(_few_ticks())


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def _draw_pairs(chart: Any, names: Sequence[str], distances: Mapping[Pair, float], what: str) -> None:
    from matplotlib.colors import BoundaryNorm, ListedColormap

    places = {name: place for place, name in enumerate(names)}
    cells = np.full((len(names), len(names)), np.nan)
    for (one, other), distance in distances.items():
        if one in places and other in places:
            cells[places[one], places[other]] = cells[places[other], places[one]] = distance
    norm = BoundaryNorm([0.0, *LEVELS, 1.0], len(_COLOURS))
    drawn = chart.imshow(np.ma.masked_invalid(cells), cmap=ListedColormap(_COLOURS), norm=norm)
    _name_map(chart, names, f"{what}, pairs")
    bar = chart.figure.colorbar(drawn, ax=chart, shrink=0.7)
    bar.ax.tick_params(labelsize=7)


def _draw_correlations(chart: Any, names: Sequence[str], cells: NDArray[np.float64], of: str) -> None:
    drawn = chart.imshow(cells, cmap="RdBu", vmin=-1, vmax=1)
    _name_map(chart, names, f"Rank correlations, {of}")
    bar = chart.figure.colorbar(drawn, ax=chart, shrink=0.7)
    bar.ax.tick_params(labelsize=7)


def _name_map(chart: Any, names: Sequence[str], title: str) -> None:
    chart.set_title(title, fontsize=9, loc="left")
    if len(names) > _NAMES_SHOWN:
        chart.set_xticks([])
        chart.set_yticks([])
        return
    size = 7 if len(names) <= _NAMES_SHOWN // 2 else 5
    chart.set_xticks(range(len(names)), [_cut(name) for name in names], rotation=90, fontsize=size)
    chart.set_yticks(range(len(names)), [_cut(name) for name in names], fontsize=size)


def _cut(text: str, longest: int = _LONGEST) -> str:
    """A text, shortened; a dollar sign would begin a formula."""
    return (text if len(text) <= longest else f"{text[: longest - 1]}…").replace("$", r"\$")
