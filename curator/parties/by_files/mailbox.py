"""The files between a curator and one party: an outbox, an inbox, and what was asked in which file.

In the curator's folder, `outbox/PARTY/RELEASE-0001.bundle` is the first bundle for a party in a release, and
`inbox/PARTY/RELEASE-0001.bundle` the answer to it. `RELEASE.json` beside the bundles says which calls wait
for which answer, so that a release that is resumed asks nothing again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....common.bounded import json_of, read_bytes
from ....common.errors import AnswerPending, DataError, ProtocolError
from ....common.federation.card import Card
from ....common.federation.keyring import Keyring
from ....common.federation.private_files import read_private, write_private
from ....common.wire.bundles import (
    MOST_BYTES,
    Bundle,
    BundledCall,
    BundledReplies,
    BundleHeader,
    decode_replies,
    encode_calls,
    seal_bundle,
)

DESCRIBE = BundledCall("Describe", (b"",))
"""The first call of each bundle, so that a party's latest answer says what it holds now."""

OUTBOX, INBOX = "outbox", "inbox"
_DESCRIPTION = "description"


@dataclass(frozen=True)
class Sent:
    """One bundle that was written.

    Attributes:
        number: its number.
        wants: digests of the calls whose replies are wanted.
    """

    number: int
    wants: frozenset[bytes]


class Mailbox:
    """The bundles of one party in one release.

    Args:
        folder: the curator's folder.
        keyring: keys of the curator.
        card: card of the party.
        release_id: id of the release; of zeros before one.
    """

    def __init__(self, folder: Path, keyring: Keyring, card: Card, release_id: str) -> None:
        self.party = card.name
        self.folder = folder
        self._keyring = keyring
        self._card = card
        self._release_id = release_id
        self._out, self._in = folder / OUTBOX / card.name, folder / INBOX / card.name
        for path in (self._out, self._in):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.mkdir(mode=0o700, exist_ok=True)
        self._index = self._out / f"{release_id}.json"

    def send(self, calls: Sequence[BundledCall]) -> Sent:
        """Writes the next bundle."""
        number = len(self._entries()) + 1
        own = self._keyring
        header = BundleHeader(own.name, self.party, self._release_id, number)
        sealed = seal_bundle(header, encode_calls(calls), own.identity, self._card.identity)
        wants = [call.digest.hex() for call in calls if not call.silent]
        # The index comes first: a bundle that it does not know would be written over after a crash.
        self._write_entries([*self._entries(), wants])
        write_private(self.path(number), sealed.to_bytes())
        return self._bundle(number, wants)

    def path(self, number: int) -> Path:
        """Where a bundle is."""
        return self._out / _name(self._release_id, number)

    def waits(self) -> Sent | None:
        """The latest bundle, if it has no answer yet."""
        entries = self._entries()
        number = len(entries)
        if not entries or entries[-1] is None or self._got_at(number).exists():
            return None
        return self._bundle(number, entries[-1]) if self.path(number).exists() else None

    def withdraw(self) -> None:
        """Deletes the bundle that has no answer yet, so that nobody carries it any more."""
        if (out := self.waits()) is not None:
            self.path(out.number).unlink()

    def give_up(self, number: int) -> None:
        """Notes that a bundle was refused, so that the next one asks the same again."""
        entries = self._entries()
        entries[number - 1] = None
        self._write_entries(entries)
        self._got_at(number).unlink(missing_ok=True)

    def answers(self, known: frozenset[int]) -> dict[int, BundledReplies]:
        """The answers that came, by their numbers, but for known ones."""
        found = {}
        for number in range(1, len(self._entries()) + 1):
            if number not in known and self._got_at(number).exists():
                found[number] = self._open(Bundle.read(read_private(self._got_at(number))))
        return found

    def take(self, bundle: Bundle) -> Path:
        """Puts an answer into the inbox, unless it was there already; returns where it is.

        Raises:
            ProtocolError: it answers no bundle of this release, or was altered, cut, or written by another.
        """
        number, answer = bundle.header.number, self._open(bundle)
        path = self._got_at(number)
        if answer.refusal is not None and self._entries()[number - 1] is None:
            # The release stopped for this refusal, and may have been resumed since.
            return path
        if path.exists() and self._open(Bundle.read(read_private(path))).refusal is None:
            # A party that has closed the release refuses what it answered before.
            return path
        write_private(path, bundle.to_bytes())
        if described := answer.replies.get(DESCRIBE.digest):
            write_private(self._in / _DESCRIPTION, described[0])
        return path

    def description(self) -> bytes:
        """What the party said of itself last, encoded.

        Raises:
            AnswerPending: it said nothing yet.
        """
        path = self._in / _DESCRIPTION
        if not path.exists():
            raise AnswerPending(
                f"party {self.party!r} is reached by files, and has not said yet what it holds: carry "
                f"the file in {self._out} to it, and bring its answer by `dpmosaic curator inbox`"
            )
        return read_private(path)

    def clear(self) -> None:
        """Deletes the bundles of a release that is finished."""
        for path in (*self._out.glob(f"{self._release_id}*"), *self._in.glob(f"{self._release_id}*")):
            path.unlink()

    def _open(self, bundle: Bundle) -> BundledReplies:
        """The replies of an answer to a bundle of this release."""
        header, own = bundle.header, self._keyring
        asked = self.path(header.number)
        same = asked.exists() and Bundle.read(read_private(asked)).digest == header.request
        if not same or (header.sender, header.recipient) != (self.party, own.name):
            raise ProtocolError(
                f"expected the answer of {self.party!r} to a file in {self._out}, got the answer to another; "
                "take the one that `dpmosaic party answer` wrote for it"
            )
        return decode_replies(bundle.open(own.identity, self._card.identity))

    def _bundle(self, number: int, wants: Sequence[str] | None) -> Sent:
        return Sent(number, frozenset(map(bytes.fromhex, wants or ())))

    def _entries(self) -> list[list[str] | None]:
        """Of each bundle, the digests of the calls that it wants answered; None if it was refused."""
        if not self._index.exists():
            return []
        try:
            entries: list[list[str] | None] = json_of(read_private(self._index))
        except ValueError:
            raise DataError(f"{self._index} is damaged; abandon the release and start a new one") from None
        return entries

    def _write_entries(self, entries: Sequence[Sequence[str] | None]) -> None:
        write_private(self._index, json.dumps(entries).encode())

    def _got_at(self, number: int) -> Path:
        return self._in / _name(self._release_id, number)


def releases_of(folder: Path, party: str) -> list[str]:
    """Ids of the releases in which a party was asked something by files, of a curator's folder."""
    return sorted(path.stem for path in (folder / OUTBOX / party).glob("*.json"))


def read_answer(path: Path) -> Bundle:
    """The bundle in a file that came from a party.

    Raises:
        DataError: it cannot be read.
        ProtocolError: it is no answer.
    """
    try:
        bundle = Bundle.read(read_bytes(path, MOST_BYTES))
    except (OSError, ValueError) as cause:
        why = cause.strerror if isinstance(cause, OSError) else str(cause)
        raise DataError(f"cannot read {path}: {why}; name the file that the party wrote") from cause
    if not bundle.header.request:
        raise ProtocolError("expected an answer of a party, got a file for one; name the file that it wrote")
    return bundle


def _name(release_id: str, number: int) -> str:
    return f"{release_id}-{number:04d}.bundle"
