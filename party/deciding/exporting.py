"""The audit trail on its way to receivers: each entry at least once, whenever the process dies."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .desk import Desk
from .receivers import Receiver, receiver_of
from .trail import Entry, trail

SENT = "trail-sent"
"""The folder of what receivers have: for each a file of ids."""

_ID_BYTES = 16
_AT_ONCE = 100


@dataclass(frozen=True)
class Export:
    """The trail of a party on its way to one receiver.

    Attributes:
        folder: of the party.
        receiver: takes entries.
        sent: file of the ids of entries that it has.
    """

    folder: Path
    receiver: Receiver
    sent: Path

    @classmethod
    def to(cls, folder: Path, target: str, party: str) -> Export:
        """To a receiver by its address; see `receiver_of`."""
        name = hashlib.sha256(target.encode()).hexdigest()[:16]
        return cls(folder, receiver_of(target, party), folder / SENT / name)

    def send(self) -> int:
        """Sends what the receiver has not; returns how many entries.

        Raises:
            OSError: the receiver takes nothing more; what it took is not sent again.
            DataError: the party's files cannot be read.
        """
        with Desk.opened(self.folder) as desk:
            entries = trail(desk)[::-1]
        known = self._known()
        waiting = [entry for entry in entries if bytes.fromhex(entry.event_id) not in known]
        self.sent.parent.mkdir(mode=0o700, exist_ok=True)
        for some in _in_parts(waiting):
            self.receiver.take(some)
            self._remember(some)
        return len(waiting)

    def _known(self) -> set[bytes]:
        try:
            ids = self.sent.read_bytes()
        except FileNotFoundError:
            return set()
        # A part of an id at the end is of an entry that is sent again.
        return {ids[start : start + _ID_BYTES] for start in range(0, len(ids), _ID_BYTES)}

    def _remember(self, entries: Sequence[Entry]) -> None:
        descriptor = os.open(self.sent, os.O_RDWR | os.O_CREAT, 0o600)
        with open(descriptor, "r+b") as file:
            file.seek(os.fstat(descriptor).st_size // _ID_BYTES * _ID_BYTES)
            file.write(b"".join(bytes.fromhex(entry.event_id) for entry in entries))
            file.flush()
            os.fsync(descriptor)


def _in_parts(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    for start in range(0, len(entries), _AT_ONCE):
        yield entries[start : start + _AT_ONCE]
