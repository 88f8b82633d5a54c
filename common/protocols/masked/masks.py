"""The masks of a party in one release, from its seed and the signed terms."""

from __future__ import annotations

from ...crypto.randomness import RandomStream


def release_masks(seed: bytes, terms: bytes) -> RandomStream:
    """Run by a party and by the dealer: the source of all masks and dealt shares of this party.

    The terms are in the key, so a seed that is dealt in two releases gives unrelated masks: one matrix opened
    under two rings or in two releases is hidden by independent words.

    Args:
        seed: 32 bytes that the dealer and the party share.
        terms: SHA-256 of the signed terms (`terms_digest`).
    """
    return RandomStream(seed).child("masks of a release", terms.hex())
