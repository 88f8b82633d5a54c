"""Tokens of nobody, which hide from the matcher how many people are in which parties.

A pattern is a non-empty set of parties, as a number whose bit j stands for the j-th party. For each pattern,
the parties in it add the same dummy tokens, so that to the matcher they are people of that pattern.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from ...privacy.noise import TAIL_SIGMAS, discrete_gaussian
from .plan import HMAC

TOKEN_WORDS = 2
"""64-bit words of a token."""


@dataclass(frozen=True)
class DummyNoise:
    """Numbers of dummies: discrete Gaussian noise, shifted so that no draw is negative.

    Nothing is cut off, so the shift, which is public, costs no delta.

    Guarantee: a count with this number of dummies is rho-zCDP with rho = d^2 / (2 sigma^2) if one person
        changes the count by d (`counting_cost`).

    Attributes:
        sigma: scale of the noise, in people.
    """

    sigma: float

    @property
    def shift(self) -> int:
        """The mean, and the largest distance of a draw from it."""
        # A draw ends within two blocks of the tail; a block is 1 wide, or a sixteenth of a sigma at most.
        return math.ceil((TAIL_SIGMAS + 1) * self.sigma + 2)

    def counts(self, stream: RandomStream, number: int) -> NDArray[np.int64]:
        """Independent draws, shape (number,), int64, each from 0 to twice the shift."""
        return self.shift + discrete_gaussian(self.sigma, number, stream)


@dataclass(frozen=True)
class AlignmentNoise:
    """All noise of one alignment, of a slice or of slices that are compared.

    Guarantee: the view of the matcher and that of each party are each rho-zCDP with
        rho = d^2 / (2 sigma^2), where d is the L2 sensitivity of the numbers of people of all patterns: 1 if
        a person is added or removed, sqrt(2) if one is replaced. Tokens and points are pseudorandom,
        positions random and distinct, so the views are these numbers:
        - The matcher's: the number of people of each pattern, with the dummies' noise of scale sigma.
        - A party's, keying "hmac": it knows the dummies. Of each of the K slices it sees the number of
          positions and the published numbers of people. A person who is added changes the first by 1, or by
          the number of rows in a slice that leaves the person out, and one of the others by 1. The noise has
          scale sigma sqrt(2 K) for a change by 1, so each of the 2 K numbers costs rho / (2 K) at most. If
          a person is replaced, each slice costs less than three of these shares, and d^2 allows four.
        - A party's, keying "ddh": it also passes on the tokens of the S - 1 others, so it sees how many they
          are. These numbers contain the padding, and so do the published ones, from which the party can
          subtract them. What is left for each source of noise to hide adds up to S^2 + 1 at most, for a
          person whom the party has and who is at all others, or not; so each has scale sigma sqrt(S^2 + 1).
          With several slices less is left (docs/adr/0035).

    Attributes:
        sigma: scale of the numbers of dummies, in people.
        parties: number of parties whose rows are compared, S.
        keying: how identifiers are hidden from the matcher.
        slices: number of slices that are compared, K.
    """

    sigma: float
    parties: int
    keying: str = HMAC
    slices: int = 1

    @property
    def dummies(self) -> DummyNoise:
        """Numbers of dummies of each pattern, which its parties know."""
        return DummyNoise(self.sigma)

    @property
    def padding(self) -> DummyNoise | None:
        """Numbers of random tokens that each party adds and no other party knows; None if none are needed."""
        if self.keying == HMAC or self.parties == 1:
            return None
        return DummyNoise(math.sqrt(self.parties**2 + 1) * self.sigma)

    @property
    def published_sigma(self) -> float:
        """Scale of the noise of each published number of people."""
        return math.sqrt(2 * self.slices) * self.sigma if self.padding is None else self.padding.sigma

    def empty(self, change: int) -> DummyNoise:
        """Numbers of positions of nobody in a slice, in which one person changes the others by `change`."""
        return DummyNoise(change * self.published_sigma)

    @property
    def shifts(self) -> NDArray[np.int64]:
        """How many dummies and random tokens each set of parties has on average, shape (2^S,)."""
        shifts = np.full(1 << self.parties, self.dummies.shift, dtype=np.int64)
        shifts[0] = 0
        if self.padding is not None:
            shifts[[1 << party for party in range(self.parties)]] += self.padding.shift
        return shifts


def patterns(parties: int) -> range:
    """The patterns of so many parties, in the order of all lists of counts."""
    return range(1, 1 << parties)


def dummy_counts(key: bytes, slice_number: int, parties: int, sigma: float) -> tuple[int, ...]:
    """Run by every party: how many dummies each pattern has; the same at all parties that share the key.

    Args:
        key: 32 bytes that the parties share and the matcher has not.
        slice_number: number in the tags of the tokens.
        parties: number of parties whose rows are compared, S.
        sigma: scale of the noise, in people.

    Returns:
        One count for each pattern 1 .. 2^S - 1.
    """
    stream = RandomStream(key).child("numbers of dummies", str(slice_number))
    return tuple(DummyNoise(sigma).counts(stream, len(patterns(parties))).tolist())


def dummy_tokens(
    key: bytes, slice_number: int, parties: int, me: int, sigma: float, levels: int
) -> NDArray[np.uint64]:
    """Run by a party: the dummies of all patterns that it is in, pattern by pattern.

    Without the key they cannot be distinguished from tokens of identifiers: both are pseudorandom.

    Args:
        key: 32 bytes that the parties share and the matcher has not.
        slice_number: number in the tags of the tokens.
        parties: number of parties whose rows are compared, S.
        me: the party's place among them, from 0.
        sigma: scale of the noise, in people.
        levels: number of match keys, L; a dummy has one token for each.

    Returns:
        Shape (dummies, L, 2), uint64; a pattern's are the same at all its parties.
    """
    stream = RandomStream(key).child("dummies", str(slice_number))
    counts = dummy_counts(key, slice_number, parties, sigma)
    tokens = [
        stream.child(str(pattern)).words(count * levels * TOKEN_WORDS).reshape(count, levels, TOKEN_WORDS)
        for pattern, count in zip(patterns(parties), counts, strict=True)
        if pattern >> me & 1
    ]
    return np.concatenate(tokens)
