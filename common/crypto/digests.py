"""Digests of contents; keyed ones compare a content without showing it to who relays them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

DIGEST_BYTES = 32
_PREFIX = b"dpmosaic keyed digest 1"


def content_digest(pieces: Iterable[bytes | memoryview]) -> str:
    """SHA-256 of a content in pieces of any size, as hexadecimal digits."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def keyed_digest(key: bytes, context: bytes, content: bytes) -> bytes:
    """HMAC-SHA256 of a content under a key derived from `key` and `context`.

    Source: RFC 2104; RFC 5869.
    Guarantee: who does not have the key learns nothing about the content but whether it is sent again.

    Args:
        key: 32 bytes shared by the two parties.
        context: description of content, sender and receiver; not secret.
        content: what is compared.
    """
    derived = HKDF(SHA256(), DIGEST_BYTES, salt=None, info=_PREFIX + context).derive(key)
    return hmac.digest(derived, content, "sha256")
