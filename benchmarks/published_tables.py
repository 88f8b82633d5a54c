"""The tables of docs/published.md, in Markdown: numbers of papers, then ours."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

PAPERS = Path(__file__).with_name("published.csv")

TITLES = {
    "pairs": "L1 error of pairs, delta 1e-9",
    "triples": "L1 error of triples, delta 1e-9",
    "tab-pe": "Prediction and Wasserstein distances, Adult, epsilon 1",
    "privmrf": "Total variation distance, delta 1e-5",
}
LINES = ["real rows", "`mosaic`", "`aim`", "`mst`", "`independent`"]
NAMES = {"adult": "Adult", "nltcs": "NLTCS", "titanic": "Titanic", "br2000": "BR2000"}

Column = tuple[str, str, str]
"""Table, epsilon and metric."""
Values = Mapping[str, Mapping[Column, float]]
"""Mechanism -> column -> value."""


def markdown(cells: Mapping[str, Mapping[str, float]]) -> str:
    """All tables.

    Args:
        cells: "protocol/table/epsilon/mechanism/seed" -> figures of one release.
    """
    found = {title: (of_papers(protocol), ours(cells, protocol)) for protocol, title in TITLES.items()}
    return "\n\n".join(table(title, *values) for title, values in found.items() if any(values))


def refreshed(page: str, cells: Mapping[str, Mapping[str, float]]) -> str:
    """The page, with each table in place of the one under the same title."""
    return placed(page, markdown(cells))


def placed(page: str, printed: str) -> str:
    """The page, with each of the printed tables in place of the one under the same title."""
    for table_with_title in printed.split("\n\n**"):
        title = "**" + table_with_title.removeprefix("**").split("\n", 1)[0]
        page = re.sub(
            re.escape(title) + r"\n\n(\|.*\n)+",
            lambda found, new=table_with_title: "**" + new.removeprefix("**") + "\n",
            page,
        )
    return page


def of_papers(protocol: str) -> Values:
    """What papers print."""
    found: dict[str, dict[Column, float]] = {}
    with PAPERS.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["protocol"] == protocol:
                column = (row["table"], row["epsilon"], row["metric"])
                found.setdefault(row["mechanism"], {})[column] = float(row["value"])
    return found


def ours(cells: Mapping[str, Mapping[str, float]], protocol: str) -> Values:
    """Means over the seeds that were run; what was measured of real rows has a line of its own."""
    found: dict[str, dict[Column, list[float]]] = {}
    for key, figures in cells.items():
        of, table_name, epsilon, mechanism, _ = key.split("/")
        if of == protocol:
            for metric, value in figures.items():
                name = "real rows" if metric.startswith("real ") else f"`{mechanism}`"
                column = (table_name, epsilon, metric.removeprefix("real "))
                found.setdefault(name, {}).setdefault(column, []).append(value)
    return {
        name: {column: float(np.mean(values)) for column, values in found[name].items()}
        for name in sorted(found, key=LINES.index)
    }


def table(title: str, papers: Values, mine: Values) -> str:
    """One table: a column for each table, epsilon and metric, a line for each mechanism."""
    columns = list(dict.fromkeys(column for of in (papers, mine) for one in of.values() for column in one))
    columns.sort(key=lambda column: (list(NAMES).index(column[0]), float(column[1])))
    lines = [["", "", *_headings(columns, named="epsilon" in title)], ["---"] * (len(columns) + 2)]
    for whose, values in (("paper", papers), ("ours", mine)):
        for name, of in values.items():
            lines.append([name, whose, *(f"{of[c]:.3g}" if c in of else "" for c in columns)])
    return "\n".join([f"**{title}**", "", *(f"| {' | '.join(line)} |" for line in lines)])


def _headings(columns: Sequence[Column], named: bool) -> list[str]:
    """What distinguishes the columns: a table's name stands above its first column alone.

    Args:
        columns: of the table.
        named: whether the title says epsilon.
    """
    metrics = {column[2] for column in columns}
    headings, last = [], ""
    for name, epsilon, metric in columns:
        words = [NAMES[name]] if name != last and len({c[0] for c in columns}) > 1 else []
        words += [] if named else [epsilon]
        words += [metric] if len(metrics) > 1 else []
        headings.append(" ".join(words))
        last = name
    return headings
