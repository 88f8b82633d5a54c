"""Connections to parties that may drop out, in whose place is repeated what they said before a release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from ...common.errors import PartyUnavailable
from ...common.wire.streams import only_reply
from ..parties.client import Connection
from ..parties.journal import Notes

_BEFORE = frozenset({"Describe", "Review", "Accept"})
"""Calls by which a release begins, or goes on after its curator died; they show nothing of the data."""


class LatestNotes(Notes, Protocol):
    """A store of notes that can be replaced."""

    def note_latest(self, name: str, value: bytes) -> None:
        """Adds a note, in place of an earlier one; durable on return."""
        ...


class RememberedConnection:
    """A connection that repeats what a party said of itself and signed, if it does not answer any more.

    So a release is resumed without the parties that dropped out.

    Args:
        connection: connection to the party.
        name: name of the party.
        notes: where its replies are kept, in the journal of the release.
    """

    def __init__(self, connection: Connection, name: str, notes: LatestNotes) -> None:
        self._connection = connection
        self._name = name
        self._notes = notes

    def call(self, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        """See `Connection.call`."""
        if method not in _BEFORE:
            return self._connection.call(method, requests)
        return self._call_or_recall(f"{method} of {self._name}", method, requests)

    def _call_or_recall(self, note: str, method: str, requests: Iterable[bytes]) -> Iterator[bytes]:
        try:
            reply = only_reply(method, self._connection.call(method, requests))
        except PartyUnavailable:
            noted = self._notes.note(note)
            if noted is None:
                raise
            yield noted
            return
        self._notes.note_latest(note, reply)
        yield reply
