"""A party's folder: its keys, its pinned federations, its policy, its ledger."""

from __future__ import annotations

import contextlib
import fcntl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc

from ..common.card import PARTY, Card, FederationList, as_text, read_json
from ..common.crypto.certificates import check_name
from ..common.crypto.randomness import fresh_key
from ..common.errors import DataError, PolicyError
from ..common.keyring import (
    CERTIFICATE,
    Keyring,
    check_database,
    check_protected,
    private_file,
    write_private,
)
from ..common.wire.tls import TlsSide, secure_channel
from . import policy_file
from .approvals import Approvals
from .institution import Institution, Rules
from .ledger import Ledger
from .ledger_rows import create_database
from .party import Party
from .policy_file import Settings
from .records import read_records

_TRUSTED = "trusted"
LEDGER, REQUESTS, SHAREABLE_LOG = "ledger.sqlite", "requests.sqlite", "shareable.log"


@dataclass(frozen=True)
class PartyHome:
    """The folder of one party.

    Attributes:
        folder: folder created by `create`.
        keyring: keys of the party.
    """

    folder: Path
    keyring: Keyring

    @classmethod
    def create(cls, folder: Path, name: str, *, request: bool = False) -> PartyHome:
        """Creates keys, a ledger and a policy that allows nothing; a ledger that is there already is kept.

        Raises:
            DataError: a party exists already, or the folder cannot be written.
        """
        keyring = Keyring.create(folder, name, request=request)
        (keyring.folder / _TRUSTED).mkdir(mode=0o700)
        if not (folder / LEDGER).exists():
            create_database(folder / LEDGER)
        if not (folder / policy_file.NAME).exists():
            write_private(folder / policy_file.NAME, policy_file.TEMPLATE.encode())
        return cls(folder, keyring)

    @classmethod
    def open(cls, folder: Path) -> PartyHome:
        """Opens a folder created by `create`.

        Raises:
            DataError: it is not such a folder.
        """
        return cls(folder, Keyring.load(folder))

    def check_files(self) -> None:
        """Refuses to start if other users can read the party's secrets, or change what it relies on.

        Raises:
            DataError: they can, or a file is missing; names the file, its mode and the command that repairs
                it.
        """
        keys = self.keyring.folder
        for database in (self.folder / LEDGER, self.folder / REQUESTS):
            check_database(database)
        for path in (keys, keys / _TRUSTED, *(keys / _TRUSTED).glob("*.json"), keys / CERTIFICATE):
            check_protected(path)
        for path in (self.folder, self.folder / policy_file.NAME):
            check_protected(path)

    def file(self, name: str) -> Path:
        """The path of a file of the folder that only its owner can read."""
        return private_file(self.folder / name)

    def card(self) -> Card:
        """The party's card, signed."""
        settings = Settings.load(self.folder)
        keys = self.keyring
        return Card.issue(PARTY, keys.name, keys.identity, keys.certificate, settings.domain)

    def trusted(self) -> list[FederationList]:
        """The federations whose cards are pinned."""
        folder = self.keyring.folder / _TRUSTED
        return [FederationList.from_json(read_json(path)) for path in sorted(folder.glob("*.json"))]

    def trust(self, federation: FederationList) -> None:
        """Pins a curator and its parties; new cards of known identities replace old ones.

        Raises:
            PolicyError: a name is pinned with another identity, or this party is not in the federation.
        """
        own = [card for card in federation.parties if card.name == self.keyring.name]
        if not own or own[0].identity != self.keyring.identity.public:
            raise PolicyError(
                f"the federation does not contain party {self.keyring.name!r} with its identity; send the "
                "party's card to the curator"
            )
        earlier = {card.name: card.identity for known in self.trusted() for card in _cards(known)}
        for card in _cards(federation):
            if earlier.get(card.name, card.identity) != card.identity:
                raise PolicyError(
                    f"{card.name!r} is pinned with another identity; if its owner confirms the new one, "
                    "remove the old one by --revoke first"
                )
        write_private(self._pinned(federation.curator.name), as_text(federation.to_json()).encode())

    def revoke(self, curator: str) -> None:
        """Removes a pinned curator and its federation; further calls of it are refused.

        Raises:
            DataError: it is not pinned.
        """
        if not self._pinned(curator).exists():
            raise DataError(
                f"no curator {curator!r} is pinned; see the folder {self.keyring.folder / _TRUSTED}"
            )
        self._pinned(curator).unlink()

    def curator(self, name: str | None) -> Card:
        """A pinned curator.

        Args:
            name: name of the curator; None if only one is pinned.

        Raises:
            DataError: it is not pinned, or `name` is None and none or several are pinned.
        """
        curators = {federation.curator.name: federation.curator for federation in self.trusted()}
        found = list(curators.values()) if name is None else [c for n, c in curators.items() if n == name]
        if len(found) != 1:
            raise DataError(
                f"expected one pinned curator to attach to, found {len(found)}; pinned: "
                f"{', '.join(curators) or 'none'}; run dpmosaic party trust, or name one by --curator"
            )
        return found[0]

    def channel_to(self, name: str | None, address: str) -> grpc.Channel:
        """A channel to a pinned curator, from the current files."""
        return secure_channel(address, self.side(), self.curator(name).certificate)

    def side(self) -> TlsSide:
        """The party's side of TLS connections, from the current files."""
        curators = [federation.curator for federation in self.trusted()]
        return TlsSide(
            self.keyring.tls_key,
            self.keyring.certificate,
            tuple(curator.certificate for curator in curators),
            {curator.certificate.fingerprint: curator.identity for curator in curators},
        )

    def party(self, settings: Settings, ledger: Ledger, approvals: Approvals) -> Party:
        """The party; reads its rows."""
        rules = Rules(
            settings.policy,
            {card.name: card.identity for pinned in self.trusted() for card in pinned.parties},
            [pinned.curator.identity for pinned in self.trusted()],
            approvals,
        )
        most = settings.policy.max_rows_per_person
        source, named = settings.source(), settings.identifiers
        rows, order, identifiers = read_records(source, settings.domain, settings.key, most, named)
        institution = Institution(self.keyring.name, self.keyring.identity, rows, rules, order, identifiers)
        return Party(institution, ledger, fresh_key)

    def approvals(self, *, automatic: bool = False) -> Approvals:
        """Requests and decisions; for `automatic` see `Approvals`."""
        return Approvals(self.file(REQUESTS), self.keyring.identity, automatic=automatic)

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """Locks the folder against a second daemon.

        Raises:
            DataError: a daemon is running.
        """
        with (self.folder / "serve.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise DataError(f"a party is already served from {self.folder}; stop it first") from None
            yield

    def _pinned(self, curator: str) -> Path:
        return self.keyring.folder / _TRUSTED / f"{check_name(curator)}.json"


class Reread:
    """A value read from files, and read again when one of them has changed.

    Args:
        make: reads the files.
        folder: folder of the files.
    """

    def __init__(self, make: Callable[[], TlsSide], folder: Path) -> None:
        self._make = make
        self._folder = folder
        self._lock = threading.Lock()
        self._stamp = self._seen()
        self._value = make()

    def __call__(self) -> TlsSide:
        """The current value."""
        with self._lock:
            if (stamp := self._seen()) != self._stamp:
                self._value, self._stamp = self._make(), stamp
            return self._value

    def _seen(self) -> tuple[tuple[str, int, int], ...]:
        paths = [self._folder / CERTIFICATE, *sorted((self._folder / _TRUSTED).glob("*.json"))]
        states = [(path.name, path.stat()) for path in paths]
        return tuple((name, state.st_mtime_ns, state.st_ino) for name, state in states)


def _cards(federation: FederationList) -> tuple[Card, ...]:
    return (federation.curator, *federation.parties)
