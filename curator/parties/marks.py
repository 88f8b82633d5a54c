"""The high-water marks of parties' ledgers that a curator has seen, so that a restored ledger is noticed."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from ...common.bounded import json_of
from ...common.errors import DataError
from ...common.federation.private_files import read_private, write_private
from ...common.history import START, Mark
from ...common.processes.locks import turn_at


class Marks:
    """The highest mark of each party, by its identity.

    Args:
        path: file in which they are kept; None to keep them in memory (simulations).
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, Mark] = {}

    def of(self, identity: bytes) -> Mark:
        """The highest mark that was seen of a party; the mark of a new ledger if there is none.

        Raises:
            DataError: the file is damaged, or other users can read or write it.
        """
        return self._read().get(identity.hex(), START)

    def follow(self, name: str, identity: bytes, seen: Mark, mark: Mark) -> None:
        """Keeps a party's new mark.

        Args:
            name: name of the party.
            identity: identity of the party.
            seen: its mark before it was asked.
            mark: its mark now.

        Raises:
            ProtocolError: its ledger was restored from an old copy.
        """
        mark.check_follows(seen, name)
        with self._lock():
            known = self._read()
            if mark.events > known.get(identity.hex(), START).events:
                self._write(known | {identity.hex(): mark})

    def carry(self, former: bytes, identity: bytes) -> None:
        """Keeps the mark of a party's former identity for the one that follows it: its ledger is the same."""
        with self._lock():
            known = self._read()
            if former.hex() in known and identity.hex() not in known:
                self._write(known | {identity.hex(): known[former.hex()]})

    def _read(self) -> dict[str, Mark]:
        if self._path is None or not self._path.exists():
            return self._known
        try:
            form = json_of(read_private(self._path))
            return {identity: Mark(events, bytes.fromhex(head)) for identity, (events, head) in form.items()}
        except (ValueError, TypeError, AttributeError):
            raise DataError(f"{self._path} is damaged; restore it from a backup") from None

    def _write(self, marks: dict[str, Mark]) -> None:
        self._known = marks
        if self._path is not None:
            form = {identity: (mark.events, mark.head.hex()) for identity, mark in marks.items()}
            write_private(self._path, json.dumps(form, indent=2).encode())

    def _lock(self) -> AbstractContextManager[None]:
        """Waits for other releases of this curator."""
        if self._path is None:
            return nullcontext()
        return turn_at(self._path.with_name(self._path.name + ".lock"))
