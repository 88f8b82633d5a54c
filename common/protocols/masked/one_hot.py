"""Proof that every row of an opened matrix is one-hot, by its owner to its receiver, with the dealer's help.

The owner opened E = V - A to the receiver; the dealer knows the mask A. With A in 1 .. 2^k instead of 0 ..
2^k - 1, the integers U = A + E - 2^k are 0 where V is 0, and 1 or 1 - 2^k where V is 1. So rows of V are
one-hot modulo 2^k exactly where rows of U are u times a unit vector with u = 1 or u = 1 - 2^k. That is
checked in a field: modulo 2^k it would be wrong for too many matrices. Dealer and receiver hold shares of U
and, for random r, of z = sum r U, y = sum r^2 U and s = sum U of every row, which must satisfy

    z^2 - s y = 0    and    (s - 1)(s - 1 + 2^k) = 0.

Where rows of zeros are allowed as well, the matrix gets a further column, 1 less the sum of its row: with it,
exactly those rows are one-hot that were so, or zero. Everybody computes it from what they have.

In a ring of 64 bits U may be larger than the field's prime p, so that U = 0 modulo p does not say U = 0.
There the low 32 bits of V are checked as above, which gives their z', y' and s'; with z, y and s of all bits,

    z z' - s' y = 0    and    (s - 1)(s - 1 + 2^64) = 0

say that U is 0 modulo p where the low bits are, and 1 or 1 - 2^64 modulo p in the cell where they are 1.
Since p is -1 modulo 2^32 and |U| <= 2^64, no other U has both these low bits and this residue.

Products of two shares of one role are local. What is left is the inner product of a vector X of the dealer
and a vector Y of the receiver, both known to the owner, who proves it: X and Y are cut in `GROUPS` rows,
which are the values of polynomials at 1, 2, ..; at 0 they have random values. The owner shares the values of
the polynomial X(t) Y(t) between dealer and receiver before the dealer draws the point t, at which the
receiver compares.

In protocol order: the receiver has the opening, and takes no other one from now on; it derives `coins` from
it and tells them to owner and dealer; the owner runs `prove`; the receiver has the proof, and takes no other
one; the dealer runs `attest`, at the same point whenever it is asked; the receiver runs `holds`.

Guarantee: openings with a row that is not one-hot pass with probability below 2^-53. Dealer and receiver
    learn nothing from an honest proof (docs/adr/0027).
Source: Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai, "Lightweight Techniques for Private Heavy Hitters"
    (2021), for the sketch; the same authors, "Zero-Knowledge Proofs on Secret-Shared Data via Fully Linear
    PCPs" (2019), for the proof of an inner product.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...crypto.randomness import RandomStream
from ...later import np
from .field import (
    LIMB,
    PRIME,
    Elements,
    dot,
    elements,
    from_limbs,
    interpolation,
    limbs,
    minus,
    plus,
    product,
    times,
    total,
    uniform,
)
from .ring import Ring, Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHECK = "one-hot"
"""Name of the check in plans."""

GROUPS = 32
PROOF_ELEMENTS = 2 * GROUPS + 1
_LOW_BITS = 32
"""Bits of a word that are small enough for the field."""

_COLUMNS = 1 << 15
_WORDS = 1 << 15
"""Words of a matrix that are multiplied at once: their halves stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Sums:
    """One role's shares of the sums of every row, modulo the prime.

    Attributes:
        weighted: sum r U, shape (rows,).
        squared: sum r^2 U, shape (rows,).
        plain: sum U, shape (rows,).
    """

    weighted: Elements
    squared: Elements
    plain: Elements


@dataclass(frozen=True, eq=False)
class Sketch:
    """What one role computes from its matrix.

    Attributes:
        low: sums of the low 32 bits.
        whole: sums of words of 64 bits; None in a ring of 32.
    """

    low: Sums
    whole: Sums | None


