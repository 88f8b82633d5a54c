"""The command `dpmosaic dossier`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...common.extras import require_extra
from ...common.showing.telling import tell


def dossier(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    out: Annotated[Path, typer.Option(help="Folder for the dossier; created if it is missing.")],
    institution: Annotated[
        Path | None,
        typer.Option(help="What only the institution knows, a TOML file; a draft is written without one."),
    ] = None,
) -> None:
    """Write what officers, catalogues and journals ask of a release, and a page that verifies it."""
    require_extra("curator")
    from .institution import NAME, Institution
    from .subject import Subject
    from .writing import PAGE, documents, write_dossier

    said = Institution() if institution is None else Institution.load(institution)
    subject = Subject.load(release)
    write_dossier(subject, said, out)
    for document in documents(subject, said):
        tell(
            f"{out / document.file}.html, .md: {document.filled:.0%} of {len(document.answers)} "
            "answers filled in"
        )
    tell(f"records for catalogues and tools beside them; open {out / PAGE} and drop {release} on it")
    if institution is None:
        tell(f"fill in {out / NAME}, and write the dossier again with --institution {out / NAME}")
