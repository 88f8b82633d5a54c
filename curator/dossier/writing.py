"""Writes the dossier of a release into a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ...common.files.writing import write_text
from ...common.version import __version__
from .assessment import impact_assessment, processing_record
from .card import data_card
from .catalogue import dcat_ap, health_dcat_ap
from .croissant import croissant
from .document import Document, pages
from .institution import NAME, Institution, draft
from .metadata import csvw, sdmetrics, sdnist
from .questions import nist_answers
from .registry import deployment
from .subject import Subject

PAGE = "verify.html"
"""The page that verifies releases."""


def verifier_page() -> str:
    """A page that verifies a release that is dropped on it, without a network."""
    return pages().get_template(PAGE).render(version=__version__)


def documents(subject: Subject, institution: Institution) -> tuple[Document, ...]:
    """The documents for people."""
    return (
        data_card(subject, institution),
        nist_answers(subject, institution),
        impact_assessment(subject, institution),
        processing_record(subject, institution),
    )


def files(subject: Subject, institution: Institution) -> Iterator[tuple[str, str]]:
    """The name and the content of each file of the dossier."""
    for document in documents(subject, institution):
        yield f"{document.file}.html", document.html()
        yield f"{document.file}.md", document.markdown()
    records = {
        "croissant.json": croissant(subject, institution),
        "dcat-ap.jsonld": dcat_ap(subject, institution),
        "csvw.json": csvw(subject, institution),
        "sdmetrics.json": sdmetrics(subject),
        "sdnist.json": sdnist(subject),
    }
    if institution.has_health_data:
        records["healthdcat-ap.jsonld"] = health_dcat_ap(subject, institution)
    for name, record in records.items():
        yield name, json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    yield "deployment.yaml", deployment(subject, institution)
    yield PAGE, verifier_page()


def write_dossier(subject: Subject, institution: Institution, folder: Path) -> list[str]:
    """Writes all files, and a draft of `dossier.toml` if the institution said nothing.

    Returns:
        The names of the files.

    Raises:
        DataError: the folder cannot be written.
    """
    written = dict(files(subject, institution))
    if not institution.content and not (folder / NAME).exists():
        written[NAME] = draft(tuple(member.name for member in subject.members))
    for name, content in written.items():
        write_text(folder / name, content)
    return sorted(written)
