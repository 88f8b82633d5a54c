"""Tokens under keys of which every party has one: without all of them nobody can try identifiers.

A party maps its tokens to points of a group, multiplies them by its secret scalar and passes them on; the
other parties multiply them by theirs, in the same order of points. The last hashes the points to tokens for
the matcher. Equal tokens end as equal tokens, whatever the order of the parties.

Source: Meadows, "A more efficient cryptographic matchmaking protocol" (1986); Huberman, Franklin, Hogg,
"Enhancing privacy and trust in electronic communities" (1999). The group is the subgroup of prime order of
edwards25519. As in RFC 9380, a token is mapped by Elligator 2 from two halves of a hash, which are added, so
that the map behaves like a random oracle; the deterministic encoding is libsodium's.

Assumes (not enforced): the decisional Diffie-Hellman assumption in that group.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from ...errors import ProtocolError
from ...extras import require_extra
from .dummies import TOKEN_WORDS

POINT_BYTES = 32
_POINTS_AT_ONCE = 1 << 12
_POINT, _SCALAR, _TOKEN = b"dpmosaic point", b"dpmosaic scalar", b"dpmosaic point token"


def secret_scalar(secret: bytes) -> bytes:
    """A scalar other than zero, 32 bytes, uniform up to a distance below 2^-250; the same for equal secrets.

    Args:
        secret: at least 32 secret bytes, for one alignment only.
    """
    require_extra("ddh")
    from nacl.bindings import crypto_core_ed25519_scalar_reduce

    return crypto_core_ed25519_scalar_reduce(hashlib.sha512(_SCALAR + secret).digest())


def hash_to_group(tokens: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Run by a party: a point for each token, whose logarithm to another point nobody knows.

    Args:
        tokens: shape (..., 2).

    Returns:
        Shape (..., 32), uint8.
    """
    require_extra("ddh")
    from nacl.bindings import crypto_core_ed25519_add, crypto_core_ed25519_from_uniform

    def point(token: bytes) -> bytes:
        digest = hashlib.sha512(_POINT + token).digest()
        halves = (crypto_core_ed25519_from_uniform(half) for half in (digest[:32], digest[32:]))
        return crypto_core_ed25519_add(*halves)

    return _each(point, tokens.view(np.uint8), POINT_BYTES)


def raise_to(points: NDArray[np.uint8], scalar: bytes) -> NDArray[np.uint8]:
    """Run by every party: each point multiplied by the party's scalar.

    Args:
        points: shape (..., 32); from this party, or from another one.
        scalar: from `secret_scalar`.

    Returns:
        Same shape.

    Raises:
        ProtocolError: bytes are not the only encoding of a point of the subgroup, or are the neutral point.
    """
    require_extra("ddh")
    from nacl.bindings import crypto_scalarmult_ed25519_noclamp
    from nacl.exceptions import RuntimeError as Refused

    def multiple(point: bytes) -> bytes:
        try:
            # It refuses points that are not canonical, not on the curve or not in the subgroup.
            return crypto_scalarmult_ed25519_noclamp(scalar, point)
        except Refused as cause:
            raise ProtocolError(
                "points of another party: expected points of the group of prime order, got others; "
                "start a new alignment, and ask that party for its version"
            ) from cause

    return _each(multiple, points, POINT_BYTES)


def group_tokens(points: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Run by the last party: the token of each point that all parties have multiplied.

    Args:
        points: shape (..., 32).

    Returns:
        Shape (..., 2), uint64.
    """
    size = 8 * TOKEN_WORDS
    tokens = _each(lambda point: hashlib.sha256(_TOKEN + point).digest()[:size], points, size)
    return tokens.view("<u8").astype(np.uint64, copy=False)


def _each(step: Callable[[bytes], bytes], items: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """A step on every item along the last axis, on all cores: libsodium runs without Python's lock."""
    flat = items.reshape(-1, items.shape[-1])
    results = np.empty((len(flat), size), dtype=np.uint8)

    def block(start: int) -> None:
        done = b"".join(step(item.tobytes()) for item in flat[start : start + _POINTS_AT_ONCE])
        results[start : start + _POINTS_AT_ONCE] = np.frombuffer(done, dtype=np.uint8).reshape(-1, size)

    with ThreadPoolExecutor(thread_name_prefix="points") as threads:
        for _ in threads.map(block, range(0, len(flat), _POINTS_AT_ONCE)):
            pass
    return results.reshape(*items.shape[:-1], size)