@dataclass(frozen=True, eq=False)
class Challenge:
    """Public random elements of one check.

    Attributes:
        columns: r, shape (cells,), or (cells + 1,) where rows may be zero.
        rows: weights of the rows, shape (rows,).
        weights: of the conditions: on s; in a ring of 64 bits, of both on the whole words.
        empty: whether rows may be zero.
    """

    columns: Elements
    rows: Elements
    weights: Elements
    empty: bool

    @classmethod
    def from_coins(cls, coins: bytes, rows: int, cells: int, *, empty: bool) -> Challenge:
        """The challenge that the receiver's coins determine.

        Args:
            coins: 32 bytes, which follow from the opening and a secret of its receiver (`coins_of`).
            rows: records of the slice.
            cells: columns of the matrix.
            empty: whether rows may be zero.
        """
        stream = RandomStream(coins).child("one-hot challenge")
        columns = uniform(stream, cells + empty)
        return cls(columns, uniform(stream, rows), uniform(stream, 3), empty)

    def sketch(self, blocks: Iterable[Words], *, masks: bool) -> Sketch:
        """The sums of every row of a mask, or of an opening.

        Args:
            blocks: the matrix, in blocks of rows.
            masks: whether it is the mask, whose word 0 counts as 2^k, and from which 2^k is subtracted.
        """
        if self.empty:
            blocks = (np.hstack([block, _empty(block, masks)]) for block in blocks)
        squares = times(self.columns, self.columns)
        columns = np.stack([*limbs(self.columns), *limbs(squares), np.ones(squares.size)], axis=1)
        totals = [total(self.columns), total(squares), squares.size]
        found: dict[int, list[list[Elements]]] = {}
        for block in blocks:
            for bits in dict.fromkeys((_LOW_BITS, 8 * block.itemsize)):
                found.setdefault(bits, []).append(_sums(block.astype(f"<u{bits // 8}"), columns, masks))
        levels = []
        for bits, parts in found.items():
            sums = map(np.concatenate, zip(*parts, strict=True))
            taken = [0 if masks else -(known << bits) for known in totals]
            levels.append(Sums(*(plus(one, elements([t])) for one, t in zip(sums, taken, strict=True))))
        return Sketch(levels[0], levels[1] if len(levels) > 1 else None)

    def local(self, share: Sketch, *, masks: bool) -> int:
        """What one role's shares alone add to the sum that must be zero; the dealer adds the constant."""
        low, whole, (one, two, three) = share.low, share.whole, self.weights[:, None]
        rows = minus(times(low.weighted, low.weighted), times(low.plain, low.squared))
        rows = plus(rows, times(_units(low, _LOW_BITS, masks), one))
        if whole is not None:
            crossed = minus(times(whole.weighted, low.weighted), times(low.plain, whole.squared))
            rows = plus(rows, times(crossed, two))
            rows = plus(rows, times(_units(whole, 2 * _LOW_BITS, masks), three))
        return dot(self.rows, rows)

    def left(self, share: Sketch, blind: RandomStream) -> Elements:
        """The dealer's vector in groups, shape (groups + 1, n): random values first."""
        sums = [share.low] if share.whole is None else [share.low, share.whole]
        vectors = [vector for one in sums for vector in (one.weighted, one.plain, one.squared)]
        return _grouped([times(self.rows, vector) for vector in vectors], blind)

    def right(self, share: Sketch, blind: RandomStream) -> Elements:
        """The receiver's vector in groups, shape (groups + 1, n): random values first."""
        low, whole, (one, two, three) = share.low, share.whole, self.weights[:, None]
        zero = np.zeros_like(low.plain)
        weighted = plus(low.weighted, low.weighted)
        plain = minus(times(plus(low.plain, low.plain), one), low.squared)
        if whole is None:
            return _grouped([weighted, plain, minus(zero, low.plain)], blind)
        weighted = plus(weighted, times(whole.weighted, two))
        plain = minus(plain, times(whole.squared, two))
        of_whole = [
            times(low.weighted, two),
            times(plus(whole.plain, whole.plain), three),
            minus(zero, times(low.plain, two)),
        ]
        return _grouped([weighted, plain, minus(zero, low.plain), *of_whole], blind)


def prove(
    challenge: Challenge,
    mask: Sketch,
    opening: Sketch,
    dealer: RandomStream,
    receiver: RandomStream,
) -> Elements:
    """Run by the owner: the receiver's share of the proof, shape (`PROOF_ELEMENTS`,).

    Args:
        challenge: what the receiver's coins determine.
        mask: sums of the mask.
        opening: sums of the opening.
        dealer: stream that the owner shares with the dealer, for these coins only.
        receiver: stream that the owner shares with the receiver, for these coins only.
    """
    left, right = challenge.left(mask, dealer), challenge.right(opening, receiver)
    beyond = interpolation(GROUPS + 1, range(GROUPS + 1, PROOF_ELEMENTS))
    pairs = ((left, right), (product(beyond, left), product(beyond, right)))
    values = [dot(one, other) for pair in pairs for one, other in zip(*pair, strict=True)]
    return minus(elements(values), uniform(dealer, PROOF_ELEMENTS))


