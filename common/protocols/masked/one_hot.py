"""Proof that every row of an opened matrix is one-hot, by its owner to its receiver, with the dealer's help.

The owner opened E = V - A to the receiver; the dealer knows the mask A. With A in 1 .. 2^k instead of 0 ..
2^k - 1, the integers U = A + E - 2^k are 0 where V is 0, and 1 or 1 - 2^k where V is 1. So rows of V are
one-hot modulo 2^k exactly where rows of U are u times a unit vector with u = 1 or u = 1 - 2^k. That is
checked in a field: modulo 2^k it would be wrong for too many matrices. Dealer and receiver hold shares of U
and, for random r, of z = sum r U, y = sum r^2 U and s = sum U of every row, which must satisfy

    z^2 - s y = 0    and    (s - 1)(s - 1 + 2^k) = 0.

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
from .ring import Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHECK = "one-hot"
"""Name of the check in plans."""

RING_BITS = 32
"""The only ring whose words are small enough for the field."""

GROUPS = 32
PROOF_ELEMENTS = 2 * GROUPS + 1
_MODULUS = 1 << RING_BITS
_COLUMNS = 1 << 15
_WORDS = 1 << 15
"""Words of a matrix that are multiplied at once: their halves stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """One role's shares of the sums of every row.

    Attributes:
        weighted: sum r U, shape (rows,).
        squared: sum r^2 U, shape (rows,).
        plain: sum U, shape (rows,).
    """

    weighted: Elements
    squared: Elements
    plain: Elements


@dataclass(frozen=True, eq=False)
class Challenge:
    """Public random elements of one check.

    Attributes:
        columns: r, shape (cells,).
        rows: weights of the rows, shape (rows,).
        units: weight of the condition on the sums of rows.
    """

    columns: Elements
    rows: Elements
    units: int

    @classmethod
    def from_coins(cls, coins: bytes, rows: int, cells: int) -> Challenge:
        """The challenge that the receiver's coins determine.

        Args:
            coins: 32 bytes, which follow from the opening and a secret of its receiver (`coins_of`).
            rows: records of the slice.
            cells: columns of the matrix.
        """
        stream = RandomStream(coins).child("one-hot challenge")
        return cls(uniform(stream, cells), uniform(stream, rows), int(uniform(stream, 1)[0]))

    def sketch(self, blocks: Iterable[Words], *, masks: bool) -> Sketch:
        """The sums of every row of a mask, or of an opening.

        Args:
            blocks: the matrix, in blocks of rows.
            masks: whether it is the mask, whose word 0 counts as 2^k, and from which 2^k is subtracted.
        """
        squares = times(self.columns, self.columns)
        columns = np.stack([*limbs(self.columns), *limbs(squares), np.ones(squares.size)], axis=1)
        found = [
            np.concatenate(parts) for parts in zip(*(_sums(b, columns, masks) for b in blocks), strict=True)
        ]
        sketch = Sketch(*found)
        if not masks:
            return sketch
        taken = elements(
            [-_MODULUS * total(self.columns), -_MODULUS * total(squares), -_MODULUS * squares.size]
        )
        return Sketch(*(plus(part, one) for part, one in zip(found, taken, strict=True)))

    def local(self, share: Sketch, *, masks: bool) -> int:
        """What one role's shares alone add to the sum that must be zero; the dealer adds the constant."""
        units = times(share.plain, plus(share.plain, elements([_MODULUS - 2])))
        if masks:
            units = plus(units, elements([1 - _MODULUS]))
        rows = minus(times(share.weighted, share.weighted), times(share.plain, share.squared))
        return dot(self.rows, plus(rows, times(units, elements([self.units]))))

    def left(self, share: Sketch, blind: RandomStream) -> Elements:
        """The dealer's vector in groups, shape (groups + 1, n): random values first."""
        vectors = (share.weighted, share.plain, share.squared)
        return _grouped([times(self.rows, vector) for vector in vectors], blind)

    def right(self, share: Sketch, blind: RandomStream) -> Elements:
        """The receiver's vector in groups, shape (groups + 1, n): random values first."""
        twice = plus(share.plain, share.plain)
        crossed = minus(times(twice, elements([self.units])), share.squared)
        negative = minus(np.zeros_like(twice), share.plain)
        return _grouped([plus(share.weighted, share.weighted), crossed, negative], blind)


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


def attestation_elements(rows: int) -> int:
    """Elements in the dealer's message."""
    return 3 + 3 * -(-rows // GROUPS)


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


def _sums(block: Words, columns: NDArray[np.float64], masks: bool) -> list[Elements]:
    """Sums of the rows of a block, weighted by limbs of r, limbs of r^2, and ones."""
    low = np.zeros((len(block), columns.shape[1]))
    high = np.zeros_like(low)
    halves = np.ascontiguousarray(block).view(np.uint16)
    at_once = max(1, _WORDS // block.shape[1])
    for top, start in itertools.product(range(0, len(block), at_once), range(0, block.shape[1], _COLUMNS)):
        rows, weights = slice(top, top + at_once), columns[start : start + _COLUMNS]
        lower, upper = (
            halves[rows, 2 * start + half : 2 * (start + _COLUMNS) : 2].astype(np.float64) for half in (0, 1)
        )
        if masks:
            upper[block[rows, start : start + _COLUMNS] == 0] = 1 << 16
        low[rows] += lower @ weights
        high[rows] += upper @ weights
    sums = []
    for piece in (slice(0, 3), slice(3, 6), slice(6, 7)):
        parts = [*low[:, piece].T, *high[:, piece].T]
        places = [LIMB * i for i in range(len(parts) // 2)]
        sums.append(from_limbs(parts, [*places, *(16 + place for place in places)]))
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
