"""The commands `dpmosaic party releases`, `show`, `approve` and `deny`."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated

import typer

from ...common.showing.telling import tell
from ..printing import print_entries, print_rows

_Folder = Annotated[Path, typer.Argument(help="The party's folder.")]
_Release = Annotated[str, typer.Argument(help="Release id, or a unique prefix.")]
_Waiting = Annotated[
    str | None,
    typer.Argument(
        metavar="[RELEASE]", help="Release id, or a unique prefix; default: the only one that waits."
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
_By = Annotated[str | None, typer.Option("--by", help="Who decides; default: the user of this system.")]
_Reason = Annotated[str, typer.Option("--reason", help="Why; stored and signed with the decision.")]


def releases(folder: _Folder, json_output: _Json = False) -> None:
    """List the releases that curators requested, the decisions, and what is left of quotas."""
    from ..disk import told_if_full
    from ..home.home import PartyHome
    from ..policies.form import read_policy

    home = PartyHome.open(folder)
    with told_if_full(folder), contextlib.closing(home.approvals()) as approvals:
        requests = approvals.requests()
    names = {curator.identity: curator.name for curator in home.curators()}
    rows = [
        (
            r.terms.release_id,
            r.state,
            names.get(r.curator, "not pinned"),
            r.terms.spec.about.purpose,
            r.at,
            r.terms.spec.protocol,
            r.terms.spec.budget.epsilon or "",
            r.terms.granted_rho,
        )
        for r in requests
    ]
    columns = ("release", "decision", "curator", "purpose", "asked", "protocol", "epsilon", "granted_rho")
    print_rows(columns, rows, json_output)
    if not json_output and "quotas" in read_policy(folder):
        from .desk import Desk

        with Desk.opened(folder) as desk:
            for left in desk.quotas_left():
                tell(f"left: {left.words}")


def show(folder: _Folder, release: _Waiting = None, json_output: _Json = False) -> None:
    """Show all that a requested release would do, and the decisions on it."""
    from .desk import Desk
    from .sentences import in_words

    with Desk.opened(folder) as desk:
        form = desk.explain(release)
    if json_output:
        tell(json.dumps(form))
    else:
        print_entries(in_words(form))


def approve(
    folder: _Folder,
    release: _Waiting = None,
    by: _By = None,
    reason: _Reason = "",
    yes: Annotated[bool, typer.Option("--yes", help="The release was reviewed already.")] = False,
) -> None:
    """Approve a release, after showing it; its curator can then resume it."""
    from .desk import Desk
    from .sentences import in_words, missing_approvals

    with Desk.opened(folder) as desk:
        form = desk.explain(release)
        print_entries(in_words(form))
        if not yes:
            typer.confirm("Approve this release?", abort=True)
        approved = desk.approve(form["release"], by, reason)
        left = missing_approvals(desk.explain(approved))
    tell(f"approved {approved}{f'; {left}' if left else ''}")


def deny(folder: _Folder, release: _Release, by: _By = None, reason: _Reason = "") -> None:
    """Deny a release. If it is running, this stops it; if it is certified already, this comes too late."""
    from .desk import Desk

    with Desk.opened(folder) as desk:
        denied, stopped = desk.deny(release, by, reason)
    tell(f"denied {denied}{'; it is stopped, and its keys are erased' if stopped else ''}")
