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

WORDS = 2
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
        stream.child(str(pattern)).words(count * levels * WORDS).reshape(count, levels, WORDS)
        for pattern, count in zip(patterns(parties), counts, strict=True)
        if pattern >> me & 1
    ]
    return np.concatenate(tokens)
