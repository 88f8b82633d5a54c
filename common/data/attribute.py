"""One column of a table as a finite set of codes: encoding of raw values, and decoding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .values import RawColumn

ABSENT = "absent"
"""The category of people whom the party that holds an attribute does not have."""

LARGEST_SIZE = 2**24
"""Largest number of codes of an attribute."""


class Attribute(ABC):
    """A named column whose values are encoded as codes 0 to size - 1."""

    name: str

    reviewed: bool
    """False if the entry of the domain file was read from private rows, and nobody has reviewed it."""

    missing: tuple[str, ...]
    """Texts that stand for a missing value, beside the empty cell, such as NA."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of codes."""

    @abstractmethod
    def encode(self, values: RawColumn) -> NDArray[np.int64]:
        """The code of each raw value.

        Args:
            values: shape (N,): text or numbers; None, NaN, a masked cell or "" is a missing value.

        Raises:
            DataError: a value has no code; names the column and the row (from 1), never the value.
        """

    @abstractmethod
    def decode(self, codes: NDArray[np.integer[Any]], rng: np.random.Generator) -> NDArray[Any]:
        """A raw value for each code; encoding it gives the code again."""

    @abstractmethod
    def to_json(self) -> int | list[Any] | dict[str, Any]:
        """The entry of this attribute in a domain file."""

    @property
    def open(self) -> bool:
        """Whether its codes are those of a fine grid, or unknown, until a release has chosen them."""
        return False

    @abstractmethod
    def with_absent(self) -> Attribute:
        """This attribute with one more code, the last, for people whom its party does not have.

        Raises:
            DataError: another value could not be told from it.
        """


def check_name(name: str) -> None:
    """Raises DataError if an attribute's name is empty."""
    if not isinstance(name, str) or not name:
        raise DataError("an attribute's name is text that is not empty; name the column")


def check_size(name: str, size: int, what: str) -> None:
    """Raises DataError if an attribute has no codes or too many."""
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= LARGEST_SIZE:
        raise DataError(f"attribute {name!r}: expected from 1 to {LARGEST_SIZE} {what}; fix the domain")


def check_missing(name: str, missing: object) -> None:
    """Raises DataError if these are no texts for a missing value."""
    if not isinstance(missing, tuple) or not all(isinstance(text, str) and text for text in missing):
        raise DataError(
            f'attribute {name!r}: missing is a list of texts such as "NA"; an empty cell is always missing'
        )
