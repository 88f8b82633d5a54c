"""The command `dpmosaic mechanisms`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...common.extensions import origin
from ...common.extras import require_extra
from ...common.showing.telling import tell
from ..options import JsonOutput

if TYPE_CHECKING:
    from rich.table import Table

    from .catalogue import Entry, Parameter


def mechanisms(
    json_output: JsonOutput = False,
) -> None:
    """List the mechanisms: what each does, when to use it, over which protocols, what `--set` changes."""
    require_extra("curator")
    from .catalogue import entry_named, mechanism_names, parameters

    if json_output:
        form = {name: _form(name, entry_named(name), parameters(name)) for name in mechanism_names()}
        tell(json.dumps(form))
        return
    from ...common.showing.terminal import Terminal

    console = Terminal()
    for name in mechanism_names():
        console.print(_facts_table(name, entry_named(name), parameters(name)))


def _form(name: str, entry: Entry, parameters: Sequence[Parameter]) -> dict[str, object]:
    return {
        "what": entry.what,
        "use": entry.use,
        "protocols": entry.protocols,
        "variants": list(entry.variants),
        "on_paper": entry.on_paper,
        "parameters": [vars(parameter) for parameter in parameters],
        "package": _package(name, entry),
    }


def _facts_table(name: str, entry: Entry, parameters: Sequence[Parameter]) -> Table:
    from rich.table import Table

    from .catalogue import Needs

    records = entry.needs is Needs.RECORDS
    shown = Table(title=name, title_justify="left", title_style="bold", show_header=False, box=None)
    shown.add_row("what it does", entry.what)
    shown.add_row("use it for", entry.use)
    where = " (in simulation; needs the extra 'gan')" if records else ""
    shown.add_row("protocols", ", ".join(entry.protocols) + where)
    note = " (not private)" if records else " (only over the protocol theorem: not private)"
    noted = dict.fromkeys(entry.on_paper, note)
    shown.add_row("variants", ", ".join(variant + noted.get(variant, "") for variant in entry.variants))
    set_by = (f"{known.name}={str(known.default).lower()}" for known in parameters)
    shown.add_row("parameters", ", ".join(set_by) or "none")
    if (package := _package(name, entry)) is not None:
        shown.add_row("package", package)
    return shown


def _package(name: str, entry: Entry) -> str | None:
    """The package that brings a mechanism, with its version; None for dpmosaic."""
    from .catalogue import CATALOGUE

    if name in CATALOGUE:
        return None
    found = origin(entry.variants["default"]())
    return None if found is None else " ".join(found)
