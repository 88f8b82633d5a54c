"""The table that a person reviews of a drafted domain: in words, as text for a terminal and as HTML."""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ...common.data.attributes.granularity import Granularity
from ...common.showing.printable import printable_lines, visible
from .known import Offer

_CATEGORIES_LISTED = 8
"""So many categories are shown of one column."""

_HEADINGS = (
    "column",
    "what it may hold",
    "read from the private rows",
    "what a reader of a release learns",
    "reviewed",
)

_KINDS = {
    "codes": "codes",
    "categorical": "categories",
    "numeric": "numbers",
    "boolean": "yes or no",
    "date": "dates",
    "timestamp": "timestamps",
    "clock": "times of day or durations",
    "identifier": "names of records",
    "text": "left out",
}


@dataclass(frozen=True)
class ReviewedColumn:
    """What a person reviews of one column, in words.

    Attributes:
        name: of the column.
        kind: what it holds, such as `whole numbers`.
        values: bounds, categories and how values are written.
        read: what of it was read from the private rows.
        learned: what a reader of a release learns of these rows by it, beside noisy counts.
        offered: what is publicly known by the column's name, and where from; empty if nothing is.
        reviewed: `yes`, `no`, or `nothing to review`.
    """

    name: str
    kind: str
    values: str
    read: str
    learned: str
    offered: str
    reviewed: str

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """A row of the table."""
        holds = f"{self.kind}: {self.values}" if self.values else self.kind
        if self.offered:
            holds += f"\noffered: {self.offered}"
        return self.name, holds, self.read, self.learned, self.reviewed


def review_column(name: str, entry: Any, offer: Offer | None = None) -> ReviewedColumn:
    """A column's entry in words.

    Args:
        name: of the column.
        entry: of a domain file.
        offer: what is publicly known of the column.
    """
    if not isinstance(entry, Mapping):
        entry = {"type": "codes", "n": entry} if isinstance(entry, int) else _listed_entry(entry)
    kind, values = _kind(entry), _values(entry)
    offered = f"{_values(offer.entry)} (public knowledge: {offer.source})" if offer else ""
    if entry["type"] == "text":
        return ReviewedColumn(name, kind, values, "", "nothing", "", "nothing to review")
    if entry["type"] == "identifier" and "empty" not in entry:
        learned = "nothing: new names are drawn"
        return ReviewedColumn(name, kind, values, "how they are written", learned, "", "nothing to review")
    if "computed" in entry:
        values = f"computed as {entry['computed']}"
    if entry.get("reviewed", True):
        return ReviewedColumn(name, kind, values, "", "nothing that is not public", "", "yes")
    follows = ("how it follows from others", "that it follows so")
    read, learned = follows if "computed" in entry else _read(entry)
    return ReviewedColumn(name, kind, values, read, learned, offered, "no")


def as_text(
    columns: Sequence[ReviewedColumn], remarks: Sequence[tuple[str, str]], notes: Sequence[str]
) -> str:
    """The table for a terminal, as wide as it is.

    Args:
        columns: its rows.
        remarks: column and sentence.
        notes: sentences below.
    """
    from rich.table import Column, Table
    from rich.text import Text

    from ...common.showing.terminal import Terminal

    def plain(text: str) -> Text:
        return Text(printable_lines(text), overflow="fold")

    grid = Table(*(Column(heading, overflow="fold") for heading in _HEADINGS), show_lines=True)
    for column in columns:
        grid.add_row(*map(plain, column.cells))
    lines = Table.grid("", "", padding=(0, 2))
    for name, sentence in remarks:
        lines.add_row(plain(name), plain(sentence))
    shown = io.StringIO()
    console = Terminal(file=shown, width=max(60, shutil.get_terminal_size((110, 24)).columns))
    console.print(grid)
    if remarks:
        console.print(lines)
    for note in notes:
        console.print(plain(note))
    return shown.getvalue().rstrip("\n")


def as_html(
    columns: Sequence[ReviewedColumn], remarks: Sequence[tuple[str, str]], notes: Sequence[str]
) -> str:
    """The table for a notebook; see `as_text`."""
    rows = "".join(_row("td", column.cells) for column in columns)
    listed = "".join(f"<li><b>{_text(name)}</b>: {_text(sentence)}</li>" for name, sentence in remarks)
    below = "".join(f"<p>{_text(note)}</p>" for note in notes)
    return (
        f"<table><thead>{_row('th', _HEADINGS)}</thead><tbody>{rows}</tbody></table>"
        f"{f'<ul>{listed}</ul>' if listed else ''}{below}"
    )


def _row(tag: str, cells: Sequence[str]) -> str:
    style = ' style="text-align: left; vertical-align: top"'
    return "<tr>" + "".join(f"<{tag}{style}>{_text(cell)}</{tag}>" for cell in cells) + "</tr>"


def _text(text: str) -> str:
    return "<br>".join(escape(visible(text)).split("\n"))


