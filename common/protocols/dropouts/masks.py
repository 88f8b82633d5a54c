"""Masks of an answer that can be removed although a party that shares one drops out.

An answer has two kinds of masks. One of each pair of parties cancels in the sum over both; that with a party
whose answer is missing is told by the other one. The party's own mask is told by itself, or if it has dropped
out since, restored from shares. Nobody tells both of one party: what it answers late stays hidden.

Source: Bonawitz et al. (2017), section 4.2, with a key for each query in place of one for each release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...crypto.randomness import RandomStream
from ..arithmetic.ring import Ring, Words


def own_key(secret: bytes) -> bytes:
    """The key of a party's own masks, from its secret of the release."""
    return RandomStream(secret).child_key("own masks")


def pair_key(pair: RandomStream) -> bytes:
    """The key of the masks of two parties, from the stream of the key that they have in common."""
    return pair.child_key("masks of a pair, with parties that may drop out")


def seed_of(key: bytes, query: str, before: Sequence[int]) -> bytes:
    """What determines a mask of one answer.

    Args:
        key: of the party or the pair.
        query: digest of the query.
        before: places of the parties that had dropped out before the query.
    """
    return RandomStream(key).child_key("mask", query, *map(str, before))


def mask_of(ring: Ring, seed: bytes, words: int) -> Words:
    """A mask of so many words."""
    mask: Words = ring.uniform(RandomStream(seed), 1, words)[0]
    return mask


def sum_of_masks(
    ring: Ring, words: int, own: Iterable[bytes], pairs: Iterable[tuple[int, int, bytes]]
) -> Words:
    """The sum of masks as answers contain them.

    Args:
        ring: ring of the shares.
        words: length of an answer.
        own: seeds of the parties' own masks.
        pairs: place of the party that answered, place of the other one, and the seed of their mask.
    """
    total = np.zeros(words, dtype=ring.dtype)
    for seed in own:
        total += mask_of(ring, seed, words)
    for one, other, seed in pairs:
        mask = mask_of(ring, seed, words)
        total += mask if one < other else np.negative(mask)
    return total
