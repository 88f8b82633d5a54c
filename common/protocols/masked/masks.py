"""The masks of a party in one release, from the seeds of their components and the signed terms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...crypto.randomness import RandomStream
from .plan import Chain, labels
from .ring import Ring, Words


def release_masks(seed: bytes, terms: bytes) -> RandomStream:
    """Run by a party and by its dealers: the source of one component of all masks of this party.

    The terms are in the key, so a seed that is dealt in two releases gives unrelated masks: one matrix opened
    under two rings or in two releases is hidden by independent words.

    Args:
        seed: 32 bytes that the party and the dealers that know the component share.
        terms: SHA-256 of the signed terms (`terms_digest`).
    """
    return RandomStream(seed).child("masks of a release", terms.hex())


class Masks:
    """The masks of one party, as far as their components are known here.

    Args:
        components: source of each known component (`release_masks`), by its number.
    """

    def __init__(self, components: Mapping[int, RandomStream]) -> None:
        self._components = dict(sorted(components.items()))

    def child(self, *labels: str) -> Mask:
        """The mask with these labels."""
        return Mask({number: source.child(*labels) for number, source in self._components.items()})

    @property
    def source(self) -> RandomStream:
        """The only component, if one dealer knows the masks."""
        (source,) = self._components.values()
        return source


class Mask:
    """One mask, read from its start in blocks of rows.

    Args:
        streams: stream of each known component, by its number.
    """

    def __init__(self, streams: Mapping[int, RandomStream]) -> None:
        self._streams = streams

    def components(self, ring: Ring, rows: int, cells: int) -> dict[int, Words]:
        """The next rows of every known component, each of shape (rows, cells)."""
        return {number: ring.uniform(stream, rows, cells) for number, stream in self._streams.items()}

    def uniform(self, ring: Ring, rows: int, cells: int) -> Words:
        """The next rows of the sum of the known components, shape (rows, cells)."""
        first, *others = self.components(ring, rows, cells).values()
        for words in others:
            np.add(first, words, out=first)
        return first

    def wide_components(self, ring: Ring, rows: int, cells: int) -> dict[int, Words]:
        """The next rows of every known component as integers, uint64; see `sacrifice`."""
        known = self.components(ring, rows, cells)
        return {number: words.astype(np.uint64, copy=False) for number, words in known.items()}

    def wide(self, ring: Ring, rows: int, cells: int) -> Words:
        """The next rows of the sum of the known components modulo 2^64; its low bits are `uniform`."""
        first, *others = self.wide_components(ring, rows, cells).values()
        for words in others:
            np.add(first, words, out=first)
        return first


def proof_stream(source: RandomStream, recipient: int, coins: bytes, chain: Chain) -> RandomStream:
    """Run by an owner and the role that it shares the source with: random words of one proof (`one_hot`).

    Args:
        source: the owner's masks, or the stream of the key of owner and recipient.
        recipient: index of the receiver in the roster.
        coins: coins of the proof.
        chain: chain of the opened matrix.
    """
    return source.child("one-hot proof", str(recipient), coins.hex(), *labels(chain))
