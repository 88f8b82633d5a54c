"""What names the person of each row of a party; never released."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_LENGTH_BYTES = 8


@dataclass(frozen=True, eq=False)
class Identifiers:
    """Identifying columns of a party's rows, by the names that all parties of a slice agreed on.

    Attributes:
        columns: name -> text of each row, in the table's order; an empty text if it is missing.
    """

    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def digest(self, rows: str) -> str:
        """SHA-256 (hex) of the digest of the rows and of every text, which has its length in front."""
        digest = hashlib.sha256(rows.encode("ascii"))
        for name in sorted(self.columns):
            for text in (name, *self.columns[name]):
                encoded = text.encode()
                digest.update(len(encoded).to_bytes(_LENGTH_BYTES, "big") + encoded)
        return digest.hexdigest()
