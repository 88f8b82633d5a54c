"""TOML files that are read by their form, so that a misspelt key is noticed."""

from __future__ import annotations

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
