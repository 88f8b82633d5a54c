"""A curator's folder: its keys and the enrolled parties and dealers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ...common.errors import DataError, PolicyError, ProtocolError
from ...common.federation.card import CURATOR, DEALER, PARTY, Card, FederationList, as_text, read_json
from ...common.federation.keyring import CERTIFICATE, Keyring
from ...common.federation.private_files import write_private
from ...common.processes.reread import Reread
from .marks import Marks

if TYPE_CHECKING:
    from ...common.wire.bundles import Bundle
    from .attached import Admitted, AttachedConnection
    from .by_files.connection import FilesConnection
    from .by_files.mailbox import Mailbox
    from .connection import GrpcConnection, RetryPolicy
    from .listener import LentConnection, Listener

_CARDS, _ADDRESSES, _MARKS = "cards", "addresses.json", "marks.json"
ATTACHED = "attached"
"""Stands for the address of a party or dealer that dials the curator."""

BY_FILES = "files"
"""Stands for the address of a party that nobody dials: files go there and back, carried or by the mailbox."""

_NO_RELEASE = "0" * 32
"""In place of a release's id in the first file for a party, which asks what it holds."""

Links: TypeAlias = "dict[str, GrpcConnection | AttachedConnection | LentConnection | FilesConnection]"
"""Connections to parties and dealers, by name."""


