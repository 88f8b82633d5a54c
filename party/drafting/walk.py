"""Reviews the entries of a draft in a terminal, one at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import typer

from ...common.bounded import json_of
from ...common.errors import DataError
from ...common.showing.telling import tell
from .draft import Draft

_BOUNDED = ("numeric", "date", "timestamp")
_BOUNDS = ("min", "max")


def review_entries(draft: Draft, path: Path) -> None:
    """Asks about every unreviewed entry, and saves the file after each decision.

    Args:
        draft: as read from `path`.
        path: the domain file.

    Raises:
        DataError: the file cannot be written.
    """
    for name in draft.unreviewed:
        if not _review(draft, name):
            return
        draft.save(path)


def _review(draft: Draft, name: str) -> bool:
    """Asks about one entry until there is a decision; whether to go on with the next one."""
    while True:
        _show(draft, name)
        ways = _ways(draft, name)
        asked = ", ".join(f"[{key}] {what}" for key, what in ways.items())
        answer: str = typer.prompt(asked, default="", show_default=False).strip().casefold()[:1]
        if answer not in ways:
            tell(f"expected one of {', '.join(ways)}")
            continue
        try:
            match answer:
                case "a":
                    draft.confirm(name)
                case "o":
                    draft.accept_offers(name)
                case "e":
                    _edit(draft, name)
                case "d":
                    draft.drop(name)
        except DataError as fault:
            tell(str(fault))
            continue
        return answer != "q"


def _show(draft: Draft, name: str) -> None:
    column = next(one for one in draft.columns if one.name == name)
    tell()
    tell(f"{name}: {column.kind}", bold=True)
    for label, text in (
        ("holds", column.values),
        ("read from the private rows", column.read),
        ("a reader of a release learns", column.learned),
        ("offered", column.offered),
    ):
        if text:
            tell(f"  {label}: {text}")


def _ways(draft: Draft, name: str) -> dict[str, str]:
    """The answers, and what each does."""
    ways = {"a": "accept as public"}
    if name in draft.offers:
        ways["o"] = "take the offer"
    if draft[name]["type"] in (*_BOUNDED, "categorical"):
        ways["e"] = "edit"
    return ways | {"d": "drop", "s": "skip", "q": "quit"}


def _edit(draft: Draft, name: str) -> None:
    """Asks for bounds or categories, and confirms the entry with them.

    Raises:
        DataError: the answers make no entry.
    """
    entry = draft[name]
    if "after" in entry:
        ((other, gap),) = entry["after"].items()
        asked = {key: _read(name, _ask_bound(key, gap)) for key in _BOUNDS}
        draft.set(name, after={other: {**gap, **asked}})
    elif entry["type"] in _BOUNDED:
        read = partial(_read, name) if entry["type"] == "numeric" else str
        draft.set(name, **{key: read(_ask_bound(key, entry)) for key in _BOUNDS})
    else:
        listed = json.dumps(entry["categories"], ensure_ascii=False)
        # As JSON, it can be read again.
        listed = listed if listed.isprintable() else json.dumps(entry["categories"])
        draft.set(name, categories=_read(name, typer.prompt("categories as a JSON list", default=listed)))
    draft.confirm(name)


def _ask_bound(key: str, bounds: Mapping[str, Any]) -> str:
    answer: str = typer.prompt(f"  {key}", default=str(bounds.get(key, "")))
    return answer


def _read(name: str, answer: str) -> Any:
    try:
        return json_of(answer)
    except ValueError:
        raise DataError(
            f"attribute {name!r}: expected a number, or a list as JSON writes it; try again"
        ) from None
