"""Keys of a party or curator, in files that only their owner can read."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..bounded import json_of
from ..crypto.certificates import Certificate, check_name, new_tls_key, self_signed, signing_request
from ..crypto.identity import Identity
from ..errors import DataError
from .handover import Handover, read_handovers, up_to
from .private_files import read_private, write_private
from .sealed_keys import IDENTITY, TLS_KEY, read_secret, write_secret

FOLDER = "identity"
HOME_FORMAT = 1
"""Number of the layout of a folder of a party, dealer or curator."""

_FORMAT = "format"
_NAME = "name"
CERTIFICATE, REQUEST, HANDOVERS = "tls.crt", "tls.csr", "handovers.json"


@dataclass(frozen=True)
class Keyring:
    """Name, identity and TLS key of one institution.

    Attributes:
        folder: folder of the files.
        name: name in the federation.
        identity: long-term key.
        tls_key: private TLS key, PEM.
    """

    folder: Path
    name: str
    identity: Identity
    tls_key: bytes

    @classmethod
    def create(cls, home: Path, name: str, *, request: bool = False) -> Keyring:
        """Creates keys, and a certificate or a certificate signing request.

        Args:
            home: folder of the institution; created if missing.
            name: name of the party or curator.
            request: create a signing request for the institution's own authority, no certificate.

        Raises:
            DataError: keys exist already, the name is invalid, or the folder cannot be written.
        """
        check_name(name)
        folder = home / FOLDER
        if folder.exists():
            raise DataError(f"{home} contains keys already; choose another folder, or keep these keys")
        seed, tls_key = os.urandom(32), new_tls_key()
        files = {_NAME: name.encode(), IDENTITY: seed.hex().encode(), TLS_KEY: tls_key}
        if request:
            files[REQUEST] = signing_request(name, tls_key)
        else:
            files[CERTIFICATE] = self_signed(name, tls_key, datetime.now(UTC)).pem
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700)
            write_private(home / _FORMAT, str(HOME_FORMAT).encode())
            for file, content in files.items():
                write_private(folder / file, content)
        except OSError as cause:
            raise DataError(f"cannot write into {home}: {cause.strerror}; choose another folder") from cause
        return cls.load(home)

    @classmethod
    def load(cls, home: Path) -> Keyring:
        """Reads the keys.

        Raises:
            DataError: a file is missing or damaged, or a later version of the software made the folder.
        """
        folder = home / FOLDER
        name = check_name(read_private(folder / _NAME).decode(errors="replace").strip())
        _check_format(home / _FORMAT)
        try:
            identity = Identity.from_seed(bytes.fromhex(read_secret(folder, IDENTITY).decode().strip()))
        except ValueError:
            raise DataError(f"{folder / IDENTITY} is damaged; restore it from a backup") from None
        return cls(folder, name, identity, read_secret(folder, TLS_KEY))

    @property
    def handovers(self) -> tuple[Handover, ...]:
        """How the identity followed from earlier ones.

        Raises:
            DataError: the file is damaged.
        """
        path = self.folder / HANDOVERS
        try:
            known = read_handovers(json_of(read_private(path))) if path.exists() else ()
        except (ValueError, DataError) as cause:
            raise DataError(f"{path} is damaged; restore it from a backup") from cause
        return up_to(known, self.identity.public)

    @property
    def identities(self) -> tuple[bytes, ...]:
        """The public keys by which the owner signed so far, the current one last."""
        return (*(handover.former for handover in self.handovers), self.identity.public)

    def rotate(self, role: str, *, recounted: bool) -> Keyring:
        """Replaces the identity by a fresh one, to which the former key hands over; complete or not at all.

        Args:
            role: role of the owner.
            recounted: see `Handover.recounted`.
        """
        seed = os.urandom(32)
        public = Identity.from_seed(seed).public
        handover = Handover.issue(role, self.name, self.identity, public, recounted=recounted)
        known = [one.to_json() for one in (*self.handovers, handover)]
        write_private(self.folder / HANDOVERS, json.dumps(known, indent=2).encode())
        # From here on the hand-over leads to the identity in the folder.
        write_secret(self.folder, IDENTITY, seed.hex().encode())
        return Keyring.load(self.folder.parent)

    def renew(self, now: datetime) -> Certificate:
        """Writes a new self-signed certificate of the same TLS key.

        Args:
            now: current time.

        Raises:
            DataError: the certificate is from an authority, which has to issue the next one too.
        """
        if not self.certificate.is_self_signed:
            raise DataError(
                f"expected a self-signed certificate, found one of an authority; let it sign {REQUEST} "
                f"again, and put the result at {self.folder / CERTIFICATE}"
            )
        certificate = self_signed(self.name, self.tls_key, now)
        write_private(self.folder / CERTIFICATE, certificate.pem)
        return certificate

    @property
    def certificate(self) -> Certificate:
        """The certificate, read from the folder now.

        Raises:
            DataError: there is none, or it belongs to another key.
        """
        path = self.folder / CERTIFICATE
        if not path.exists():
            raise DataError(
                f"{path} is missing; let the institution's authority sign {REQUEST} and put the result there"
            )
        certificate = Certificate(path.read_bytes())
        if not certificate.is_of(self.tls_key):
            raise DataError(f"{path} does not belong to {TLS_KEY}; use a certificate and key of one pair")
        return certificate


def _check_format(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""
    if text != str(HOME_FORMAT):
        raise DataError(
            f"expected a folder of format {HOME_FORMAT}, found format {text[:20]!r} in {path}; install the "
            "version of the software that wrote it, or restore the file"
        )
