"""Options: fields of a dataclass, each with the form of its value and a line of help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from .form import Form
from .tables import Key

_OPTION = "option"


@dataclass(frozen=True)
class Option:
    """What people are told of a field that they may set.

    Attributes:
        form: of its value.
        help: what it is, in one line.
        heading: under which commands list it; empty for an option of files alone.
    """

    form: Form
    help: str
    heading: str = ""


def option(form: Form, help: str, heading: str = "") -> Mapping[str, Any]:
    """Metadata of a field that people may set; for the arguments see `Option`."""
    return {_OPTION: Option(form, help, heading)}


def options_of(kind: Any) -> dict[str, Option]:
    """The options of a dataclass by name, in the order of its fields."""
    return {one.name: one.metadata[_OPTION] for one in fields(kind) if _OPTION in one.metadata}


def keys_of(kind: Any) -> dict[str, Key]:
    """The options of a dataclass as keys of a table in a file."""
    return {name: Key(one.form, one.help) for name, one in options_of(kind).items()}
