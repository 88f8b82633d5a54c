"""Proof of an evaluator, to the other two, that all equations of its messages hold (`relations`).

The *prover* knows both sides, the *helper* the factors x, and the *verifier* the factors y. A hash h maps
planes to 128 bits so that h(p xor q) = h(p) xor h(q): a polynomial over GF(2^128) whose coefficients are the
plane, at a random point, which is GMAC. With M_ij = h(x_i y_j) an equation becomes

    xor over its terms of  M_ij  =  h(r) xor h(r').

1. The point depends on a digest of all messages of the prover.
2. The prover shares M between helper and verifier: the helper's share is drawn from the key of the two, the
   verifier gets the rest. Random planes, known to prover and helper, count as further factors x.
3. The verifier draws, for each of `RANDOM_SUMS` random planes, which of the factors x are added to it.
4. It gets these sums q. Since x and y enter M bilinearly, h(q y_j) is the xor of the same rows of M.
5. The verifier computes from q and its share what the helper computes from its share alone, and both their
   side of each equation. They compare it by a keyed digest.

Guarantee: if an equation does not hold, it stays so under h except with probability below 2^-100, or M is
    wrong in some column; then each repetition agrees for at most half of the choices, independently: together
    below 2^-40. Helper and verifier see uniform words, or what follows from their side and from an honest
    proof (docs/adr/0097).
Source: Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai 2019 (a prover that knows what two verifiers share);
    Freivalds 1977 (random sums of rows); McGrew, Viega 2004 (GMAC).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from .bits import Planes
from .relations import Block, Side

Hashes = NDArray[np.uint64]
"""Hashes of planes, shape (..., 2)."""

Choice = NDArray[np.bool_]
"""Which rows are added up, shape (repetitions, rows)."""

_Number = TypeVar("_Number", np.uint8, np.uint64)

RANDOM_SUMS = 41
"""Number of random sums: each leaves a wrong proof a chance of 1/2."""

HASH_BYTES = 16
_LOOKED_UP_BYTES = 128
"""Bytes of planes up to which hashes are looked up."""


class PlaneHash:
    """The hash h.

    Args:
        key: 32 bytes, from which the point is derived.
        width: bytes of a plane.
    """

    def __init__(self, key: bytes, width: int) -> None:
        self._gmac = AESGCM(key)
        # GMAC adds a constant to the polynomial.
        self._constant = self._tags(np.zeros((1, width), dtype=np.uint8))
        # Narrow planes are summed from the hashes of their bytes: a call takes longer than its work.
        self._of_bytes = self._looked_up(width) if width <= _LOOKED_UP_BYTES else None

    def of(self, planes: Planes) -> Hashes:
        """The hashes of planes, shape (rows, 2)."""
        if self._of_bytes is None:
            return self._tags(planes) ^ self._constant
        found: Hashes = np.bitwise_xor.reduce(self._of_bytes[np.arange(planes.shape[1]), planes], axis=1)
        return found

    def _looked_up(self, width: int) -> Hashes:
        """The hash of every value of every byte, shape (width, 256, 2)."""
        bits = np.packbits(np.eye(8 * width, dtype=np.uint8), axis=1, bitorder="little")
        of_bits = (self._tags(bits) ^ self._constant).reshape(width, 8, 1, 2)
        found = np.zeros((width, 1, 2), dtype=np.uint64)
        for bit in range(8):
            found = np.concatenate([found, found ^ of_bits[:, bit]], axis=1)
        return found

    def _tags(self, planes: Planes) -> Hashes:
        nonce, width, tag = bytes(12), planes.shape[1], self._gmac.encrypt
        octets = np.ascontiguousarray(planes).reshape(-1).data
        tags = b"".join([tag(nonce, b"", octets[i : i + width]) for i in range(0, octets.nbytes, width)])
        return np.frombuffer(tags, dtype=np.uint64).reshape(-1, 2)


def proof_bytes(blocks: Sequence[Block]) -> int:
    """Bytes of the verifier's share of M."""
    return sum((block.factors + RANDOM_SUMS) * block.factors * HASH_BYTES for block in blocks)


def response_bytes(blocks: Sequence[Block], width: int) -> int:
    """Bytes of the random sums of factors."""
    return len(blocks) * RANDOM_SUMS * width


