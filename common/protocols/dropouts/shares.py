"""Keys of which all parties but those that may drop out hold shares, without a message between parties.

Shamir's shares of a key lie on a polynomial whose value at 0 is the key. Here the share of each other party
follows from the key that it has in common with the owner, so that nobody has to send it. The key and n - 1
such shares determine a polynomial of degree n - 1. The owner publishes its values at d further places: with
them, n - d shares restore the key, and fewer say nothing about it.

Source: Shamir, "How to share a secret" (1979); Bonawitz et al., "Practical secure aggregation for
privacy-preserving machine learning" (2017), which shares the keys of masks in this way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from ...crypto.randomness import KEY_BYTES, RandomStream
from ...errors import ProtocolError

PRIME = 2**521 - 1
"""Order of the field of the shares."""

SHARE_BYTES = 66
_DERIVED_BYTES = SHARE_BYTES + 16


def share_of(pair: RandomStream, owner: int, key: str) -> int:
    """The share of an owner's key that another party holds.

    Run by: the owner when it publishes points; the other party when the owner has dropped out.

    Args:
        pair: stream of the key that both have in common.
        owner: place of the owner in the roster.
        key: which of its keys.
    """
    words = pair.child("share of a key", str(owner), key).bytes(_DERIVED_BYTES)
    return int.from_bytes(words.tobytes(), "big") % PRIME


def points_of(key: bytes, shares: Mapping[int, int], spared: int) -> bytes:
    """Run by the owner: the points of the polynomial of a key that it publishes.

    Args:
        key: 32 bytes.
        shares: place of each other party in the roster -> its share.
        spared: number of parties that may drop out.
    """
    known = {0: int.from_bytes(key, "big"), **{place + 1: share for place, share in shares.items()}}
    return b"".join(
        value_at(known, _public(len(shares) + 1, number)).to_bytes(SHARE_BYTES, "big")
        for number in range(spared)
    )


def restore_key(points: bytes, shares: Mapping[int, int], parties: int) -> bytes:
    """Run by the curator: the key of an owner that dropped out.

    Args:
        points: what `points_of` gave.
        shares: place of some other parties in the roster -> their shares; enough of them.
        parties: number of parties of the release.

    Raises:
        ProtocolError: the shares are not those of a key.
    """
    known = {place + 1: share for place, share in shares.items()}
    for number, start in enumerate(range(0, len(points), SHARE_BYTES)):
        known[_public(parties, number)] = int.from_bytes(points[start : start + SHARE_BYTES], "big")
    if len(known) < parties:
        raise ProtocolError("expected the shares of more parties to restore a key, got too few; ask again")
    key = value_at(dict(list(known.items())[:parties]), 0)
    if key >= 1 << (8 * KEY_BYTES):
        raise ProtocolError(
            "expected shares of one key, got others: a party did not follow the protocol; ask the parties' "
            "operators, then start a new release"
        )
    return key.to_bytes(KEY_BYTES, "big")


def value_at(known: Mapping[int, int], place: int) -> int:
    """The value at a place of the polynomial of least degree through these points."""
    factors = _factors(tuple(known), place)
    return sum(factor * value for factor, value in zip(factors, known.values(), strict=True)) % PRIME


def _public(parties: int, number: int) -> int:
    """The place at which the owner publishes a value; parties have those from 1 to their number."""
    return parties + 1 + number


@lru_cache(maxsize=1024)
def _factors(places: tuple[int, ...], at: int) -> Sequence[int]:
    """What each known value counts in the value elsewhere (Lagrange); equal for all keys of an owner."""
    found = []
    for one in places:
        above = below = 1
        for other in places:
            if other != one:
                above = above * (at - other) % PRIME
                below = below * (one - other) % PRIME
        found.append(above * pow(below, -1, PRIME) % PRIME)
    return tuple(found)
