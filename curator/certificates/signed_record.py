"""Records that parties sign, as JSON files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from ...common.errors import DataError
from ...common.federation.card import read_json
from .json_values import from_json_values, to_json_values

_SIGNED = "signed"
"""The field that holds terms and signatures; everything else is signed."""


@dataclass(frozen=True)
class SignedRecord:
    """Base of the records; a record has a field `signed`, None before the parties signed."""

    format: ClassVar[str]
    """Name and version of the file's format."""
    called: ClassVar[str]
    """What the record is, with its article."""
    remedy: ClassVar[str]
    """What to do about a file of another format."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Reads the record's file.

        Raises:
            DataError: the file cannot be read, or holds no such record.
        """
        return cls.from_json(read_json(path))

    @classmethod
    def from_json(cls, form: object) -> Self:
        """Reads a record.

        Args:
            form: output of `to_json`.

        Raises:
            DataError: the format differs, or a value is damaged; names the place.
        """
        if not isinstance(form, dict) or form.get("format") != cls.format:
            raise DataError(f"expected {cls.called} of the format {cls.format!r}, got another; {cls.remedy}")
        content = {key: part for key, part in form.items() if key != "format"}
        return from_json_values(cls, content, cls.called.split()[-1])

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        return {"format": self.format, **to_json_values(self)}

    def digest(self) -> bytes:
        """SHA-256 of the record without its signatures."""
        content = {key: part for key, part in self.to_json().items() if key != _SIGNED}
        return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).digest()
