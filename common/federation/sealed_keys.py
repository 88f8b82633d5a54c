"""Secrets of a folder of keys, as they are or encrypted under a passphrase."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from ..bounded import json_of
from ..errors import DataError
from ..processes.locks import exclusive
from .private_files import check_mode, read_private, write_private

IDENTITY, TLS_KEY = "identity.key", "tls.key"
"""The secrets of a folder."""
WRAPPED = "passphrase.json"
"""The key of their encryption, itself encrypted under the passphrase; only there if they are encrypted."""
KEY_FILE = "DPMOSAIC_KEY_FILE"
"""Variable of the environment that names the file of the passphrase."""
CREDENTIAL = "dpmosaic-key"
"""Name of the passphrase as a credential of systemd."""

_FORMAT = "dpmosaic keys 1"
_SEALED = b"dpmosaic sealed 1\n"
_NONCE_BYTES, _SALT_BYTES, _KEY_BYTES = 12, 16, 32
_SCRYPT = {"n": 1 << 17, "r": 8, "p": 1}
"""Some 0.4 s and 128 MiB for one guess of a passphrase."""
_LEAST_CHARACTERS = 12


def read_secret(folder: Path, name: str) -> bytes:
    """A secret of a folder; asks for the passphrase once in a process if it is encrypted.

    Raises:
        DataError: the file is missing, damaged or can be read by others, or the passphrase is not the one.
    """
    content = read_private(folder / name)
    if not content.startswith(_SEALED):
        return content
    key, sealed = _key(folder), content.removeprefix(_SEALED)
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], name.encode())
    except (InvalidTag, ValueError):
        raise DataError(f"{folder / name} is damaged; restore it from a backup") from None


def write_secret(folder: Path, name: str, content: bytes) -> None:
    """Replaces a secret, encrypted if those of the folder are; complete or not at all.

    Raises:
        DataError: the passphrase is not the one, or the folder is being encrypted or decrypted.
    """
    with _alone(folder):
        if is_encrypted(folder):
            content = _seal(_key(folder), name, content)
        write_private(folder / name, content)


def encrypt(folder: Path, passphrase: bytes) -> None:
    """Encrypts the secrets of a folder, or changes their passphrase; a killed run leaves all readable.

    What was encrypted stays so under the same key, which alone is encrypted anew. Another run completes one
    that was killed.

    Args:
        folder: folder of the keys.
        passphrase: the new one.

    Raises:
        DataError: it is short, the former one is not the one, or another such command runs.
    """
    if len(passphrase) < _LEAST_CHARACTERS:
        raise DataError(
            f"expected a passphrase of at least {_LEAST_CHARACTERS} characters, got a shorter one"
        )
    with _alone(folder):
        key = _key(folder) if is_encrypted(folder) else os.urandom(_KEY_BYTES)
        write_private(folder / WRAPPED, _wrap(key, passphrase))
        for name in (IDENTITY, TLS_KEY):
            content = read_private(folder / name)
            if not content.startswith(_SEALED):
                write_private(folder / name, _seal(key, name, content))


def decrypt(folder: Path) -> None:
    """Writes the secrets of a folder as they are; a killed run leaves all readable.

    Raises:
        DataError: they are not encrypted, the passphrase is not the one, or another such command runs.
    """
    with _alone(folder):
        if not is_encrypted(folder):
            raise DataError(f"the keys in {folder} are not encrypted; there is nothing to decrypt")
        for name in (IDENTITY, TLS_KEY):
            write_private(folder / name, read_secret(folder, name))
        (folder / WRAPPED).unlink()


def is_encrypted(folder: Path) -> bool:
    """Whether the secrets of a folder are encrypted."""
    return (folder / WRAPPED).exists()


def new_passphrase(file: Path | None) -> bytes:
    """A new passphrase.

    Args:
        file: file of it, which others cannot read; None to ask for it.

    Raises:
        DataError: the file is not such a one, or nobody can be asked.
    """
    if file is not None:
        return _of_file(file)
    if not sys.stdin.isatty():
        raise DataError("expected --new-key-file FILE, since no terminal is there to ask for a passphrase")
    return _ask("New passphrase", confirm=True)


def _alone(folder: Path) -> AbstractContextManager[None]:
    return exclusive(
        folder.parent / "encrypting.lock", f"another command encrypts or decrypts {folder}; wait for it"
    )


def _key(folder: Path) -> bytes:
    """The key of the secrets of a folder."""
    return _unwrap(read_private(folder / WRAPPED), folder, _passphrase)


@functools.lru_cache(maxsize=8)
def _unwrap(wrapped: bytes, folder: Path, passphrase: Callable[[Path], bytes]) -> bytes:
    """The key in a file of `WRAPPED`; once opened, a process asks for it no more."""
    try:
        form = json_of(wrapped)
        if (form["format"], form["scrypt"]) != (_FORMAT, _SCRYPT):
            raise ValueError("another format")
        salt, nonce, sealed = (bytes.fromhex(form[name]) for name in ("salt", "nonce", "key"))
    except (ValueError, TypeError, KeyError):
        raise DataError(f"{folder / WRAPPED} is damaged, or of later software; restore it") from None
    given = passphrase(folder)
    try:
        return AESGCM(_key_of_passphrase(given, salt)).decrypt(nonce, sealed, _FORMAT.encode())
    except (InvalidTag, ValueError):
        raise DataError(
            f"the passphrase does not open the keys in {folder}; expected the one of the last `encrypt`: "
            f"check the file that {KEY_FILE} names, or the credential {CREDENTIAL}"
        ) from None


def _wrap(key: bytes, passphrase: bytes) -> bytes:
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
    sealed = AESGCM(_key_of_passphrase(passphrase, salt)).encrypt(nonce, key, _FORMAT.encode())
    form = {
        "format": _FORMAT,
        "scrypt": _SCRYPT,
        "salt": salt.hex(),
        "nonce": nonce.hex(),
        "key": sealed.hex(),
    }
    return json.dumps(form, indent=2).encode()


def _seal(key: bytes, name: str, content: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return _SEALED + nonce + AESGCM(key).encrypt(nonce, content, name.encode())


def _key_of_passphrase(passphrase: bytes, salt: bytes) -> bytes:
    """The key of a passphrase. Source: RFC 7914."""
    return Scrypt(salt=salt, length=_KEY_BYTES, **_SCRYPT).derive(passphrase)


def _passphrase(folder: Path) -> bytes:
    """From the file that the environment names, a credential of systemd, or whoever sits at the terminal."""
    if named := os.environ.get(KEY_FILE):
        return _of_file(Path(named))
    credentials = os.environ.get("CREDENTIALS_DIRECTORY")
    if credentials and (Path(credentials) / CREDENTIAL).exists():
        return _of_file(Path(credentials) / CREDENTIAL)
    if sys.stdin.isatty():
        return _ask(f"Passphrase of the keys in {folder}", confirm=False)
    raise DataError(
        f"the keys in {folder} are encrypted: expected their passphrase in the file that {KEY_FILE} names, "
        f"in the credential {CREDENTIAL} of systemd, or typed in a terminal"
    )


def _of_file(path: Path) -> bytes:
    """The first line of a file; a group may read it, as secret stores have it."""
    try:
        check_mode(path, path.stat(), 0o027, "read or change")
        first, *rest = path.read_bytes().split(b"\n")
    except OSError as cause:
        raise DataError(
            f"cannot read the passphrase in {path}: {cause.strerror}; name another file"
        ) from cause
    if any(rest):
        raise DataError(f"expected a passphrase of one line in {path}, got several; use one line of text")
    return first.removesuffix(b"\r")


def _ask(words: str, *, confirm: bool) -> bytes:
    from ..showing.telling import ask_secret

    return ask_secret(words, confirm=confirm).encode()
