"""What names the person of each row of a party; never released."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.errors import DataError, PolicyError
from ...common.protocols.alignment.match_keys import MatchKey, key_texts, matched_identifiers
from ...common.protocols.alignment.plan import REFUSE

_HASHED_LENGTH_BYTES = 8


@dataclass(frozen=True, eq=False)
class Identifiers:
    """Identifying columns of a party's rows, by the names that all parties of a slice agreed on.

    Attributes:
        columns: name -> text of each row, in the table's order; an empty text if it is missing. They may be
            read anew each time.
    """

    columns: Mapping[str, Iterable[str]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The agreed names, sorted; public."""
        return tuple(sorted(self.columns))

    def check_match(self, match: Sequence[MatchKey]) -> None:
        """Refuses match keys that refer to an identifier that this party does not have.

        Raises:
            PolicyError: they do; names the identifier.
        """
        for name in matched_identifiers(match):
            if name not in self.columns:
                raise PolicyError(
                    f"the plan matches rows by the identifier {name!r}, which this party does not have; its "
                    f"owner names its column in [source] identifiers, or match rows by others"
                )

    def match_texts(self, match: Sequence[MatchKey], duplicates: str) -> MatchTexts:
        """What each match key compares of the rows that take part.

        Args:
            match: checked match keys.
            duplicates: what becomes of rows that are equal in the first match key.

        Raises:
            PolicyError: see `check_match`.
            DataError: see `used_rows`.
        """
        self.check_match(match)
        texts = key_texts(self.columns, match[0])
        rows = used_rows(texts, duplicates)
        return MatchTexts(rows, [texts[row] for row in rows.tolist()], self.columns, tuple(match[1:]))

    def digest(self, rows: str) -> str:
        """SHA-256 (hex) of the digest of the rows and of every text, which has its length in front."""
        digest = hashlib.sha256(rows.encode("ascii"))
        for name in sorted(self.columns):
            for text in itertools.chain([name], self.columns[name]):
                encoded = text.encode()
                digest.update(len(encoded).to_bytes(_HASHED_LENGTH_BYTES, "big") + encoded)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class MatchTexts(Sequence[Sequence[bytes]]):
    """What each match key compares: for each key the texts of the rows that take part, empty where missing.

    Texts that two rows of the party have in one key are empty as well, since they do not tell which of the
    two is meant. Only the texts of the first key are kept; the others are made when they are asked for, since
    those of many keys take much memory.

    Attributes:
        rows: places of the rows that take part, in order, shape (used,).
    """

    rows: NDArray[np.intp]
    _first: Sequence[bytes]
    _columns: Mapping[str, Iterable[str]]
    _later: Sequence[MatchKey]

    def __len__(self) -> int:
        return 1 + len(self._later)

    def __getitem__(self, level: Any) -> Any:
        """The texts of a match key, by its place among them."""
        if level == 0:
            return self._first
        texts = key_texts(self._columns, self._later[level - 1])
        return without_repeated([texts[row] for row in self.rows.tolist()])


def names_of_people(cells: Iterable[str]) -> list[str]:
    """Cells that name people, without the blanks around them, with which columns are padded."""
    return [cell.strip(" ") for cell in cells]


def order_digest(keys: Iterable[str]) -> bytes:
    """SHA-256 of the keys in row order, each as UTF-8 with its length in front."""
    digest = hashlib.sha256()
    for key in keys:
        encoded = key.encode()
        digest.update(len(encoded).to_bytes(_HASHED_LENGTH_BYTES, "big") + encoded)
    return digest.digest()


def missing_key(column: str) -> DataError:
    """A row lacks its key."""
    return DataError(f"key column {column!r}: expected a key in every row, found a row without; fix the rows")


def used_rows(texts: Sequence[bytes], duplicates: str) -> NDArray[np.intp]:
    """Rows that take part in an alignment: of rows that are equal in the first match key, at most one.

    Args:
        texts: what the first match key compares; rows with an empty text all take part.
        duplicates: "first" to use the first of several equal rows, "refuse" to refuse them.

    Returns:
        Places of the rows in order, shape (used,).

    Raises:
        DataError: two rows are equal, and the plan refuses that.
    """
    seen: set[bytes] = set()
    used = np.ones(len(texts), dtype=bool)
    for row, text in enumerate(texts):
        if text in seen:
            used[row] = False
        elif text:
            seen.add(text)
    if duplicates == REFUSE and not used.all():
        raise DataError(
            "expected one row of each person, found rows that are equal in the first match key, which the "
            'plan refuses; leave all but one of each out, or plan duplicates = "first"'
        )
    return np.flatnonzero(used)


def without_repeated(texts: Sequence[bytes]) -> list[bytes]:
    """The texts that occur once; the others empty, since they do not tell which of their rows is meant."""
    seen: set[bytes] = set()
    repeated: set[bytes] = set()
    for text in texts:
        (repeated if text in seen else seen).add(text)
    return [b"" if text in repeated else text for text in texts]
