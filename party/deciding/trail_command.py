"""The command `dpmosaic party trail`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ...common.showing.telling import tell
from ..printing import print_rows

_EXPORTS_APART_S = 5.0
"""Seconds between two looks for new entries."""


def trail(
    folder: Annotated[Path, typer.Argument(help="The party's folder.")],
    since: Annotated[str, typer.Option("--since", metavar="DAY", help="First day, such as 2026-01-31.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="DAY", help="Last day.")] = "",
    kind: Annotated[
        str, typer.Option("--kind", help="requested, decided, ledger, daemon or console; all without it.")
    ] = "",
    json_output: Annotated[bool, typer.Option("--json", help="Print a JSON object a line.")] = False,
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            metavar="RECEIVER",
            help="Send what it has not got: a file, syslog:/dev/log, syslog+tcp://HOST, syslog+tls://HOST, "
            "otlp+https://HOST/v1/logs; may be given several times.",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="With --to: go on until stopped, beside the daemon.")
    ] = False,
) -> None:
    """Print who asked, decided, spent and was refused what, and when; or send it to a log server."""
    from ...common.errors import DataError

    if to is None and follow:
        raise DataError("--follow: expected --to beside it, got none; name a receiver")
    if to is not None:
        if since or until or kind or json_output:
            raise DataError("--to sends the whole trail; leave --since, --until, --kind and --json out")
        _send(folder, to, follow)
        return
    from .desk import Desk
    from .receivers import entry_values
    from .trail import KINDS, Filter
    from .trail import trail as trail_of

    if kind not in ("", *KINDS):
        raise DataError(f"--kind: expected one of {', '.join(KINDS)}, got another; fix it")
    wanted = Filter(kind, since, until)
    with Desk.opened(folder) as desk:
        entries = [entry for entry in trail_of(desk)[::-1] if wanted.takes(entry)]
    if json_output:
        for entry in entries:
            tell(json.dumps(entry_values(entry)))
        return
    rows = [tuple(asdict(entry).values()) for entry in entries]
    print_rows(("at", "exact", "kind", "release", "by", "what", "outcome"), rows, as_json=False)


def _send(folder: Path, targets: list[str], follow: bool) -> None:
    from ...common.errors import DataError
    from ...common.processes.stopping import Stop
    from ..home.home import PartyHome
    from .exporting import Export

    name = PartyHome.open(folder).keyring.name
    exports = {target: Export.to(folder, target, name) for target in targets}
    stop = Stop().at_signals() if follow else None
    failing: set[str] = set()
    while True:
        for target, export in exports.items():
            try:
                export.send()
                failing.discard(target)
            except OSError as error:
                if stop is None:
                    raise DataError(
                        f"{target}: {error.strerror or error}; what it has taken is not sent again"
                    ) from error
                if target not in failing:
                    tell(f"warning: {target}: {error.strerror or error}; it is tried again", err=True)
                failing.add(target)
        if stop is None or stop.wait(_EXPORTS_APART_S):
            return
