"""The command `dpmosaic budget`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ...common.extras import require_extra
from ...common.privacy.budget import DEFAULT_DELTA
from ...common.showing.telling import tell
from ...curator.options import JsonOutput


def budget(
    table: Annotated[Path, typer.Argument(help="The real table, as `dpmosaic synthesize` has it.")],
    limit: Annotated[
        float | None,
        typer.Option(help="Epsilon that all releases may promise together; inf for no limit."),
    ] = None,
    delta: Annotated[float, typer.Option(help="Delta of the limit.")] = DEFAULT_DELTA,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger; by default the one beside the table.")
    ] = None,
    json_output: JsonOutput = False,
) -> None:
    """Say what the releases of a table promise together, and set a limit that they keep to."""
    require_extra("curator")
    from .budget import budget as budget_of

    found = budget_of(table, limit=limit, delta=delta, ledger=ledger or True)
    if json_output:
        tell(json.dumps(found.summary()))
        return
    for line in str(found).splitlines():
        tell(line)
