"""What the command `dpmosaic curator release` does and tells of a release of related tables."""

from __future__ import annotations

import json
from functools import partial

from ...common.showing.telling import tell
from ...common.showing.terminal import Terminal
from ..parties.activity import Activity
from ..parties.private_folder import private_folder
from ..releasing.progress import progress_bar, progress_lines
from ..releasing.session import Session
from ..releasing.telling import notify_on_failure, say_how_to_resume
from .session import RelatedSession


def run_related(session: Session, json_output: bool) -> None:
    """Makes or resumes the release of a session, and tells what was made.

    Args:
        session: of a plan of related tables.
        json_output: whether to print one JSON object.

    Raises:
        MosaicError: it stopped.
    """
    activity = Activity()
    shown = (
        progress_lines(partial(tell, err=True), activity)
        if json_output
        else progress_bar(Terminal(stderr=True), activity)
    )
    resumable = say_how_to_resume(session.journal, session.folder)
    with resumable, notify_on_failure(session.home), shown as report:
        made = RelatedSession(session).run(report, activity)
    certificate = made.certificate
    if json_output:
        summary = {
            "out": str(session.folder),
            "differentially_private": certificate.differentially_private,
            "zcdp_rho_spent": float(certificate.zcdp_rho_spent),
            "epsilon_spent": certificate.epsilon_spent,
            "rows": {name: len(rows) for name, rows in made.frames.items()},
        }
        tell(json.dumps(summary))
        return
    rows = ", ".join(f"{name} {len(rows)}" for name, rows in made.frames.items())
    tell(
        f"synthetic rows: {rows}; written to {session.folder}; do not publish "
        f"{private_folder(session.folder)}"
    )
