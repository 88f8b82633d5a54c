"""The keys of a party or curator, in files that only their owner may read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from .crypto.certificates import Certificate, check_name, new_tls_key, self_signed, signing_request
from .crypto.identity import Identity
from .errors import DataError

FOLDER = "identity"
_NAME, _IDENTITY, _TLS_KEY = "name", "identity.key", "tls.key"
CERTIFICATE, REQUEST = "tls.crt", "tls.csr"


@dataclass(frozen=True)
class Keyring:
    """Name, identity and TLS key of one institution.

    Attributes:
        folder: of the files.
        name: as the federation knows it.
        identity: its long-term key.
        tls_key: its TLS key, PEM.
    """

    folder: Path
    name: str
    identity: Identity
    tls_key: bytes

    @classmethod
    def create(cls, home: Path, name: str, *, request: bool = False) -> Keyring:
        """Makes new keys, and a certificate or a request for one.

        Args:
            home: the institution's folder; made where it is not there.
            name: of the party or curator.
            request: leave the certificate to the institution's own authority.

        Raises:
            DataError: there are keys already, the name does not fit, or the folder cannot be written.
        """
        check_name(name)
        folder = home / FOLDER
        if folder.exists():
            raise DataError(f"{home} holds keys already; choose another folder, or keep what is there")
        seed, tls_key = os.urandom(32), new_tls_key()
        files = {_NAME: name.encode(), _IDENTITY: seed.hex().encode(), _TLS_KEY: tls_key}
        if request:
            files[REQUEST] = signing_request(name, tls_key)
        else:
            files[CERTIFICATE] = self_signed(name, tls_key, datetime.now(UTC)).pem
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700)
            for file, content in files.items():
                write_private(folder / file, content)
        except OSError as cause:
            raise DataError(f"cannot write into {home}: {cause.strerror}; choose another folder") from cause
        return cls.load(home)

    @classmethod
    def load(cls, home: Path) -> Keyring:
        """Reads the keys.

        Raises:
            DataError: a file is missing or damaged.
        """
        folder = home / FOLDER
        name = check_name(read_private(folder / _NAME).decode(errors="replace").strip())
        try:
            identity = Identity.from_seed(bytes.fromhex(read_private(folder / _IDENTITY).decode().strip()))
        except ValueError:
            raise DataError(f"{folder / _IDENTITY} is damaged; take it from the backup") from None
        return cls(folder, name, identity, read_private(folder / _TLS_KEY))

    @property
    def certificate(self) -> Certificate:
        """Its certificate as it now lies in the folder.

        Raises:
            DataError: there is none, or that of another key.
        """
        path = self.folder / CERTIFICATE
        if not path.exists():
            raise DataError(
                f"{path} is missing; let the institution's authority sign {REQUEST} and put the result there"
            )
        certificate = Certificate(path.read_bytes())
        if not certificate.is_of(self.tls_key):
            raise DataError(f"{path} is not a certificate of {_TLS_KEY}; put both from one pair in place")
        return certificate


def write_private(path: Path, content: bytes) -> None:
    """Writes a file that only its owner may read, whole or not at all."""
    draft = path.with_name(path.name + ".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def private_file(path: Path) -> Path:
    """A path whose file only its owner may read; an empty one is made where there is none."""
    path.touch(mode=0o600)
    return path


def read_private(path: Path) -> bytes:
    """The content of a file that ought to be there.

    Raises:
        DataError: it is not, or others may read or write it.
    """
    try:
        if path.stat().st_mode & 0o077:
            raise DataError(f"others may read {path}; take their rights away: chmod 600 {path}")
        return path.read_bytes()
    except OSError as cause:
        raise DataError(f"cannot read {path}: {cause.strerror}; run init, or fix the path") from cause
