"""What the command `dpmosaic curator release` does and tells of a release of related tables."""

from __future__ import annotations

import json

import typer

from ...common.showing.telling import tell
from ..parties.private_folder import private_folder
from ..people.table_files import formula_warning
from ..releasing.session import Session
from ..releasing.telling import shown_to_operator
from .session import RelatedSession


def run_related(session: Session, json_output: bool) -> None:
    """Makes or resumes the release of a session, and tells what was made.

    Args:
        session: of a plan of related tables.
        json_output: whether to print one JSON object.

    Raises:
        MosaicError: it stopped.
    """
    with shown_to_operator(session, json_output) as (report, activity):
        made = RelatedSession(session).run(report, activity)
    certificate = made.certificate
    warning = formula_warning(made.family, session.table_file, made.public)
    if json_output:
        summary = {
            "out": str(session.folder),
            "differentially_private": certificate.differentially_private,
            "zcdp_rho_spent": float(certificate.zcdp_rho_spent),
            "epsilon_spent": certificate.epsilon_spent,
            "rows": {name: len(rows) for name, rows in made.frames.items()},
            "warning": warning,
        }
        tell(json.dumps(summary))
        return
    rows = ", ".join(f"{name} {len(rows)}" for name, rows in made.frames.items())
    tell(
        f"synthetic rows: {rows}; written to {session.folder}; do not publish "
        f"{private_folder(session.folder)}"
    )
    if warning is not None:
        tell(f"warning: {warning}", fg=typer.colors.YELLOW, err=True)
