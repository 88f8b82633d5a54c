"""The commands `dpmosaic party releases`, `show`, `approve` and `deny`."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.errors import DataError
from ..common.printable import printable
from .printing import print_entries, print_rows

if TYPE_CHECKING:
    from .approvals import Approvals, Request
    from .home import PartyHome
    from .ledger import Ledger

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
    """List the releases that curators requested, and the decisions."""
    from .disk import told_if_full
    from .home import PartyHome

    home = PartyHome.open(folder)
    with told_if_full(folder), contextlib.closing(home.approvals()) as approvals:
        requests = approvals.requests()
    names = {known.curator.identity: known.curator.name for known in home.trusted()}
    rows = [
        (
            r.terms.release_id,
            r.state,
            names.get(r.curator, "not pinned"),
            r.terms.purpose.about.purpose,
            r.at,
            r.terms.protocol,
            r.terms.purpose.budget.epsilon or "",
            r.terms.granted_rho,
        )
        for r in requests
    ]
    columns = ("release", "decision", "curator", "purpose", "asked", "protocol", "epsilon", "granted_rho")
    print_rows(columns, rows, json_output)


def show(folder: _Folder, release: _Waiting = None, json_output: _Json = False) -> None:
    """Show all that a requested release would do, and the decisions on it."""
    from .explained import in_words

    with _opened(folder) as (home, approvals, ledger):
        form = _explained(home, approvals, ledger, release)
    if json_output:
        typer.echo(json.dumps(form))
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
    from .decisions import APPROVED
    from .explained import in_words

    with _opened(folder) as (home, approvals, ledger):
        form = _explained(home, approvals, ledger, release)
        print_entries(in_words(form))
        if not yes:
            typer.confirm("Approve this release?", abort=True)
        accepted = form["ledger"] is not None
        approvals.decide(form["release"], APPROVED, _name(by), printable(reason), accepted=accepted)
    typer.echo(f"approved {form['release']}")


def deny(folder: _Folder, release: _Release, by: _By = None, reason: _Reason = "") -> None:
    """Deny a release. If it is running, this stops it; if it is certified already, this comes too late."""
    from .decisions import DENIED
    from .ledger_rows import CERTIFIED

    with _opened(folder) as (_, approvals, ledger):
        release_id = approvals.request(release).terms.release_id
        accepted = _state(ledger, release_id) is not None
        if accepted:
            ledger.abandon(release_id)
        if _state(ledger, release_id) == CERTIFIED:
            raise DataError(
                f"the denial comes too late: release {release_id} is certified, and nothing was changed; ask "
                "its curator not to publish it"
            )
        approvals.decide(release_id, DENIED, _name(by), printable(reason), accepted=accepted)
    typer.echo(f"denied {release_id}{'; it is stopped, and its keys are erased' if accepted else ''}")


def _state(ledger: Ledger, release_id: str) -> str | None:
    """State of an accepted release; None for another."""
    return next((e.state for e in ledger.summaries() if e.release_id == release_id), None)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[tuple[PartyHome, Approvals, Ledger]]:
    from .disk import told_if_full
    from .folder import LEDGER
    from .home import PartyHome
    from .ledger import Ledger

    home = PartyHome.open(folder)
    with (
        told_if_full(folder),
        contextlib.closing(home.approvals()) as approvals,
        contextlib.closing(Ledger(home.folder / LEDGER)) as ledger,
    ):
        yield home, approvals, ledger


def _explained(home: PartyHome, approvals: Approvals, ledger: Ledger, release: str | None) -> dict[str, Any]:
    from .explanation import explain
    from .policy_file import Settings

    policy = Settings.load(home.folder).policy
    request = _waiting(approvals) if release is None else approvals.request(release)
    return explain(request, home, policy, ledger)


def _waiting(approvals: Approvals) -> Request:
    """The only request that nobody has decided on."""
    from .decisions import PENDING

    waiting = [request for request in approvals.requests() if request.state == PENDING]
    if len(waiting) != 1:
        raise DataError(
            f"expected one release that waits for a decision, found {len(waiting)}; name one of those that "
            "`dpmosaic party releases` lists"
        )
    return waiting[0]


def _name(given: str | None) -> str:
    """Who decides; the user of this process cannot be set by an environment variable."""
    if given is not None:
        return printable(given)
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
