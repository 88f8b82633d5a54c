"""The masks of a party in one release, from the seeds of their components and the signed terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...crypto.randomness import RandomStream
from ..arithmetic.ring import Ring, Words
from .plan import COMPONENT_BITS, Chain, MaskedPlan, labels


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
        return Mask(tuple((n, source.child_key(*labels)) for n, source in self._components.items()))

    def of(self, plan: MaskedPlan, chain: Chain) -> Mask:
        """The mask that hides the matrix of a chain."""
        mask, drawn = self.child("mask", *labels(chain)), plan.opened_ring(chain)
        below = COMPONENT_BITS if plan.integer_masks and len(chain) == 1 else drawn.bits
        return replace(mask, drawn=drawn, shift=drawn.bits - below)

    @property
    def sources(self) -> Mapping[int, RandomStream]:
        """The source of each known component, by its number."""
        return self._components


@dataclass(frozen=True)
class Mask:
    """One mask, of which any rows can be read.

    Attributes:
        keys: number and key of each known component.
        drawn: ring of the words that are drawn, if wider than that in which they are used.
        shift: low bits of drawn words that are left out.
    """

    keys: tuple[tuple[int, bytes], ...] = field(repr=False)
    drawn: Ring | None = None
    shift: int = 0

    def components(self, ring: Ring, start: int, rows: int, cells: int) -> dict[int, Words]:
        """The rows from `start` on of every known component, each of shape (rows, cells)."""
        drawn = self.drawn or ring
        position = start * cells * drawn.word_bytes
        known = {n: drawn.uniform(RandomStream(key, position), rows, cells) for n, key in self.keys}
        if self.shift:
            for words in known.values():
                words >>= words.dtype.type(self.shift)
        return {number: words.astype(ring.dtype, copy=False) for number, words in known.items()}

    def uniform(self, ring: Ring, start: int, rows: int, cells: int) -> Words:
        """The rows from `start` on of the sum of the known components, shape (rows, cells)."""
        return _sum_in_place(self.components(ring, start, rows, cells))

    def wide_components(self, ring: Ring, start: int, rows: int, cells: int) -> dict[int, Words]:
        """The rows from `start` on of every known component as integers, uint64; see `sacrifice`."""
        known = self.components(self.drawn or ring, start, rows, cells)
        return {number: words.astype(np.uint64, copy=False) for number, words in known.items()}

    def wide(self, ring: Ring, start: int, rows: int, cells: int) -> Words:
        """The rows from `start` on of the sum of the components modulo 2^64; its low bits are `uniform`."""
        return _sum_in_place(self.wide_components(ring, start, rows, cells))


def _sum_in_place(components: Mapping[int, Words]) -> Words:
    first, *others = components.values()
    for words in others:
        np.add(first, words, out=first)
    return first


def coins_of(secret: RandomStream, owner: int, opened: Sequence[str], chain: Chain) -> bytes:
    """Run by the receiver of an opening: the coins by which it is checked, 32 bytes.

    They follow from the opening, so that they test this one and no other.

    Args:
        secret: stream that only the receiver has.
        owner: index in the roster of the party that opened the matrix.
        opened: SHA-256 of each range of the opening, in order.
        chain: chain of the opened matrix.
    """
    return secret.child_key("one-hot coins", str(owner), *opened, *labels(chain))


def coins_labels(owner: int, chain: Chain) -> list[str]:
    """Labels of the message in which a receiver tells its coins."""
    return ["one-hot coins", str(owner), *labels(chain)]


def point_key(secret: RandomStream, owner: int, coins: bytes, chain: Chain) -> bytes:
    """Run by the receiver: the key of the point at which dealers attest a proof that it has, 32 bytes.

    Args:
        secret: stream that only the receiver has.
        owner: index in the roster of the party that opened the matrix.
        coins: coins of the proof.
        chain: chain of the opened matrix.
    """
    return secret.child_key("one-hot point", str(owner), coins.hex(), *labels(chain))


def proof_stream(source: RandomStream, recipient: int, coins: bytes, chain: Chain) -> RandomStream:
    """Run by an owner and the role that it shares the source with: random words of one proof (`one_hot`).

    Args:
        source: a component of the owner's masks, or the stream of the key of owner and recipient.
        recipient: index of the receiver in the roster.
        coins: coins of the proof.
        chain: chain of the opened matrix.
    """
    return source.child("one-hot proof", str(recipient), coins.hex(), *labels(chain))