@dataclass(frozen=True)
class CuratorHome:
    """The folder of one curator.

    Attributes:
        folder: path of the folder.
        keyring: keys of the curator.
    """

    folder: Path
    keyring: Keyring

    @classmethod
    def create(cls, folder: Path, name: str, *, request: bool = False) -> CuratorHome:
        """Makes the keys of a new curator.

        Raises:
            DataError: the folder already holds a curator, or cannot be written.
        """
        keyring = Keyring.create(folder, name, request=request)
        (folder / _CARDS).mkdir(mode=0o700, exist_ok=True)
        return cls(folder, keyring)

    @classmethod
    def open(cls, folder: Path) -> CuratorHome:
        """Opens a folder that `create` made.

        Raises:
            DataError: the folder holds no curator.
        """
        return cls(folder, Keyring.load(folder))

    def card(self) -> Card:
        """The public card of the curator."""
        return Card.issue(CURATOR, self.keyring.name, self.keyring.identity, self.keyring.certificate)

    def cards(self) -> dict[str, Card]:
        """The cards of the enrolled parties and dealers, by name."""
        cards = [Card.from_json(read_json(path)) for path in sorted((self.folder / _CARDS).glob("*.json"))]
        return {card.name: card for card in cards}

    def identities(self) -> dict[str, bytes]:
        """The identities of the enrolled parties and dealers, by name."""
        return {name: card.identity for name, card in self.cards().items()}

    def enroll(self, card: Card, address: str) -> None:
        """Enrolls a party or a dealer; a newer card of the same identity replaces the older one.

        Args:
            card: its card.
            address: host and port of its daemon, `ATTACHED`, or `BY_FILES` of a party.

        Raises:
            DataError: the card is that of a curator, the address has no port, or a dealer is to be reached by
                files.
            PolicyError: the name is enrolled with another identity.
        """
        if card.role == CURATOR:
            raise DataError(
                "expected the card of a party or dealer, got a curator's; ask its owner for the right card"
            )
        if address == BY_FILES and card.role != PARTY:
            raise DataError("expected a party to be reached by files, got a dealer, which deals all the time")
        if address not in (ATTACHED, BY_FILES) and not _is_address(address):
            raise DataError(f"expected the address as host:port, got {address!r}; give the port too")
        earlier = self.cards().get(card.name)
        handovers = () if earlier is None else card.path_from(earlier.identity)
        if earlier is not None and handovers is None:
            raise PolicyError(
                f"{card.role} {card.name!r} is enrolled with another identity; if its owner confirms the new "
                f"one, remove {self.folder / _CARDS / card.name}.json first"
            )
        if earlier is not None and handovers and not any(one.recounted for one in handovers):
            self.marks().carry(earlier.identity, card.identity)
        write_private(self.folder / _CARDS / f"{card.name}.json", as_text(card.to_json()).encode())
        addresses = self.addresses() | {card.name: address}
        write_private(self.folder / _ADDRESSES, json.dumps(addresses, indent=2).encode())

    def first_bundle(self, name: str) -> Path:
        """Writes the file that asks a party by files what it holds; returns where it is."""
        from .by_files.mailbox import DESCRIBE

        mailbox = self._mailbox(name, _NO_RELEASE)
        sent = mailbox.waits() or mailbox.send([DESCRIBE])
        return mailbox.path(sent.number)

    def take_answer(self, file: Path) -> Path:
        """Takes a file that a party by files wrote into the inbox; see `take`.

        Raises:
            DataError: it cannot be read.
        """
        from .by_files.mailbox import read_answer

        return self.take(read_answer(file))

    def take(self, answer: Bundle) -> Path:
        """Takes the answer of a party by files into the inbox; returns where it is.

        Raises:
            ProtocolError: it answers no file of this curator, or was altered, cut, or written by another.
        """
        header = answer.header
        if header.sender not in self.identities_by_files():
            raise ProtocolError(
                f"expected an answer of a party that is enrolled with --by-files, got one of "
                f"{header.sender!r}; enroll its card, or take the file to the right curator"
            )
        return self._mailbox(header.sender, header.release_id).take(answer)

    def bundles_for(self, name: str) -> list[Path]:
        """The files for a party by files that wait for an answer, of all releases."""
        from .by_files.mailbox import releases_of

        boxes = [self._mailbox(name, release) for release in releases_of(self.folder, name)]
        return [box.path(out.number) for box in boxes if (out := box.waits()) is not None]

    def boxes_of(self, name: str) -> list[Path]:
        """The folders of the files for a party by files and of those from it, as far as there are any."""
        from .by_files.mailbox import INBOX, OUTBOX

        return [box for box in (self.folder / OUTBOX / name, self.folder / INBOX / name) if box.exists()]

    def identities_by_files(self) -> dict[str, bytes]:
        """The identities of parties by files, by name."""
        cards, addresses = self.cards(), self.addresses()
        return {name: card.identity for name, card in cards.items() if addresses.get(name) == BY_FILES}

    def clear_files(self, release_id: str) -> None:
        """Deletes the files between this curator and parties by files of a release that is finished."""
        for name, address in self.addresses().items():
            if address == BY_FILES:
                self._mailbox(name, release_id).clear()

    def marks(self) -> Marks:
        """The marks of parties' ledgers that this curator has seen."""
        return Marks(self.folder / _MARKS)

    def addresses(self) -> dict[str, str]:
        """Address of each enrolled party and dealer, `ATTACHED` or `BY_FILES`, by name."""
        path = self.folder / _ADDRESSES
        form = read_json(path) if path.exists() else {}
        if not isinstance(form, dict):
            raise DataError(
                f"expected names and addresses in {path}, got something else; enroll the parties again"
            )
        return {str(name): str(address) for name, address in form.items()}

    def enrolment_files(self) -> list[Path]:
        """The files that say who is enrolled, and the curator's certificate."""
        cards = sorted((self.folder / _CARDS).glob("*.json"))
        return [self.keyring.folder / CERTIFICATE, self.folder / _ADDRESSES, *cards]

    def federation(self) -> FederationList:
        """All cards, for the parties and dealers to pin.

        Raises:
            DataError: no party is enrolled.
        """
        cards = self.cards().values()
        parties, dealers = (tuple(c for c in cards if c.role == role) for role in (PARTY, DEALER))
        if not parties:
            raise DataError("expected enrolled parties, got none; run dpmosaic curator enroll for each card")
        return FederationList(self.card(), parties, dealers)

    def listener(
        self,
        address: str,
        told: Callable[[str, bool], None],
        reloaded: Callable[[Exception | None], None] = lambda error: None,
    ) -> Listener:
        """A listener for the enrolled parties and dealers that dial the curator; see `Listener`.

        Those that are enrolled later are admitted within seconds.

        Raises:
            DataError: nobody dials the curator, another listener runs, or the address is in use.
        """
        from .listener import Listener

        if ATTACHED not in self.addresses().values():
            raise DataError(
                "expected parties or dealers that dial this curator, got none; enroll them with --attached"
            )
        return Listener(self.folder, Reread(self._dialling, self.enrolment_files), address, told, reloaded)

    @contextlib.contextmanager
    def links(
        self,
        names: Iterable[str],
        listen: str | None,
        retry_policy: RetryPolicy,
        release_id: str = _NO_RELEASE,
    ) -> Iterator[Links]:
        """Connections to enrolled parties and dealers: dials them, or waits for those that dial the curator.

        Args:
            names: their names.
            listen: host and port for those that dial the curator; not needed where a listener runs.
            retry_policy: deadlines and retries.
            release_id: release that the files of parties by files are of.

        Raises:
            DataError: one is not enrolled, or dials the curator, which nobody listens for.
        """
        from .by_files.connection import FilesConnection
        from .connection import dial

        cards, addresses = self.cards(), self.addresses()
        wanted = tuple(names)
        for name in wanted:
            if name not in cards:
                raise DataError(f"{name!r} is not enrolled; enrolled: {', '.join(cards) or 'no party'}")
        dialling = [name for name in wanted if addresses[name] == ATTACHED]
        own = self._admission_of(wanted).side
        with contextlib.ExitStack() as stack:
            links: Links = {}
            if dialling:
                links |= stack.enter_context(self._attached_links(dialling, listen, retry_policy))
            beside: list[FilesConnection] = []
            for name in wanted:
                if addresses[name] == BY_FILES:
                    slow = FilesConnection(self._mailbox(name, release_id), beside, retry_policy.answer_s)
                    links[name] = stack.enter_context(contextlib.closing(slow))
                elif name not in links:
                    link = dial(name, addresses[name], own, cards[name].certificate, retry_policy)
                    links[name] = stack.enter_context(contextlib.closing(link))
            yield {name: links[name] for name in wanted}

    def check_times(self, links: Links) -> None:
        """See `clocks.check_times`, of this curator and those that it is connected to."""
        from .clocks import check_times

        cards, addresses = self.cards(), self.addresses()
        online = {name: link for name, link in links.items() if addresses[name] != BY_FILES}
        enrolled = {name: cards[name].certificate for name in online}
        check_times({"curator": self.keyring.certificate, **enrolled}, online)

    @contextlib.contextmanager
    def _attached_links(
        self, names: list[str], listen: str | None, retry_policy: RetryPolicy
    ) -> Iterator[Links]:
        """Connections to those that dial the curator: over its listener, or by listening as long as this."""
        from .attached import AttachedConnection, AttachmentServer
        from .listener import LentConnection, lender

        with lender(self.folder) as channel:
            if channel is not None:
                yield {name: LentConnection(name, channel, retry_policy) for name in names}
                return
        if listen is None:
            raise DataError(
                "expected listen in [network] of the plan, or a running `dpmosaic curator listen`, since "
                "parties dial the curator; got neither; set it to host:port"
            )
        admitted = self._admission_of(names)
        with contextlib.closing(AttachmentServer(lambda: admitted, listen)) as attachments:
            attachments.start()
            yield {name: AttachedConnection(name, attachments, retry_policy) for name in names}

    def _mailbox(self, name: str, release_id: str) -> Mailbox:
        from .by_files.mailbox import Mailbox

        return Mailbox(self.folder, self.keyring, self.cards()[name], release_id)

    def _dialling(self) -> Admitted:
        """All of the enrolled that dial the curator."""
        return self._admission_of(name for name, where in self.addresses().items() if where == ATTACHED)

    def _admission_of(self, names: Iterable[str]) -> Admitted:
        """Some of the enrolled, as the curator admits them."""
        from ...common.wire.tls import TlsSide
        from .attached import Admitted

        cards = self.cards()
        pinned = {name: cards[name].certificate for name in names}
        own = TlsSide(self.keyring.tls_key, self.keyring.certificate, tuple(pinned.values()))
        return Admitted(own, {certificate.fingerprint: name for name, certificate in pinned.items()})


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal()
