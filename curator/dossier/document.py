"""Documents of questions and answers, as HTML and Markdown; each answer says where it comes from."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from ...common.showing.printable import printable
from ...common.version import __version__
from ..report.page import TEMPLATES, environment

OWN = Path(__file__).parent / "templates"
"""Folder of the templates of dossiers."""

OPEN = "To be filled in by the institution"
"""Stands where only the institution knows the answer."""

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~])")


class Source(enum.StrEnum):
    """Where an answer comes from."""

    CERTIFICATE = "certificate"
    PROGRAM = "program"
    INSTITUTION = "institution"
    OPEN = "open"


@dataclass(frozen=True)
class Answer:
    """An answer to a question.

    Attributes:
        question: the question, or the name of a field.
        text: the answer.
        source: where it comes from.
    """

    question: str
    text: str
    source: Source


@dataclass(frozen=True)
class Section:
    """Answers under one heading."""

    title: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Document:
    """A document.

    Attributes:
        file: its name without an ending.
        title: its title.
        lead: what it is, in a sentence.
        sections: its answers.
    """

    file: str
    title: str
    lead: str
    sections: tuple[Section, ...]

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers."""
        return tuple(answer for section in self.sections for answer in section.answers)

    @property
    def filled(self) -> float:
        """The share of the answers that are not open, in 0..1."""
        return sum(answer.source is not Source.OPEN for answer in self.answers) / len(self.answers)

    def html(self) -> str:
        """The document as a page that loads nothing from elsewhere."""
        return pages().get_template("document.html").render(document=self, version=__version__)

    def markdown(self) -> str:
        """The same as Markdown."""
        return _texts().get_template("document.md").render(document=self, version=__version__)


def from_certificate(question: str, text: str) -> Answer:
    """An answer that the certificate proves."""
    return Answer(question, text, Source.CERTIFICATE)


def from_program(question: str, text: str) -> Answer:
    """An answer that holds for every release of this program."""
    return Answer(question, text, Source.PROGRAM)


def from_institution(question: str, text: str, draft: Answer | None = None) -> Answer:
    """What the institution says; if it says nothing, a draft, or that it is open."""
    if text:
        return Answer(question, text, Source.INSTITUTION)
    if draft is not None:
        return replace(draft, question=question)
    return Answer(question, f"{OPEN}.", Source.OPEN)


@cache
def pages() -> Environment:
    """The templates of pages, which escape all that is written into them."""
    return environment().overlay(loader=FileSystemLoader([OWN, TEMPLATES]))


@cache
def _texts() -> Environment:
    """The templates of Markdown, which escape its marks in all that is written into them."""
    return environment().overlay(
        loader=FileSystemLoader(OWN),
        autoescape=False,
        finalize=lambda value: as_markdown(value) if isinstance(value, str) else value,
    )


def as_markdown(text: str) -> str:
    """A text of others in Markdown: its marks are shown, and it stays on its line."""
    return _MARKUP.sub(r"\\\1", printable(text))
