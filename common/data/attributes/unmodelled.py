"""Columns of a table that no model holds: identifiers, which are drawn anew, and text, which is dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from .attribute import check_name, check_pattern

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COUNTER = re.compile(r"([^{}]*)\{:0?[0-9]{0,2}d\}([^{}]*)")

WHOLE_NUMBERS = "{:d}"
"""The pattern of names that are the numbers themselves."""

UUIDS = "00000000-0000-4000-8000-{:012d}"
"""The pattern of names in the form of a UUID of version 4, which no generator draws."""

UUID = re.compile(r"[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
"""The form of a UUID."""


@dataclass(frozen=True)
class Identifier:
    """A column that names each record; synthetic rows get new names.

    Attributes:
        name: name of the column.
        pattern: a name with the number of the row in it, such as `P-{:06d}`.
    """

    name: str
    pattern: str

    def __post_init__(self) -> None:
        check_name(self.name)
        check_pattern(self.pattern)
        if not _COUNTER.fullmatch(self.pattern):
            raise DataError(
                f"attribute {self.name!r}: expected a pattern with one number, such as P-{{:06d}}; fix the "
                "domain"
            )

    def draw(self, rows: int, first: int = 1) -> NDArray[Any]:
        """New names, shape (rows,); the numbers themselves for the pattern `WHOLE_NUMBERS`.

        Args:
            rows: how many.
            first: number of the first.
        """
        if self.pattern == WHOLE_NUMBERS:
            return np.arange(first, first + rows, dtype=np.int64)
        return np.array([self.pattern.format(number) for number in range(first, first + rows)], dtype=object)

    def numbers_in(self, names: Iterable[Any]) -> NDArray[np.int64]:
        """The numbers in names as `draw` makes them, shape (names,).

        Raises:
            ValueError: one is no such name.
        """
        found = _COUNTER.fullmatch(self.pattern)
        assert found is not None, "the pattern was checked"
        before, after = map(len, found.groups())
        texts = map(str, names)
        return np.array([int(text[before : len(text) - after]) for text in texts], dtype=np.int64)

    def to_json(self) -> dict[str, Any]:
        """The entry in a domain file."""
        return {"type": "identifier", "pattern": self.pattern}


@dataclass(frozen=True)
class Dropped:
    """A column that no release holds, such as free text."""

    name: str

    def to_json(self) -> dict[str, Any]:
        """The entry in a domain file."""
        return {"type": "text", "drop": True}


Unmodelled = Identifier | Dropped
