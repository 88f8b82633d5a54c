"""Columns of a table that no model holds: identifiers, which are drawn anew, and text, which is dropped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from .attribute import check_name, check_pattern

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COUNTER = re.compile(r"[^{}]*\{:0?[0-9]{0,2}d\}[^{}]*")


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
        """New names, shape (rows,); the numbers themselves for the pattern `{:d}`.

        Args:
            rows: how many.
            first: number of the first.
        """
        numbers = range(first, first + rows)
        if self.pattern == "{:d}":
            return np.array(numbers)
        return np.array([self.pattern.format(number) for number in numbers], dtype=object)

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