def drawn_blinds(blocks: Sequence[Block], stream: RandomStream, width: int) -> list[tuple[Planes, Hashes]]:
    """Run by prover and helper: for each block the random planes, and the helper's share of M.

    Args:
        blocks: blocks of the prover.
        stream: stream that the two share, for this proof only.
        width: bytes of a plane.
    """
    found = []
    for block in blocks:
        planes = stream.bytes(RANDOM_SUMS * width).reshape(RANDOM_SUMS, width)
        rows = block.factors + RANDOM_SUMS
        share = stream.words(2 * rows * block.factors).reshape(rows, block.factors, 2)
        found.append((planes, share))
    return found


def proof_of(
    plane_hash: PlaneHash, pairs: Sequence[tuple[Side, Side]], blinds: Sequence[tuple[Planes, Hashes]]
) -> bytes:
    """Run by the prover: the verifier's share of M.

    Args:
        plane_hash: h.
        pairs: for each block the sides of helper and verifier.
        blinds: see `drawn_blinds`.
    """
    parts = []
    for (one, other), (planes, share) in zip(pairs, blinds, strict=True):
        rows = [plane_hash.of(row & other.factors) for row in (*one.factors, *planes)]
        parts.append((np.stack(rows) ^ share).tobytes())
    return b"".join(parts)


def choices_of(blocks: Sequence[Block], challenge: bytes) -> list[Choice]:
    """For each block the rows of M, and of the factors, that each random sum contains.

    Args:
        blocks: blocks of the prover.
        challenge: 32 bytes of the verifier.
    """
    stream, found = RandomStream(challenge), []
    for block in blocks:
        count = RANDOM_SUMS * block.factors
        bits = np.unpackbits(stream.bytes(-(-count // 8)), count=count).view(np.bool_)
        chosen = bits.reshape(RANDOM_SUMS, block.factors)
        found.append(np.hstack([chosen, np.eye(RANDOM_SUMS, dtype=np.bool_)]))
    return found


def response_of(
    choices: Sequence[Choice], sides: Sequence[Side], blinds: Sequence[tuple[Planes, Hashes]]
) -> bytes:
    """Run by prover and helper: the random sums of the factors x.

    Args:
        choices: see `choices_of`.
        sides: for each block the helper's side.
        blinds: see `drawn_blinds`.
    """
    parts = zip(choices, sides, blinds, strict=True)
    return b"".join(
        _sum_chosen(choice, np.vstack([side.factors, planes])).tobytes()
        for choice, side, (planes, _) in parts
    )


def expected_of(
    plane_hash: PlaneHash,
    blocks: Sequence[Block],
    choices: Sequence[Choice],
    sides: Sequence[Side],
    shares: Sequence[Hashes],
    response: bytes | None = None,
) -> bytes:
    """Run by helper and verifier: a digest that is the same at both if the proof is right.

    Args:
        plane_hash: h.
        blocks: blocks of the prover.
        choices: see `choices_of`.
        sides: its side of each block.
        shares: its share of M of each block.
        response: the random sums, at the verifier.
    """
    digest = hashlib.sha256()
    for number, (block, choice, side, share) in enumerate(zip(blocks, choices, sides, shares, strict=True)):
        agreed = _sum_chosen(choice, share)
        if response is not None:
            width = side.factors.shape[1]
            size = RANDOM_SUMS * width
            sums = np.frombuffer(response, dtype=np.uint8, count=size, offset=number * size)
            agreed ^= np.stack([plane_hash.of(row & side.factors) for row in sums.reshape(-1, width)])
        digest.update(agreed.data)
        equations = [
            np.bitwise_xor.reduce(share[[i for i, _ in terms], [j for _, j in terms]], axis=0)
            if terms
            else np.zeros(2, dtype=np.uint64)
            for terms in block.equations
        ]
        digest.update((np.stack(equations) ^ plane_hash.of(side.rest)).data)
    return digest.digest()


def shares_of(blocks: Sequence[Block], proof: bytes) -> list[Hashes]:
    """The verifier's share of M of each block."""
    found, start = [], 0
    for block in blocks:
        rows = block.factors + RANDOM_SUMS
        share = np.frombuffer(proof, np.uint64, 2 * rows * block.factors, start)
        found.append(share.reshape(rows, block.factors, 2))
        start += share.nbytes
    return found


def _sum_chosen(choice: Choice, rows: NDArray[_Number]) -> NDArray[_Number]:
    """The chosen rows, added modulo 2, shape (repetitions, ...)."""
    return np.stack([np.bitwise_xor.reduce(rows[chosen], axis=0) for chosen in choice])
