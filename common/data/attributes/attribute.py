"""One column of a table as a finite set of codes: encoding of raw values, and decoding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...forms.notation import LONGEST_PATTERN
from ...later import np
from ..values import RawColumn, compose, refuse_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

ABSENT = "absent"
"""The category of people whom the party that holds an attribute does not have."""

LONGEST_NAME = 1000
"""Characters of an attribute's name."""

LARGEST_SIZE = 2**24
"""Largest number of codes of an attribute."""

CENSUS = {
    "missing": "missing values",
    "clipped": "numbers outside the bounds, counted at the nearest bound",
    "rounded": "numbers that are no multiples of what the domain says; they come back rounded",
    "other": "values that are not listed, counted as the category for all others",
    "blanked": "values outside the bounds or not readable, counted as missing",
    "unreadable": "text where a number, a date or another value of the column's kind is expected",
    "infinite": "infinite numbers",
    "fraction": "fractions where whole numbers are expected",
    "outside": "values outside the bounds or codes",
    "unlisted": "values that are none of the categories",
    "empty": "missing values where the domain allows none",
}
"""What `Attribute.census` counts: key -> description. `REFUSED` are those that make `encode` fail."""

REFUSED = ("unreadable", "infinite", "fraction", "outside", "unlisted", "empty")


@dataclass(frozen=True, eq=False)
class Reading:
    """A column of raw values as codes, with the rows to which a policy applied.

    Attributes:
        codes: shape (N,); without meaning in rows that are refused.
        counted: key of `CENSUS` -> rows, shape (N,), that were encoded by this policy.
        refused: key of `REFUSED` -> rows, shape (N,), without a code, and the reason: what was expected, what
            was found and what to do.
    """

    codes: NDArray[np.int64]
    counted: Mapping[str, NDArray[np.bool]] = field(default_factory=dict)
    refused: Mapping[str, tuple[NDArray[np.bool], str]] = field(default_factory=dict)


class Attribute(ABC):
    """A named column whose values are encoded as codes 0 to size - 1."""

    name: str

    reviewed: bool
    """False if the entry of the domain file was read from private rows, and nobody has reviewed it."""

    missing: tuple[str, ...] = ()
    """Texts that stand for a missing value, beside the empty cell, such as NA."""

    texts: tuple[str, ...] = ()
    """Texts that may stand in place of a number or a time; see `NumericAttribute`."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of codes."""

    @abstractmethod
    def read(self, values: RawColumn) -> Reading:
        """The code of each raw value, and what the policies of this attribute did.

        Args:
            values: shape (N,): text or numbers; None, NaN, a masked cell or "" is a missing value.

        Raises:
            DataError: the column is of another kind than text or numbers.
        """

    def encode(self, values: RawColumn) -> NDArray[np.int64]:
        """The code of each raw value.

        Args:
            values: as for `read`.

        Raises:
            DataError: a value has no code; names the column and the row (from 1), never the value, nor how
                many rows there are.
        """
        reading = self.read(values)
        for rows, reason in reading.refused.values():
            refuse_rows(self.name, rows, reason)
        return reading.codes

    def census(self, values: RawColumn) -> dict[str, int]:
        """The number of rows to which each policy applied, for the owner of the rows only.

        Args:
            values: as for `read`.

        Returns:
            Key of `CENSUS` -> rows, where there are any; `encode` fails if one of the keys is in `REFUSED`.
        """
        reading = self.read(values)
        rows = {**reading.counted, **{key: rows for key, (rows, _) in reading.refused.items()}}
        return {key: int(rows[key].sum()) for key in CENSUS if key in rows and rows[key].any()}

    @abstractmethod
    def decode(
        self,
        codes: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        counts: NDArray[np.integer[Any]] | None = None,
    ) -> NDArray[Any]:
        """A raw value for each code; encoding it gives the code again.

        Args:
            codes: shape (N,).
            rng: randomness of values within bins.
            counts: how often each code occurs, shape (size,), where `codes` are a part of a column; numbers
                are spread within bins by it.
        """

    def spelled(self, values: NDArray[Any]) -> NDArray[Any]:
        """Decoded values as a file of text holds them; encoding these gives the codes too."""
        return values

    def within(self, values: RawColumn) -> NDArray[np.float64] | None:
        """The raw values as numbers, after the policies for values that have no code.

        Args:
            values: as for `read`.

        Returns:
            Shape (N,), NaN for a missing value; None if the attribute does not hold numbers.
        """
        return None

    @abstractmethod
    def to_json(self) -> int | list[Any] | dict[str, Any]:
        """The entry of this attribute in a domain file."""

    @property
    def open(self) -> bool:
        """Whether its codes are those of a fine grid, or unknown, until a release has chosen them."""
        return False

    def merged(self, runs: NDArray[np.int64]) -> Attribute:
        """This attribute with codes that a release chose, coarser than its own.

        Args:
            runs: shape (size,): for each code its new code, increasing from 0 by steps of at most 1.

        Raises:
            DataError: codes of this kind cannot be merged.
        """
        raise DataError(f"attribute {self.name!r}: its codes cannot be merged; choose bins of numbers only")

    @abstractmethod
    def with_absent(self) -> Attribute:
        """This attribute with one more code, the last, for people whom its party does not have.

        Raises:
            DataError: another value could not be told from it.
        """


def even_places(first: int, count: int) -> NDArray[np.float64]:
    """Numbers from 0 to 1, of which any run lies evenly: multiples of the golden ratio from a place on."""
    found: NDArray[np.float64] = np.arange(first, first + count, dtype=np.float64) * ((5**0.5 - 1) / 2) % 1.0
    return found


def check_name(name: str) -> None:
    """Raises DataError if an attribute's name is empty or too long, or not composed."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise DataError(f"an attribute's name is text of 1 to {LONGEST_NAME} characters; name the column so")
    if compose(name) != name:
        raise DataError(
            f"attribute {name!r}: expected a name in Unicode's normal form C, as tables are read; write it "
            'as unicodedata.normalize("NFC", name)'
        )


def check_pattern(pattern: object) -> None:
    """Raises DataError if a format of values is no text, or so long that it takes the space of values."""
    if not isinstance(pattern, str) or len(pattern) > LONGEST_PATTERN:
        raise DataError(
            f"format, pattern: expected a text of at most {LONGEST_PATTERN} characters; fix the domain"
        )


def check_size(name: str, size: int, what: str, most: int = LARGEST_SIZE) -> None:
    """Raises DataError if an attribute has no codes or too many."""
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= most:
        raise DataError(f"attribute {name!r}: expected from 1 to {most} {what}; fix the domain")


def check_unread(name: str, texts: tuple[str, ...], unread: tuple[str, ...]) -> None:
    """Raises DataError if a listed text is a value too.

    Args:
        name: of the attribute.
        texts: the texts.
        unread: those that are no values, and not empty.
    """
    if unread != texts:
        raise DataError(
            f"attribute {name!r}: one of its texts is empty or a value of the column too; list it among the "
            "atoms or leave it out"
        )


def check_missing(name: str, missing: object) -> None:
    """Raises DataError if these are no texts for a missing value."""
    if not isinstance(missing, tuple) or not all(isinstance(text, str) and text for text in missing):
        raise DataError(
            f'attribute {name!r}: missing is a list of texts such as "NA"; an empty cell is always missing'
        )
