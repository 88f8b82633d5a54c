"""The answer to a query: a number and an interval for each aggregate and group."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from ....common.showing.printable import printable, visible
from .estimates import Estimate

NO_INTERVAL = "(no interval)"
"""Follows a number that has none, so that nobody takes it for an exact one."""


@dataclass(frozen=True)
class Row:
    """The answer for one group.

    Attributes:
        key: the values of the columns by which rows are grouped; None for a missing value.
        estimates: one for each aggregate.
    """

    key: tuple[Any, ...]
    estimates: list[Estimate]


@dataclass(frozen=True)
class Answer:
    """The answer to a query.

    Attributes:
        query: its text.
        level: probability that an interval covers the truth.
        of: whether intervals are for the real table, or the population of which it is a sample.
        source: whether the numbers were computed from the release's model or, where this is too large, rows.
        groups: the columns by which rows are grouped.
        columns: of the answer: some of `groups`, and the names of the aggregates, as the query selects them.
        rows: one for each group.
        labels: why the numbers must not be published; empty if they may be.
    """

    query: str
    level: float
    of: Literal["table", "population"]
    source: Literal["model", "rows"]
    groups: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    labels: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is said below the answer: labels, what the intervals are, and notes."""
        return (*self.labels, self.caption, *self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why numbers of the answer have no interval, each reason once."""
        return tuple(dict.fromkeys(each.note for row in self.rows for each in row.estimates if each.note))

    @property
    def frame(self) -> pd.DataFrame:
        """One row for each group; an aggregate has columns for its estimate, `_low` and `_high`.

        With a column `_note` if one of its numbers has no interval.
        """
        found: dict[str, list[Any]] = {}
        for place, column in enumerate(self.columns):
            cells = [cells[place] for cells in self.cells()]
            if column in self.groups:
                found[column] = cells
                continue
            found |= {column: [each.value for each in cells]}
            found |= {f"{column}_low": [each.low for each in cells]}
            found |= {f"{column}_high": [each.high for each in cells]}
            if any(each.note for each in cells):
                found[f"{column}_note"] = [each.note for each in cells]
        return pd.DataFrame(found)

    @property
    def value(self) -> Any:
        """The only number of the answer.

        Raises:
            ValueError: it has more, or none.
        """
        estimates = [each for row in self.rows for each in row.estimates]
        if len(estimates) != 1:
            raise ValueError(f"the answer has {len(estimates)} numbers; see `frame`")
        return estimates[0].value

    @property
    def interval(self) -> tuple[Any, Any]:
        """The interval of `value`; NaN at both ends if there is none."""
        self.value  # noqa: B018
        return self.rows[0].estimates[0].low, self.rows[0].estimates[0].high

    def cells(self) -> Iterator[tuple[Any, ...]]:
        """For each row the values of the columns: of a group, or an `Estimate`."""
        for row in self.rows:
            keys, estimates = dict(zip(self.groups, row.key, strict=True)), iter(row.estimates)
            yield tuple(keys[name] if name in keys else next(estimates) for name in self.columns)

    def texts(self) -> list[tuple[str, ...]]:
        """The cells as they are shown."""
        return [tuple(map(shown, cells)) for cells in self.cells()]

    @property
    def caption(self) -> str:
        """What the intervals are, in a sentence; that there are none, if there are none."""
        if all(_absent(each.low) for row in self.rows for each in row.estimates):
            return "Numbers of the release, without intervals."
        truth = "the real table" if self.of == "table" else "the population of which the table is a sample"
        return f"Intervals hold the number of {truth} with probability {self.level:.12g}."

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON values."""
        rows = [
            {
                name: cell if name in self.groups else _json_of(cell)
                for name, cell in zip(self.columns, cells, strict=True)
            }
            for cells in self.cells()
        ]
        found = {"query": self.query, "level": self.level, "of": self.of, "source": self.source, "rows": rows}
        return found | ({"labels": list(self.labels)} if self.labels else {})

    def __repr__(self) -> str:
        texts = [tuple(map(printable, cells)) for cells in (self.columns, *self.texts())]
        table = pd.DataFrame(texts[1:], columns=texts[0]).to_string(index=False)
        return "\n".join([table, *map(printable, self.remarks)])

    def _repr_html_(self) -> str:
        def line(tag: str, cells: tuple[str, ...]) -> str:
            return (
                "<tr>" + "".join(f"<{tag}>{html.escape(visible(cell))}</{tag}>" for cell in cells) + "</tr>"
            )

        body = "".join(line("td", cells) for cells in self.texts())
        below = "".join(f"<p>{html.escape(visible(text))}</p>" for text in self.remarks)
        return f"<table><thead>{line('th', self.columns)}</thead><tbody>{body}</tbody></table>{below}"


def shown(cell: Any) -> str:
    """A cell as text: an estimate with its interval, rounded to what that tells; marked without one."""
    if not isinstance(cell, Estimate):
        return "missing" if cell is None else str(cell)
    if _absent(cell.value):
        return "-"
    ends = (cell.low, cell.high)
    if isinstance(cell.value, (np.datetime64, str)):
        parts = [str(part) for part in (cell.value, *ends)]
    elif all(float(part).is_integer() for part in (cell.value, *ends)):
        parts = [f"{part:,.0f}" for part in (cell.value, *ends)]
    else:
        parts = [_number_text(part, ends) for part in (cell.value, *ends)]
    return f"{parts[0]} {NO_INTERVAL}" if _absent(cell.low) else f"{parts[0]} ({parts[1]} to {parts[2]})"


def _number_text(number: float, ends: tuple[float, float]) -> str:
    width = ends[1] - ends[0]
    if not width > 0:
        return f"{number:,.6g}"
    digits = max(0, 1 - math.floor(math.log10(width)))
    return f"{number:,.{min(digits, 12)}f}"


def _absent(number: Any) -> bool:
    return isinstance(number, float) and math.isnan(number)


def _json_of(cell: Estimate) -> dict[str, Any]:
    parts = {"estimate": cell.value, "low": cell.low, "high": cell.high}
    found = {
        key: None if _absent(part) else str(part) if isinstance(part, np.datetime64) else part
        for key, part in parts.items()
    }
    return found | ({"note": cell.note} if cell.note else {})
