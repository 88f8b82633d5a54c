"""The masks of a party in one release, from its seed and the signed terms."""

from __future__ import annotations

from ...crypto.randomness import RandomStream
from .plan import Chain, labels


def release_masks(seed: bytes, terms: bytes) -> RandomStream:
    """Run by a party and by the dealer: the source of all masks and dealt shares of this party.

    The terms are in the key, so a seed that is dealt in two releases gives unrelated masks: one matrix opened
    under two rings or in two releases is hidden by independent words.

    Args:
        seed: 32 bytes that the dealer and the party share.
        terms: SHA-256 of the signed terms (`terms_digest`).
    """
    return RandomStream(seed).child("masks of a release", terms.hex())


def dealer_pair_key(masks: RandomStream) -> bytes:
    """Run by a party and by the dealer: the key of the two as evaluators of scores, 32 bytes.

    Args:
        masks: see `release_masks`.
    """
    return masks.child_key("pair with the dealer")


def proof_stream(source: RandomStream, recipient: int, coins: bytes, chain: Chain) -> RandomStream:
    """Run by an owner and the role that it shares the source with: random words of one proof (`one_hot`).

    Args:
        source: the owner's masks, or the stream of the key of owner and recipient.
        recipient: index of the receiver in the roster.
        coins: coins of the proof.
        chain: chain of the opened matrix.
    """
    return source.child("one-hot proof", str(recipient), coins.hex(), *labels(chain))
