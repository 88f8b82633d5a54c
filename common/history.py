"""How far a ledger has come: the number of its events, and the head of a hash chain over all of them.

Nothing lowers the number of events, so a ledger that states fewer than others have seen, or another head at
the same number, is not the one that they have seen: it was restored from an old copy, or replaced.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from .errors import ProtocolError

HEAD_BYTES = 32
_PREFIX = b"dpmosaic ledger history 1"
_REMEDY = (
    "was restored from an old copy or replaced, and may have forgotten charges; its operator counts them and "
    "goes on as the guide to recovery says"
)


@dataclass(frozen=True)
class Mark:
    """The high-water mark of a ledger.

    Attributes:
        events: number of acceptances, entries, certificates and abandoned releases so far.
        head: head of the hash chain over them, 32 bytes.
    """

    events: int
    head: bytes

    def __post_init__(self) -> None:
        if not 0 <= self.events < 1 << 63 or len(self.head) != HEAD_BYTES:
            raise ValueError(f"a mark needs a number of events and a head of {HEAD_BYTES} bytes")

    def after(self, event: str, release_id: str, digest: bytes) -> Mark:
        """The mark after one more event of a release."""
        fields = (self.head, event.encode(), release_id.encode(), digest)
        text = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
        return Mark(self.events + 1, hashlib.sha256(_PREFIX + text).digest())

    def signed_bytes(self) -> bytes:
        """The bytes of the mark in signed messages; all marks have equally many."""
        return self.events.to_bytes(8, "big") + self.head

    def check_follows(self, seen: Mark, party: str) -> None:
        """Refuses a mark before one that was seen of the same party.

        Args:
            seen: mark that the party stated earlier.
            party: name of the party.

        Raises:
            ProtocolError: the ledger was restored from an old copy.
        """
        if self.events < seen.events or (self.events == seen.events and self.head != seen.head):
            raise ProtocolError(f"the ledger of party {party!r} {_REMEDY}")


START = Mark(0, bytes(HEAD_BYTES))
"""The mark of a new ledger."""


def forgotten() -> ProtocolError:
    """The error of a ledger that does not contain a mark that it stated earlier."""
    return ProtocolError(f"the ledger of this party {_REMEDY}")
