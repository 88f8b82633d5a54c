"""Tokens of a party's identifiers, under a key that the parties share and the matcher has not."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import KEY_BYTES, RandomStream
from .dummies import TOKEN_WORDS, AlignmentNoise, dummy_tokens
from .plan import HMAC

TOKEN_BYTES = 16
"""Among 2^27 identifiers, two have the same token with a probability below 2^-74."""

_TOKENS_AT_ONCE = 1 << 16
_HASH_BLOCK_BYTES = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


@dataclass(frozen=True, eq=False)
class PartyTokens:
    """What a party sends to the matcher, and what only it knows: which token is of which row.

    Attributes:
        tokens: tokens of its rows and of nobody in a random order, shape (rows + dummies, levels, 2), uint64.
        order: number of the row of each token, shape (rows + dummies,); those of nobody are after all rows.
        row_count: number of rows.
    """

    tokens: NDArray[np.uint64]
    order: NDArray[np.int64]
    row_count: int

    def rows(self, positions: NDArray[np.unsignedinteger]) -> NDArray[np.int32]:
        """Positions of the rows, shape (rows,), int32, from those of all tokens in the order sent."""
        placed = np.empty(self.order.size, dtype=np.int32)
        placed[self.order] = positions
        return placed[: self.row_count]


def party_tokens(
    key: bytes,
    slice_number: int,
    parties: int,
    me: int,
    sigma: float,
    levels: Sequence[Sequence[bytes]],
    own: RandomStream,
    keying: str = HMAC,
) -> PartyTokens:
    """Run by a party: the tokens of its rows under every match key, among dummies, in a random order.

    An identifier of several rows counts as missing, so that the matcher never sees how often one occurs.

    Guarantee: see `AlignmentNoise`, if there is one match key.

    Args:
        key: 32 bytes that the parties share and the matcher has not.
        slice_number: number of the slice; the same for all parties if slices are compared.
        parties: number of parties whose rows are compared.
        me: the party's place among them, from 0.
        sigma: scale of the noise, in people.
        levels: for each match key the normalised identifier of each row; an empty one is missing.
        own: words of the order and of missing identifiers, which only this party knows. The same key gives
            the same tokens again, however much of the stream was read.
        keying: "hmac", or "ddh" if the tokens go through `ddh`.
    """
    dummies = dummy_tokens(key, slice_number, parties, me, sigma, len(levels))
    padding = AlignmentNoise(sigma, parties, keying).padding
    if padding is not None:
        stream = own.child("padding")
        count = int(padding.counts(stream, 1)[0])
        random = stream.words(count * len(levels) * TOKEN_WORDS).reshape(count, len(levels), TOKEN_WORDS)
        dummies = np.concatenate((dummies, random))
    row_count = len(levels[0])
    order = own.child("order").permutation(row_count + len(dummies))
    tokens = np.empty((order.size, len(levels), TOKEN_WORDS), dtype=np.uint64)
    for level, texts in enumerate(levels):
        rows = identifier_tokens(key, level_tag(slice_number, level), texts, own.child("missing", str(level)))
        again = _are_repeated(rows)
        rows[again] = (
            own.child("repeated", str(level)).words(TOKEN_WORDS * int(again.sum())).reshape(-1, TOKEN_WORDS)
        )
        tokens[:, level] = np.concatenate((rows, dummies[:, level]))[order]
    return PartyTokens(tokens, order, row_count)


def level_tag(slice_number: int, level: int) -> bytes:
    """What is in front of every identifier of a slice and a match key; all tags have the same length."""
    return b"dpmosaic token" + slice_number.to_bytes(4, "big") + level.to_bytes(4, "big")


def identifier_tokens(
    key: bytes, tag: bytes, texts: Sequence[bytes], fresh: RandomStream
) -> NDArray[np.uint64]:
    """The first 16 bytes of HMAC-SHA256(key, tag || text) for each text.

    Source: RFC 2104. The states after key and tag are computed once and copied, which takes less than half
    the time of copies of an `hmac` object.

    Args:
        key: 32 bytes that the parties share and the matcher has not.
        tag: what tokens are for; of the same length for all tokens under the key.
        texts: normalised identifiers; an empty one is missing and becomes 16 fresh random bytes.
        fresh: random words of this party.

    Returns:
        Shape (texts, 2), uint64: the bytes of the tokens, read as little-endian words.
    """
    if len(key) != KEY_BYTES:
        raise ValueError(f"the key of tokens must have {KEY_BYTES} bytes, not {len(key)}")
    padded = key.ljust(_HASH_BLOCK_BYTES, b"\0")
    inner = hashlib.sha256(padded.translate(_INNER) + tag).copy
    outer = hashlib.sha256(padded.translate(_OUTER)).copy
    tokens = np.empty((len(texts), TOKEN_WORDS), dtype=np.uint64)
    remaining = iter(texts)
    for start in range(0, len(texts), _TOKENS_AT_ONCE):
        block = bytearray()
        missing = []
        for text in islice(remaining, _TOKENS_AT_ONCE):
            if not text:
                missing.append(len(block) // TOKEN_BYTES)
            first, second = inner(), outer()
            first.update(text)
            second.update(first.digest())
            block += second.digest()[:TOKEN_BYTES]
        part = tokens[start : start + _TOKENS_AT_ONCE]
        part[:] = np.frombuffer(block, dtype="<u8").reshape(-1, TOKEN_WORDS)
        part[missing] = fresh.words(TOKEN_WORDS * len(missing)).reshape(-1, TOKEN_WORDS)
    return tokens


def _are_repeated(tokens: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the tokens occur more than once; tokens that share one word share both."""
    low = tokens[:, 0]
    order = np.argsort(low)
    same = low[order[1:]] == low[order[:-1]]
    repeated = np.zeros(len(tokens), dtype=bool)
    repeated[order[1:][same]] = True
    repeated[order[:-1][same]] = True
    return repeated
