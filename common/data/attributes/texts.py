"""The texts of a column with open categories, beside its codes; private until a release states some."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from ...later import np
from ..values import RawColumn, read_texts
from .attribute import ABSENT, Attribute
from .categorical import CategoricalAttribute

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_LABELS = 1000
"""Largest number of labels that one party states of one column."""

LONGEST_LABEL = 128
"""Largest number of characters of a label."""


@dataclass(frozen=True, eq=False)
class TextColumn:
    """One text of each row, each distinct text once.

    Attributes:
        known: the distinct texts, sorted; "" is a missing value.
        places: shape (N,), for each row the place of its text.
    """

    known: tuple[str, ...]
    places: NDArray[np.uint32]

    @classmethod
    def read(cls, name: str, values: RawColumn) -> TextColumn:
        """The texts of raw cells; see `read_texts`."""
        texts, position = read_texts(name, values)
        return cls._of(texts, position)

    @classmethod
    def concatenate(cls, columns: Sequence[TextColumn]) -> TextColumn:
        """The rows of all columns, one after the other."""
        texts = [text for column in columns for text in column.known]
        starts = np.cumsum([0, *(len(column.known) for column in columns)])
        places = [column.places + start for column, start in zip(columns, starts, strict=False)]
        return cls._of(texts, np.concatenate(places))

    def take(self, rows: NDArray[np.integer[Any]] | slice) -> TextColumn:
        """The texts of these rows."""
        return TextColumn(self.known, self.places[rows])

    def encode(self, attribute: Attribute) -> NDArray[np.int64]:
        """The code of each row, shape (N,).

        Raises:
            DataError: see `Attribute.encode`.
        """
        occurring, position = np.unique(self.places, return_inverse=True)
        texts = np.array([self.known[place] for place in occurring], dtype=object)
        codes: NDArray[np.int64] = attribute.encode(texts)[position]
        return codes

    def unlisted_texts(self, attribute: CategoricalAttribute) -> tuple[list[str], NDArray[np.int64]]:
        """The texts that could become labels, sorted, and the rows of each; see `unlisted_texts`."""
        return unlisted_texts(attribute, self.known, np.bincount(self.places, minlength=len(self.known)))

    def digest(self) -> bytes:
        """SHA-256 of the text of each row."""
        return digest_of_texts(self.known, [self.places])

    @classmethod
    def _of(cls, texts: Sequence[str], position: NDArray[np.integer[Any]]) -> TextColumn:
        """The column of texts, which may repeat; texts of no row are left out."""
        occurring = np.unique(position)
        known = sorted({texts[place] for place in occurring})
        order = {text: place for place, text in enumerate(known)}
        renumbered = np.zeros(len(texts), dtype=np.uint32)
        renumbered[occurring] = [order[texts[place]] for place in occurring]
        return cls(tuple(known), renumbered[position])


def is_label(text: str) -> bool:
    """Whether a text may become a label: 1 to `LONGEST_LABEL` printable characters, and not `ABSENT`."""
    return 0 < len(text) <= LONGEST_LABEL and text.isprintable() and text != ABSENT


def unlisted_texts(
    attribute: CategoricalAttribute, texts: Sequence[str], counts: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int64]]:
    """The texts that could become labels, and the number of rows of each, at least 1.

    Left out by rules that are public: texts that the attribute lists, missing values, and texts that are no
    labels (`is_label`).

    Args:
        attribute: the open categories.
        texts: the different texts of a column, sorted.
        counts: number of rows of each, shape (texts,).
    """
    possible = [place for place in np.flatnonzero(counts).tolist() if is_label(texts[place])]
    found = [texts[place] for place in possible]
    kept = are_unlisted(attribute, found)
    return list(itertools.compress(found, kept)), counts[list(itertools.compress(possible, kept))]


def are_unlisted(attribute: CategoricalAttribute, texts: Sequence[str]) -> list[bool]:
    """For each text, whether it matches none of the attribute's categories, so that `other` stands for it."""
    codes = attribute.encode(np.array(texts, dtype=object))
    return [
        attribute.categories[code] == attribute.other and text != attribute.other
        for text, code in zip(texts, codes, strict=True)
    ]


def has_open_categories(attribute: Attribute) -> TypeGuard[CategoricalAttribute]:
    """Whether labels of an attribute are looked for in the texts of its rows."""
    return isinstance(attribute, CategoricalAttribute) and attribute.open


def digest_of_texts(known: Iterable[str], places: Iterable[NDArray[np.integer[Any]]]) -> bytes:
    """SHA-256 of the text of each row.

    Args:
        known: the different texts, sorted.
        places: of the text of each row among them, of some rows after the other.
    """
    digest = hashlib.sha256()
    for text in known:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
    for some in places:
        digest.update(some.astype("<u4").tobytes())
    return digest.digest()
