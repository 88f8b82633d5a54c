"""The folder of a daemon of any role: its keys, its pinned federations, its policy, its ledger."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ...common.crypto.certificates import check_name
from ...common.errors import DataError, PolicyError
from ...common.federation.card import (
    CURATOR,
    PARTY,
    Card,
    FederationList,
    as_text,
    check_name_of_role,
    read_json,
)
from ...common.federation.keyring import CERTIFICATE, Keyring
from ...common.federation.private_files import check_database, check_protected, private_file, write_private
from ...common.processes.locks import check_posix, exclusive, lock
from ..accounts.file_format import create_database
from ..names import LEDGER as LEDGER
from ..names import SHAREABLE_LOG as SHAREABLE_LOG
from ..names import check_role

if TYPE_CHECKING:
    import grpc

    from ...common.data.domain import Domain
    from ...common.processes.notices import Notify
    from ...common.wire.tls import TlsSide
    from ..accounts.ledger import Ledger
    from ..institution.role import Role
    from ..policies.direct import Direct
    from ..policies.serve import Serve

_TRUSTED = "trusted"
_WHO = "parties and dealers"

Condition = Callable[[], Collection[str]]
"""The things for which a condition holds now, such as releases that wait; empty if there are none."""


@dataclass(frozen=True)
class Opened:
    """What a daemon serves, from its files as they are when it starts.

    Attributes:
        role: answers the curator's calls.
        ledger: its ledger.
        listen: host and port, as the policy names them.
        metrics: host and port for Prometheus; None for no metrics.
        lifetime: upper limit of the budget of all releases, zCDP; None if nothing is charged.
        checks: name -> check, which raises if the daemon cannot answer.
        proxy: URL of the proxy through which it dials a curator; None for none.
        notify: how its operator is told of events; None for not at all.
        watched: event -> condition of the role, of which its operator is told.
        direct: openings from party to party without the curator.
        authorities: PEM file of the authorities of a mailbox's certificate; None for those of the machine.
    """

    role: Role[Any]
    ledger: Ledger
    listen: str
    metrics: str | None
    lifetime: Fraction | None
    checks: dict[str, Callable[[], None]]
    proxy: str | None = None
    notify: Notify | None = None
    watched: dict[str, Condition] = field(default_factory=dict)
    direct: Direct | None = None
    authorities: Path | None = None


@dataclass(frozen=True)
class Home(ABC):
    """The folder of one daemon.

    Attributes:
        folder: folder created by `create`.
        keyring: keys of its owner.
    """

    folder: Path
    keyring: Keyring

    role: ClassVar[str]
    """The role that its card names."""

    policy_name: ClassVar[str]
    """Name of the policy's file."""

    policy_template: ClassVar[str]
    """A policy that allows nothing."""

    databases: ClassVar[tuple[str, ...]] = (LEDGER,)
    """Names of the SQLite files that only their owner can read."""

    @classmethod
    def create(cls, folder: Path, name: str, *, request: bool = False) -> Self:
        """Creates keys, a ledger and a policy that allows nothing; a ledger that is there already is kept.

        Raises:
            DataError: there are keys already, the name is invalid, the folder cannot be written, or the
                system is not POSIX.
        """
        check_posix(_WHO)
        keyring = Keyring.create(folder, check_name_of_role(name, cls.role), request=request)
        (keyring.folder / _TRUSTED).mkdir(mode=0o700)
        if not (folder / LEDGER).exists():
            create_database(folder / LEDGER)
        if not (folder / cls.policy_name).exists():
            write_private(folder / cls.policy_name, cls.policy_template.encode())
        return cls(folder, keyring)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Opens a folder created by `create`.

        Raises:
            DataError: it is not such a folder, or is that of another role, or the system is not POSIX.
        """
        check_posix(_WHO)
        keyring = Keyring.load(folder)
        check_role(folder, cls.role, cls.policy_name)
        return cls(folder, keyring)

    @abstractmethod
    def open_role(self) -> AbstractContextManager[Opened]:
        """What the daemon serves; closes its files at the end.

        Raises:
            DataError: a file is missing or does not hold together.
        """

    @abstractmethod
    def serve(self) -> Serve:
        """How the daemon is reached, as the policy says.

        Raises:
            DataError: the policy is missing or does not hold together.
        """

    def domain(self) -> Domain | None:
        """The attributes on the card; none by default."""
        return None

    def check_files(self) -> None:
        """Refuses to start if other users can read the owner's secrets, or change what the daemon relies on.

        Raises:
            DataError: they can, or a file is missing; names the file, its mode and the command that repairs
                it.
        """
        keys = self.keyring.folder
        for database in self.databases:
            check_database(self.folder / database)
        for path in (keys, keys / _TRUSTED, *(keys / _TRUSTED).glob("*.json"), keys / CERTIFICATE):
            check_protected(path)
        for path in (self.folder, self.folder / self.policy_name):
            check_protected(path)

    def check_certificate(self) -> None:
        """Returns only while the certificate is valid."""
        self.keyring.certificate.check_valid()

    def file(self, name: str) -> Path:
        """The path of a file of the folder that only its owner can read."""
        return private_file(self.folder / name)

    def card(self) -> Card:
        """The owner's card, signed."""
        keys = self.keyring
        return Card.issue(
            self.role, keys.name, keys.identity, keys.certificate, self.domain(), keys.handovers
        )

    def federations(self) -> list[FederationList]:
        """The federations whose cards are pinned."""
        return [FederationList.from_json(form) for form in self._pinned_forms()]

    def curators(self) -> list[Card]:
        """The pinned curators."""
        return [FederationList.curator_of(form) for form in self._pinned_forms()]

    def cards(self) -> dict[str, Card]:
        """The pinned cards of parties, by name."""
        return {card.name: card for card in self._latest().values() if card.role == PARTY}

    def pinned_identities(self) -> dict[str, bytes]:
        """Names and identities of the pinned parties and dealers."""
        return {card.name: card.identity for card in self._latest().values() if card.role != CURATOR}

    def trust(self, federation: FederationList) -> None:
        """Pins a curator, its parties and its dealers; new cards of known identities replace old ones.

        Raises:
            PolicyError: a name is pinned with another identity, or the owner is not in the federation.
        """
        own = (self.role, self.keyring.name, self.keyring.identity.public)
        if own not in [(card.role, card.name, card.identity) for card in federation.members]:
            raise PolicyError(
                f"the federation does not contain {self.role} {self.keyring.name!r} with its identity; send "
                f"the {self.role}'s card to the curator"
            )
        earlier = self._latest()
        for card in federation.members:
            if card.name in earlier and not card.follows(earlier[card.name].identity):
                raise PolicyError(
                    f"{card.name!r} is pinned with another identity; if its owner confirms the new one, "
                    "remove the old one by --revoke first"
                )
        write_private(self._pinned_at(federation.curator.name), as_text(federation.to_json()).encode())

    def rotate(self, ledger: Ledger) -> Self:
        """Replaces the identity by a fresh one, to which the former one hands over.

        Args:
            ledger: its ledger.

        Raises:
            DataError: the daemon is running, a release is open, or the ledger was restored and is held.
        """
        with self.claim():
            if ledger.open_releases():
                raise DataError(
                    "releases are open, whose messages the new identity could not sign; let their curators "
                    f"finish or abandon them, or run dpmosaic {self.role} abandon"
                )
            if ledger.is_held():
                raise DataError(
                    f"the ledger was restored from a backup; run dpmosaic {self.role} recount before the "
                    "identity is replaced"
                )
            keyring = self.keyring.rotate(self.role, recounted=ledger.was_recounted())
            ledger.handed_over()
            return replace(self, keyring=keyring)

    def revoke(self, curator: str) -> None:
        """Removes a pinned curator and its federation; further calls of it are refused.

        Raises:
            DataError: it is not pinned.
        """
        if not self._pinned_at(curator).exists():
            raise DataError(
                f"no curator {curator!r} is pinned; see the folder {self.keyring.folder / _TRUSTED}"
            )
        self._pinned_at(curator).unlink()

    def curator(self, name: str | None) -> Card:
        """A pinned curator.

        Args:
            name: name of the curator; None if only one is pinned.

        Raises:
            DataError: it is not pinned, or `name` is None and none or several are pinned.
        """
        curators = {curator.name: curator for curator in self.curators()}
        found = list(curators.values()) if name is None else [c for n, c in curators.items() if n == name]
        if len(found) != 1:
            raise DataError(
                f"expected one pinned curator to attach to, found {len(found)}; pinned: "
                f"{', '.join(curators) or 'none'}; run dpmosaic {self.role} trust, or name one by --curator"
            )
        return found[0]

    def channel_to(self, name: str | None, address: str, proxy: str | None = None) -> grpc.Channel:
        """A channel to a pinned curator, from the current files; for `proxy` see `secure_channel`."""
        from ...common.wire.tls import secure_channel

        return secure_channel(address, self.side(), self.curator(name).certificate, proxy)

    def certificate_files(self) -> list[Path]:
        """The files from which `side` is made."""
        return [self.keyring.folder / CERTIFICATE, *sorted((self.keyring.folder / _TRUSTED).glob("*.json"))]

    def side(self) -> TlsSide:
        """The owner's side of TLS connections, from the current files."""
        from ...common.wire.tls import TlsSide

        curators = self.curators()
        return TlsSide(
            self.keyring.tls_key,
            self.keyring.certificate,
            tuple(curator.certificate for curator in curators),
            {curator.certificate.fingerprint: curator.identity for curator in curators},
        )

    @contextlib.contextmanager
    def claim(self) -> Iterator[None]:
        """Locks the folder against a second daemon.

        Raises:
            DataError: a daemon is running.
        """
        refusal = f"a {self.role} is already served from {self.folder}; stop it first"
        with exclusive(self.folder / "serve.lock", refusal):
            yield

    def _latest(self) -> dict[str, Card]:
        """The pinned card of each name; of several, the one with the identity that follows the others."""
        found: dict[str, Card] = {}
        for known in self.federations():
            for card in known.members:
                if card.name not in found or card.follows(found[card.name].identity):
                    found[card.name] = card
        return found

    def is_served(self) -> bool:
        """Whether a daemon has locked the folder."""
        try:
            file = (self.folder / "serve.lock").open("rb")
        except OSError:
            return False
        with file:
            try:
                return not lock(file.fileno(), shared=True, wait=False)
            except OSError:
                return True

    def _pinned_forms(self) -> list[object]:
        """The files of pinned federations."""
        return [read_json(path) for path in sorted((self.keyring.folder / _TRUSTED).glob("*.json"))]

    def _pinned_at(self, curator: str) -> Path:
        return self.keyring.folder / _TRUSTED / f"{check_name(curator)}.json"
