"""Encoding of the tokens of rows and of the positions that they get; invalid bytes are a ProtocolError."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from ..errors import ProtocolError
from ..frames import join_chunks
from .streams import decode_words, encode_answer

_TOKEN_WORDS = 2
_BLOCK_TOKENS = 1 << 16
_MOST_TOKENS = 1 << 27
"""Most tokens of a party, which alone knows how many they are."""

_COUNT, _POSITION = np.dtype("<i8"), np.dtype("<u4")


def encode_tokens(tokens: NDArray[np.uint64]) -> Iterator[bytes]:
    """Frames of tokens.

    Args:
        tokens: shape (tokens, match keys, 2).
    """
    blocks = range(0, len(tokens), _BLOCK_TOKENS)
    return encode_answer((tokens[start : start + _BLOCK_TOKENS].view(np.int64) for start in blocks), 8)


def decode_tokens(frames: Iterable[bytes], levels: int) -> NDArray[np.uint64]:
    """The tokens in these frames, shape (tokens, levels, 2); their number is hidden by dummies.

    Args:
        frames: frames of `encode_tokens`.
        levels: number of match keys.

    Raises:
        ProtocolError: the last token is not complete, or there are more than any party has.
    """
    words = decode_words(frames, levels * _TOKEN_WORDS * _MOST_TOKENS)
    if words.size % (levels * _TOKEN_WORDS):
        raise ProtocolError("expected whole tokens, got a part of one; ask again")
    return words.view(np.uint64).reshape(-1, levels, _TOKEN_WORDS)


def positions_payload(
    size: int, people: Sequence[Sequence[int]], positions: NDArray[np.uint32]
) -> list[NDArray[np.int64] | NDArray[np.uint32]]:
    """What one party gets of an alignment, as blocks of a delivery.

    Args:
        size: number of positions of the party's slice.
        people: for each slice, noisy number of people of each pattern.
        positions: position of each token of the party, in the order in which it sent them.
    """
    counts = np.array([size, *(count for counts in people for count in counts)], dtype=_COUNT)
    return [counts, positions.astype(_POSITION, copy=False)]


def decode_positions(
    chunks: Iterable[bytes], patterns: Sequence[int], tokens: int
) -> tuple[int, tuple[tuple[int, ...], ...], NDArray[np.uint32]]:
    """Size, people and positions of a delivery; see `positions_payload`.

    Args:
        chunks: of any sizes.
        patterns: for each slice, number of patterns.
        tokens: number of tokens that the party sent.

    Raises:
        ProtocolError: the positions are not as many as the tokens, not distinct, or not all below the size.
    """
    header = (1 + sum(patterns)) * _COUNT.itemsize
    expected = header + tokens * _POSITION.itemsize
    octets = join_chunks(
        chunks, expected, "expected one position for each token, got more or fewer; match the tokens again"
    )
    counts = np.frombuffer(octets, dtype=_COUNT, count=1 + sum(patterns)).tolist()
    positions = np.frombuffer(octets, dtype=_POSITION, offset=header)
    size, ends = counts[0], [1 + end for end in accumulate(patterns, initial=0)]
    ordered = np.sort(positions)
    if not 0 <= size < 1 << 31 or np.any(ordered[1:] == ordered[:-1]) or np.any(ordered[-1:] >= size):
        raise ProtocolError(
            "expected distinct positions below their number, got others; match the tokens again"
        )
    people = tuple(tuple(counts[a:b]) for a, b in pairwise(ends))
    return size, people, positions
