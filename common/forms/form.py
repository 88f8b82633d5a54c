"""A form: what a value in a file may be, in words for people and as a JSON schema for editors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any


@dataclass(frozen=True)
class Fault:
    """A value that does not fit its form.

    Attributes:
        path: keys from the outermost table to the value; places in lists are numbers from 1.
        reason: what was expected and what came; no text of the value, which may be a secret.
    """

    path: tuple[str, ...]
    reason: str

    def inside(self, key: str) -> Fault:
        """The same fault, seen from the table or list around it."""
        return Fault((key, *self.path), self.reason)


class Form(ABC):
    """What a value may be. Values are those of TOML and JSON: texts, numbers, truths, days, lists, tables."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What is expected, to follow the word "expected"."""

    @abstractmethod
    def fits(self, value: object) -> bool:
        """Whether a value is as expected."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the same values, draft 2020-12."""

    def read(self, text: str) -> object:
        """The value that a text on a command line stands for; a text that stands for none is itself."""
        return text

    def faults(self, value: object) -> Iterator[Fault]:
        """Every fault of a value; none if it fits."""
        if not self.fits(value):
            yield Fault((), f"expected {self.words}, got {came(value)}")


def came(value: object) -> str:
    """What came, for people: numbers as they are, other values by their kind."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    kinds = {str: "a text", date: "a day", list: "a list", tuple: "a list"}
    if isinstance(value, Mapping):
        return "a table"
    return next((words for kind, words in kinds.items() if isinstance(value, kind)), "another value")
