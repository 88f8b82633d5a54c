"""TOML files that are read by their form, so that a misspelt key is noticed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..bounded import read_bytes, toml_of
from ..errors import DataError
from .form import Form
from .tables import check_file


def read_by_form(path: Path, form: Form, remedy: str = "fix the path") -> dict[str, Any]:
    """The content of a TOML file.

    Args:
        path: the file.
        form: of its content.
        remedy: what to do if it cannot be read, for the message.

    Raises:
        DataError: the file is missing or not TOML, has an unknown section or key, or a value of another type
            or out of range; names it.
    """
    try:
        content = toml_of(read_bytes(path))
    except OSError as cause:
        raise DataError(f"cannot read {path}: {cause.strerror}; {remedy}") from cause
    except ValueError as cause:
        raise DataError(f"{path} is not TOML: {cause}; fix the line") from cause
    check_file(path.name, form, content)
    return content


def as_toml(value: object) -> str:
    """A text, truth, number, list or mapping of these as it stands in a line of TOML."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{toml_key(key)} = {as_toml(one)}' for key, one in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else as_toml(name)


def section_of(name: str, entries: Mapping[str, object]) -> str:
    """A section of TOML, after an empty line; entries that are empty are left out.

    Args:
        name: of the section, as it stands in brackets.
        entries: see `as_toml`.
    """
    lines = [f"{toml_key(key)} = {as_toml(value)}" for key, value in entries.items() if value]
    return "\n".join(["", f"[{name}]", *lines, ""])
