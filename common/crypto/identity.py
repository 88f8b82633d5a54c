"""Long-term identities, by which parties authenticate messages that the curator relays."""

from __future__ import annotations

import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ..errors import ProtocolError
from .agreement import EphemeralKey

PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64
_PREFIX = b"dpmosaic signature 1"

_FIELD = 2**255 - 19
_ORDER_8_Y = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
_SMALL_ORDER_Y = frozenset({0, 1, _FIELD - 1, _ORDER_8_Y, _FIELD - _ORDER_8_Y})


class Identity:
    """A party's or a curator's long-term Ed25519 key pair.

    Source: RFC 8032, section 5.1.
    """

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def generate(cls) -> Identity:
        """A new identity from the operating system's random generator."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> Identity:
        """The identity of a seed of 32 bytes, from a key file or derived by a simulation.

        Raises:
            ValueError: the seed does not have 32 bytes.
        """
        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes, which others pin."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, purpose: str, message: bytes) -> bytes:
        """A deterministic signature of 64 bytes, valid only for this purpose."""
        return self._key.sign(_signed_bytes(purpose, message))

    def agreement_key(self) -> EphemeralKey:
        """The X25519 key pair of the same secret, with which the owner opens what was sealed for it.

        Source: RFC 8032, section 5.1.5 (the scalar); RFC 7748, section 4.1 (the two curves are the same).
        """
        return EphemeralKey.from_seed(hashlib.sha512(self._key.private_bytes_raw()).digest()[:32])

    def __repr__(self) -> str:
        return "Identity(<key not shown>)"


def agreement_public(public: bytes) -> bytes:
    """The public key of `Identity.agreement_key`, from the public key of the identity.

    Source: RFC 7748, section 4.1: u = (1 + y) / (1 - y).
    Assumes (not enforced): `public` was pinned before.
    """
    y = int.from_bytes(public, "little") & (2**255 - 1)
    return ((1 + y) * pow(1 - y, _FIELD - 2, _FIELD) % _FIELD).to_bytes(PUBLIC_BYTES, "little")


def verify(public: bytes, purpose: str, message: bytes, signature: bytes) -> None:
    """Returns only if the owner of `public` signed this message for this purpose.

    A public key of small order is refused, such as the 32 zeros of an empty field: signatures under it can be
    forged.

    Source: RFC 8032, section 5.1.7.
    Assumes (not enforced): `public` was pinned before, and not taken from the message.

    Raises:
        ProtocolError: the signature does not verify, or the key or the signature is malformed.
    """
    if len(public) != PUBLIC_BYTES or _has_small_order(public):
        raise ProtocolError(
            f"the pinned public key is not a valid Ed25519 key: expected {PUBLIC_BYTES} bytes of a key pair, "
            f"got {len(public)} bytes that no key pair has; ask its owner for the key and pin that"
        )
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, _signed_bytes(purpose, message))
    except (InvalidSignature, ValueError) as cause:
        raise ProtocolError(
            f"a signature for {purpose!r} does not verify: expected {SIGNATURE_BYTES} bytes signed with the "
            f"pinned key for this message, got {len(signature)} bytes that are not; compare the pinned key "
            f"with its owner's, and if they are equal, do not trust the relay of the message"
        ) from cause


def _signed_bytes(purpose: str, message: bytes) -> bytes:
    """The signed bytes; the purpose comes with its length, which separates it from the message."""
    label = purpose.encode()
    return _PREFIX + len(label).to_bytes(4, "big") + label + message


def _has_small_order(public: bytes) -> bool:
    y = int.from_bytes(public, "little") & (2**255 - 1)
    return y % _FIELD in _SMALL_ORDER_Y