def attest(challenge: Challenge, mask: Sketch, dealer: RandomStream, points: RandomStream) -> Elements:
    """Run by the dealer, once the receiver has the proof: its message to the receiver.

    Args:
        challenge: what the receiver's coins determine.
        mask: sums of the mask.
        dealer: stream that it shares with the owner, for these coins only.
        points: source of the point, for these coins only; the owner does not know it.

    Returns:
        The point, the dealer's share of the sum and of the proof at the point, and its vector there.
    """
    left, proof = challenge.left(mask, dealer), uniform(dealer, PROOF_ELEMENTS)
    point = PROOF_ELEMENTS
    while point <= PROOF_ELEMENTS:
        point = int(uniform(points, 1)[0])
    known = challenge.local(mask, masks=True) + total(proof[1 : GROUPS + 1])
    at = product(interpolation(GROUPS + 1, [point]), left)[0]
    return np.concatenate([elements([point, known, _value(proof, point)]), at])


def attestation_elements(rows: int, ring: Ring) -> int:
    """Elements in the dealer's message."""
    return 3 + 3 * (ring.bits // _LOW_BITS) * -(-rows // GROUPS)


def holds(
    challenge: Challenge, opening: Sketch, proof: Elements, attestation: Elements, receiver: RandomStream
) -> bool:
    """Run by the receiver: whether the rows of the opened matrix are one-hot.

    Args:
        challenge: what the receiver's coins determine.
        opening: sums of the opening.
        proof: its share of the proof.
        attestation: message of the dealer.
        receiver: stream that it shares with the owner, for these coins only.
    """
    point, known, shared = (int(value) for value in attestation[:3])
    if not PROOF_ELEMENTS < point < PRIME:
        return False
    zero = known + challenge.local(opening, masks=False) + total(proof[1 : GROUPS + 1])
    at = product(interpolation(GROUPS + 1, [point]), challenge.right(opening, receiver))[0]
    return zero % PRIME == 0 and dot(attestation[3:], at) == (_value(proof, point) + shared) % PRIME


def _value(proof: Elements, point: int) -> int:
    """The value at a point of the polynomial of which a proof lists the values."""
    return dot(interpolation(PROOF_ELEMENTS, [point])[0], proof)


def _empty(block: Words, masks: bool) -> Words:
    """A column that is 1 in rows of zeros: 1 less the sum of the row, the 1 being the opening's."""
    found: Words = block.dtype.type(not masks) - block.sum(axis=1, keepdims=True, dtype=block.dtype)
    return found


def _units(sums: Sums, bits: int, masks: bool) -> Elements:
    """The part of one role's shares in (s - 1)(s - 1 + 2^bits); the dealer's has the constant."""
    found = times(sums.plain, plus(sums.plain, elements([(1 << bits) - 2])))
    return plus(found, elements([1 - (1 << bits)])) if masks else found


def _sums(block: Words, columns: NDArray[np.float64], masks: bool) -> list[Elements]:
    """Sums of the rows of a block, weighted by limbs of r, limbs of r^2, and ones."""
    parts = [np.zeros((len(block), columns.shape[1])) for _ in range(block.itemsize // 2)]
    halfwords = np.ascontiguousarray(block).view(np.uint16)
    at_once = max(1, _WORDS // block.shape[1])
    for top, start in itertools.product(range(0, len(block), at_once), range(0, block.shape[1], _COLUMNS)):
        rows, weights = slice(top, top + at_once), columns[start : start + _COLUMNS]
        words = block[rows, start : start + _COLUMNS]
        digits = halfwords[rows, len(parts) * start :][:, : len(parts) * words.shape[1]]
        for number, part in enumerate(parts):
            values = digits[:, number :: len(parts)].astype(np.float64)
            if masks and number == len(parts) - 1:
                values[words == 0] = 1 << 16
            part[rows] += values @ weights
    sums = []
    for piece in (slice(0, 3), slice(3, 6), slice(6, 7)):
        found = np.zeros(len(block), dtype=np.uint64)
        for low in range(0, len(parts), 2):
            pieces = [*parts[low][:, piece].T, *parts[low + 1][:, piece].T]
            places = [16 * n + LIMB * i for n in (low, low + 1) for i in range(len(pieces) // 2)]
            found = plus(found, from_limbs(pieces, places))
        sums.append(found)
    return sums


def _grouped(vectors: Iterable[Elements], blind: RandomStream) -> Elements:
    """Vectors one beside the other, each cut in groups, below a row of random elements."""
    pieces = []
    for vector in vectors:
        width = -(-vector.size // GROUPS)
        padded = np.zeros(GROUPS * width, dtype=np.uint64)
        padded[: vector.size] = vector
        pieces.append(padded.reshape(GROUPS, width))
    groups = np.hstack(pieces)
    return np.vstack([uniform(blind, groups.shape[1]), groups])