def _listed_entry(categories: Sequence[Any]) -> dict[str, Any]:
    return {"type": "categorical", "categories": categories}


def _kind(entry: Mapping[str, Any]) -> str:
    kind = _KINDS[entry["type"]]
    if entry["type"] == "numeric" and entry.get("integer"):
        return "whole numbers"
    if entry["type"] == "categorical":
        return (
            "open categories" if entry.get("open") else "ordered categories" if entry.get("ordered") else kind
        )
    return kind


def _values(entry: Mapping[str, Any]) -> str:
    """Bounds or values of an entry, and how they are written."""
    match entry["type"]:
        case "codes":
            said = [f"0 to {entry['n'] - 1}"]
        case "identifier":
            said = [f"such as {entry['pattern']}"]
            said += [f"none in {entry['empty']:.0%} of the rows"] if "empty" in entry else []
        case "categorical":
            said = [_list_values([one for one in entry["categories"] if one != ""])]
        case "boolean":
            said = [_list_values([*entry.get("true", ["true"])[:1], *entry.get("false", ["false"])[:1]])]
        case "text":
            return ""
        case _:
            said = [_range(entry)]
    if atoms := entry.get("atoms"):
        said.append(f"{_list_values(atoms)} as values of their own")
    if texts := entry.get("texts"):
        said.append(f"or {_list_values(texts)}")
    if "decimals" in entry:
        said.append(f"decimals: {entry['decimals']}")
    if "multiple_of" in entry:
        said.append(f"multiples of {entry['multiple_of']}")
    if "rounded" in entry:
        said.append("rounded by size")
    if "rhythm" in entry:
        said.append(f"in a rhythm of {', '.join(entry['rhythm'])}")
    said += [f"by {entry['granularity']}"] if "granularity" in entry else []
    said += [f"written {entry['format']}"] if "format" in entry else []
    said += [f"in {entry['timezone']}"] if "timezone" in entry else []
    if entry.get("nullable") or "" in entry.get("categories", ()):
        said.append("or missing" + (f" ({_list_values(entry['missing'])})" if entry.get("missing") else ""))
    return ", ".join(said)


def _range(entry: Mapping[str, Any]) -> str:
    if "after" in entry:
        ((other, gap),) = entry["after"].items()
        unit = Granularity(entry.get("granularity", "second" if entry["type"] == "timestamp" else "day"))
        atoms = f" ({_list_values(gap['atoms'])} as values of their own)" if gap.get("atoms") else ""
        return f"{_range(gap)} {unit.plural} after {other}{atoms}"
    if entry.get("type") == "clock":
        return f"{entry.get('min', '0:00')} to {entry.get('max', '23:59')}"
    edges = entry.get("edges")
    low, high = (edges[0], edges[-1]) if edges else (entry.get("min"), entry.get("max"))
    return "bounds that the release finds" if low is None else f"{low} to {high}"


def _list_values(values: Sequence[Any]) -> str:
    shown = [repr(one) if one == "" or str(one).isspace() else str(one) for one in values]
    more = len(values) - _CATEGORIES_LISTED
    return ", ".join(shown if more <= 0 else [*shown[: _CATEGORIES_LISTED - 1], f"{more} more", shown[-1]])


def _read(entry: Mapping[str, Any]) -> tuple[str, str]:
    """What of an unreviewed entry was read from the rows, and what a reader of a release learns by it."""
    missing = "whether values are missing"
    match entry["type"]:
        case "codes":
            return "the largest code", "that each of these codes occurs, and none beyond"
        case "identifier":
            return "how they are written, how many rows have none", "about how many rows have none"
        case "categorical" if entry.get("open"):
            return missing, "the texts that enough rows hold; they are found with privacy"
        case "categorical":
            return f"the list, {missing}", "that each of these values occurs, and no other"
        case "boolean":
            return f"how they are written, {missing}", "whether any value is missing"
        case "date" | "timestamp" if "after" in entry:
            read = f"that they come after others, bounds of the gaps, granularity, format, {missing}"
            return read + _rhythm(entry), "that no gap lies outside of these bounds"
        case "date" | "timestamp":
            read = f"years, granularity, format, {missing}"
            return read + _rhythm(entry), "that no value lies outside of these years"
    of = [
        key
        for key in ("atoms", "texts", "scale", "decimals", "multiple_of", "rounded", "rhythm", "format")
        if key in entry
    ]
    read = ", ".join(["bounds", *(_NAMED.get(key, key) for key in of), missing])
    return read, "that no value lies outside of these bounds" + (
        ", and which values are frequent" if entry.get("atoms") or entry.get("texts") else ""
    )


def _rhythm(entry: Mapping[str, Any]) -> str:
    return f", {_NAMED['rhythm']}" if "rhythm" in entry else ""


_NAMED = {
    **{"multiple_of": "multiples", "atoms": "frequent values", "rounded": "how round they are"},
    "rhythm": "how frequent days of months and weeks, hours, minutes and gaps are",
}
