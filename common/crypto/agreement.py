"""Keys shared by two parties; the curator, which relays the public keys, does not learn them."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ..errors import ProtocolError

PUBLIC_BYTES = 32
PAIR_KEY_BYTES = 32
_PREFIX = b"dpmosaic pair key 1"
_FIELD = 2**255 - 19


class EphemeralKey:
    """One party's X25519 key pair for one release.

    Source: RFC 7748, sections 5 and 6.1.
    """

    def __init__(self, key: X25519PrivateKey) -> None:
        self._key = key

    @classmethod
    def from_seed(cls, seed: bytes) -> EphemeralKey:
        """The key pair of a seed of 32 bytes, uniform and used for one release only.

        Raises:
            ValueError: the seed does not have 32 bytes.
        """
        return cls(X25519PrivateKey.from_private_bytes(seed))

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes, which the party signs and sends."""
        return self._key.public_key().public_bytes_raw()

    def pair_key(self, peer_public: bytes, context: bytes) -> bytes:
        """The 32-byte key of this pair of parties in a context; both sides derive the same key.

        It is HKDF-SHA256 of the shared secret. The info contains the context and both public keys, the
        smaller first, each with its length, so a public key altered in transit changes the key.

        Source: RFC 5869; RFC 7748, sections 6.1 and 7 (public keys enter the derivation; zero is refused).
        Assumes (not enforced): the peer's signature under `peer_public` has been verified.

        Raises:
            ProtocolError: `peer_public` is malformed, of low order, or this party's own.
        """
        own_public = self.public
        if peer_public == own_public:
            raise ProtocolError(
                "expected another party's public key for this release, got this party's own; "
                "give each party its own key and do not trust the relay of this one"
            )
        try:
            secret = self._key.exchange(_point(peer_public))
        except ValueError as cause:
            raise ProtocolError(
                f"the other party's public key for this release is not a valid X25519 key: expected "
                f"{PUBLIC_BYTES} bytes of a key pair, got {len(peer_public)} bytes that no key pair has; "
                f"ask that party for a new key"
            ) from cause
        fields = (context, *sorted((own_public, peer_public)))
        info = _PREFIX + b"".join(len(field).to_bytes(4, "big") + field for field in fields)
        return HKDF(SHA256(), PAIR_KEY_BYTES, salt=None, info=info).derive(secret)

    def __repr__(self) -> str:
        return "EphemeralKey(<key not shown>)"


def _point(public: bytes) -> X25519PublicKey:
    # X25519 maps several strings to one point; only canonical ones are accepted, so keys compare as bytes.
    if int.from_bytes(public, "little") >= _FIELD:
        raise ValueError("the coordinate is not reduced modulo the field's prime")
    return X25519PublicKey.from_public_bytes(public)
