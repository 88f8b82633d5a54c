"""Proof that every row of an opened matrix is one-hot, by its owner to its receiver, with the dealer's help.

The owner opened E = V - A to the receiver; the dealer knows the mask A. With A in 1 .. 2^k instead of 0 ..
2^k - 1, the integers U = A + E - 2^k are 0 where V is 0, and 1 or 1 - 2^k where V is 1. So rows of V are
one-hot modulo 2^k exactly where rows of U are u times a unit vector with u = 1 or u = 1 - 2^k. That is
checked in a field: modulo 2^k it would be wrong for too many matrices. Dealer and receiver hold shares of U
and, for random r, of z = sum r U, y = sum r^2 U and s = sum U of every row, which must satisfy

    z^2 - s y = 0    and    (s - 1)(s - 1 + 2^k) = 0.

Where rows of zeros are allowed as well, the matrix gets a further column, 1 less the sum of its row: with it,
exactly those rows are one-hot that were so, or zero. Everybody computes it from what they have.

This is for words of 32 bits and one dealer. Otherwise masks are integers, of which U is a plain sum
(`one_hot_integers`).

Products of two shares of one role are local. What is left is the inner product of a vector X of the dealer
and a vector Y of the receiver, both known to the owner, who proves it: X and Y are cut in `PROOF_ROWS` rows,
which are the values of polynomials at 1, 2, ..; at 0 they have random values. The owner shares the values of
the polynomial X(t) Y(t) between dealer and receiver before the receiver tells the point t, at which it
compares.

In protocol order: the receiver has the opening, and takes no other one from now on; it derives `coins` from
it and tells them to the owner; the owner runs `prove`; the receiver has the proof, and takes no other one; it
tells the dealers the coins and a point; they run `attest`; the receiver runs `holds`.

Guarantee: openings with a row that is not one-hot pass with probability below 2^-53. Dealer and receiver
    learn nothing from an honest proof (docs/adr/0027).
Source: Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai, "Lightweight Techniques for Private Heavy Hitters"
    (2021), for the sketch; the same authors, "Zero-Knowledge Proofs on Secret-Shared Data via Fully Linear
    PCPs" (2019), for the proof of an inner product.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from ...crypto.randomness import RandomStream
from ...later import np
from ..arithmetic.field import (
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
    totals,
    uniform,
)
from ..arithmetic.ring import Words
from .dealers import known_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .products import Codes

PROOF_ROWS = 32
"""Rows in which two vectors are cut for the proof of their inner product."""

PROOF_ELEMENTS = 2 * PROOF_ROWS + 1
_WORD_BITS = 32
"""Bits of a word; more would not fit the field."""

_WORD_DIGIT_BITS = 32
"""Bits of a digit of a word."""

_ELEMENT_LIMB_BITS = 16
"""Bits of a limb of an element; four of them hold it."""

_LIMB_PLACES = range(0, 4 * _ELEMENT_LIMB_BITS, _ELEMENT_LIMB_BITS)
"""Place of each limb."""

_DIGITS_AT_ONCE = 1 << 7
"""Digits of a row that are summed at once: with a sign, their products with limbs are at most 2^46, so that
the sums are exact in float64."""

_MULTIPLIED = 1 << 18
"""Products of one call of BLAS, which starts no threads for so few; what they need stays in the processor's
cache."""


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

    def less(self, other: Sums) -> Sums:
        """The difference."""
        return Sums(
            minus(self.weighted, other.weighted),
            minus(self.squared, other.squared),
            minus(self.plain, other.plain),
        )


@dataclass(frozen=True, eq=False)
class Challenge:
    """Public random elements of one check.

    Attributes:
        columns: r, shape (cells,), or (cells + 1,) where rows may be zero.
        rows: weights of the rows, shape (rows,).
        weight: of the condition on s, shape (1,).
        empty: whether rows may be zero.
    """

    columns: Elements
    rows: Elements
    weight: Elements
    empty: bool

    vectors: ClassVar[int] = 3
    """Vectors of one element for each row, whose inner product is proved."""

    @classmethod
    def from_coins(cls, coins: bytes, rows: int, cells: int, *, empty: bool) -> Self:
        """The challenge that the receiver's coins determine.

        Args:
            coins: 32 bytes, which follow from the opening and a secret of its receiver (`coins_of`).
            rows: records of the slice.
            cells: columns of the matrix.
            empty: whether rows may be zero.
        """
        stream = RandomStream(coins).child("one-hot challenge")
        columns = uniform(stream, cells + empty)
        return cls(columns, uniform(stream, rows), uniform(stream, 1), empty)

    def sketch(self, blocks: Iterable[Words], *, masks: bool) -> Sums:
        """The sums of every row of a mask, or of an opening.

        Args:
            blocks: the matrix, in blocks of rows.
            masks: whether it is the mask, whose word 0 counts as 2^k, and from which 2^k is subtracted.
        """
        if self.empty:
            blocks = (np.hstack([block, _empty(block, masks)]) for block in blocks)
        return sums_of_rows(self.columns, blocks, 0 if masks else 1 << _WORD_BITS, whole=masks)

    def own_sums(self, blocks: Iterable[tuple[Words, Codes]]) -> tuple[Sums, Sums]:
        """Run by the owner: the sums of its mask, and of its opening; see `sketch`.

        One word of each row of U is not zero, and the opening has the sums of U less those of the mask.

        Args:
            blocks: the mask and the codes of the matrix, in blocks of rows.
        """
        held: list[Codes] = []
        ones: list[NDArray[np.bool_]] = []

        def masks() -> Iterator[Words]:
            for mask, codes in blocks:
                if self.empty:
                    mask = np.hstack([mask, _empty(mask, True)])
                    codes = np.where(codes < 0, mask.shape[1] - 1, codes)
                held.append(codes)
                # The sum wraps around but for a mask of 1, whose U is smaller by 2^k.
                ones.append(mask[np.arange(len(mask)), codes] == 1)
                yield mask

        hidden = sums_of_rows(self.columns, masks(), 0, whole=True)
        unit = elements([1, 1 - (1 << _WORD_BITS)])[np.concatenate(ones).astype(np.intp)]
        return hidden, sums_of_units(self.columns, np.concatenate(held), unit).less(hidden)

    def local(self, share: Sums, *, masks: bool) -> int:
        """What one role's shares alone add to the sum that must be zero; the dealer adds the constant."""
        weighted, plain = times(self.rows, share.weighted), times(self.rows, share.plain)
        found = dot(weighted, share.weighted) - dot(plain, share.squared)
        unit = dot(plain, share.plain) + ((1 << _WORD_BITS) - 2) * total(plain)
        if masks:
            unit += (1 - (1 << _WORD_BITS)) * total(self.rows)
        return found + unit * int(self.weight[0])

    def dealer_terms(self, known: Mapping[int, Sums], dealers: int, position: int) -> int:
        """What a dealer's sums alone add.

        Args:
            known: sums of each component of the mask that it knows.
            dealers: number of dealers of the slice.
            position: position of the dealer among them.
        """
        return self.local(known[position], masks=True)

    def left_vector(self, share: Sums, blinds: Sequence[RandomStream]) -> Elements:
        """The dealer's vector in groups, shape (groups + 1, n): random values first, a sum of streams."""
        vectors = (share.weighted, share.plain, share.squared)
        return group_vectors([times(self.rows, vector) for vector in vectors], blinds)

    def right(self, share: Sums, blind: RandomStream) -> Elements:
        """The receiver's vector in groups, shape (groups + 1, n): random values first."""
        weighted = plus(share.weighted, share.weighted)
        plain = minus(times(plus(share.plain, share.plain), self.weight), share.squared)
        return group_vectors([weighted, plain, minus(np.zeros_like(share.plain), share.plain)], [blind])


def prove(
    challenge: Challenge,
    mask: Sums,
    opening: Sums,
    dealers: Sequence[RandomStream],
    receiver: RandomStream,
) -> Elements:
    """Run by the owner: the receiver's share of the proof, shape (`PROOF_ELEMENTS`,).

    Args:
        challenge: what the receiver's coins determine.
        mask: sums of the mask.
        opening: sums of the opening.
        dealers: for each component of the mask, the stream that the owner shares with dealers that know it,
            for these coins only.
        receiver: stream that the owner shares with the receiver, for these coins only.
    """
    left, right = challenge.left_vector(mask, dealers), challenge.right(opening, receiver)
    # Of all pairs of groups: what they contribute to the values of both polynomials at any point.
    products, beyond = product(left, right.T), _beyond()
    values = totals(times(product(beyond, products), beyond))
    proof = np.concatenate([products.diagonal(), values])
    for dealer in dealers:
        proof = minus(proof, uniform(dealer, PROOF_ELEMENTS))
    return proof


def attest(
    challenge: Challenge,
    known: Mapping[int, Sums],
    streams: Mapping[int, RandomStream],
    points: RandomStream,
    dealers: int = 1,
    position: int = 0,
) -> Elements:
    """Run by each dealer, once the receiver has the proof: its message to the receiver.

    Each of three dealers answers for one component of the mask. What they add of products of two components
    is hidden by words that add up to zero.

    Args:
        challenge: what the receiver's coins determine.
        known: sums of each component of the mask that it knows.
        streams: for each of these, the stream that it shares with the owner, for these coins only.
        points: source of the point, for these coins only; the owner does not know it.
        dealers: number of dealers of the slice.
        position: position of the dealer among them.

    Returns:
        The point, the dealer's share of the sum and of the proof at the point, and its vector there.
    """
    own, *others = known_components(dealers, position)
    left, proof = challenge.left_vector(known[own], [streams[own]]), uniform(streams[own], PROOF_ELEMENTS)
    point = PROOF_ELEMENTS
    while point <= PROOF_ELEMENTS:
        point = int(uniform(points, 1)[0])
    share = challenge.dealer_terms(known, dealers, position) + total(proof[1 : PROOF_ROWS + 1])
    for other in others:
        share += _zero_share(streams[other]) - _zero_share(streams[own])
    at = product(interpolation(PROOF_ROWS + 1, [point]), left)[0]
    return np.concatenate([elements([point, share, _value(proof, point)]), at])


def attestation_elements(rows: int, vectors: int) -> int:
    """Elements in the message of a dealer."""
    return 3 + vectors * -(-rows // PROOF_ROWS)


def holds(
    challenge: Challenge,
    opening: Sums,
    proof: Elements,
    attestations: Sequence[Elements],
    receiver: RandomStream,
) -> bool:
    """Run by the receiver: whether the rows of the opened matrix are one-hot.

    Args:
        challenge: what the receiver's coins determine.
        opening: sums of the opening.
        proof: its share of the proof.
        attestations: messages of all dealers.
        receiver: stream that it shares with the owner, for these coins only.
    """
    point = int(attestations[0][0])
    if not PROOF_ELEMENTS < point < PRIME or any(int(one[0]) != point for one in attestations):
        return False
    known, shared = (sum(int(one[place]) for one in attestations) for place in (1, 2))
    first, *others = (one[3:] for one in attestations)
    left = functools.reduce(plus, others, first)
    zero = known + challenge.local(opening, masks=False) + total(proof[1 : PROOF_ROWS + 1])
    at = product(interpolation(PROOF_ROWS + 1, [point]), challenge.right(opening, receiver))[0]
    return zero % PRIME == 0 and dot(left, at) == (_value(proof, point) + shared) % PRIME


@functools.cache
def _beyond() -> Elements:
    """The coefficients that continue the polynomials of a proof."""
    return interpolation(PROOF_ROWS + 1, range(PROOF_ROWS + 1, PROOF_ELEMENTS))


def _zero_share(stream: RandomStream) -> int:
    """What two of three dealers know, so that one adds it and the other subtracts it."""
    return int(uniform(stream.child("zero share"), 1)[0])


def _value(proof: Elements, point: int) -> int:
    """The value at a point of the polynomial of which a proof lists the values."""
    return dot(interpolation(PROOF_ELEMENTS, [point])[0], proof)


def _empty(block: Words, masks: bool) -> Words:
    """A column that is 1 in rows of zeros: 1 less the sum of the row, the 1 being the opening's."""
    found: Words = block.dtype.type(not masks) - block.sum(axis=1, keepdims=True, dtype=block.dtype)
    return found


def sums_of_units(columns: Elements, codes: Codes, values: Elements) -> Sums:
    """Sums of every row of a matrix with one value in each row.

    Args:
        columns: r, shape (cells,).
        codes: column of the value of each row; the row of a code of -1 is zero.
        values: the values.
    """
    values = np.where(codes < 0, np.uint64(0), values)
    once = times(columns[codes], values)
    return Sums(once, times(columns[codes], once), values)


def sums_of_rows(columns: Elements, blocks: Iterable[Words], taken: int, *, whole: bool) -> Sums:
    """Sums of every row of a matrix, modulo the prime.

    Args:
        columns: r, shape (cells,).
        blocks: the matrix, in blocks of rows.
        taken: what is subtracted from every word.
        whole: whether the word 0 counts as 2^k.
    """
    squares = times(columns, columns)
    weights: list[_Weights] = []
    parts: list[Elements] = []
    lacking = whole - taken
    for block in blocks:
        if not weights:
            digits = 8 * block.itemsize // _WORD_DIGIT_BITS
            weights = list(_weights(columns, squares, digits))
            lacking += sum(1 << _WORD_DIGIT_BITS * (i + 1) - 1 for i in range(digits))
        parts.append(_sums(block, weights, whole))
    missing = [lacking * known for known in (total(columns), total(squares), squares.size)]
    return Sums(*plus(np.hstack(parts), elements(missing)[:, None]))


@dataclass(frozen=True, eq=False)
class _Weights:
    """Weights of the digits of some columns.

    Attributes:
        columns: first and last digit of a row.
        digits: digits of a word.
        matrix: for each digit of each word the limbs of r, those of r^2, then ones for the digits of each
            place, shape (weights, columns * digits).
    """

    columns: slice
    digits: int
    matrix: NDArray[np.float64]


def _weights(columns: Elements, squares: Elements, digits: int) -> Iterator[_Weights]:
    """The weights of all columns, `_DIGITS_AT_ONCE` at a time.

    Args:
        columns: r, shape (cells,).
        squares: r^2.
        digits: digits of a word.
    """
    places = elements([1 << _WORD_DIGIT_BITS * i for i in range(digits)])
    for start in range(0, columns.size, _DIGITS_AT_ONCE // digits):
        at = slice(start, start + _DIGITS_AT_ONCE // digits)
        both = [times(one[at, None], places).ravel() for one in (columns, squares)]
        ones = np.tile(np.eye(digits), both[0].size // digits)
        yield _Weights(
            slice(start * digits, start * digits + both[0].size),
            digits,
            np.vstack([*(limbs(one, _ELEMENT_LIMB_BITS) for one in both), ones]),
        )


def _sums(block: Words, weights: Sequence[_Weights], whole: bool) -> Elements:
    """Sums of the rows of a block whose digits are smaller by 2^31, shape (3, rows).

    Args:
        block: the rows.
        weights: weights of all its columns.
        whole: whether 1 is subtracted from every word, so that 0 becomes the largest one.
    """
    found = np.zeros((3, len(block)), dtype=np.uint64)
    # What differs from the digit less 2^31 by 2^32 at most, and becomes it as a signed integer.
    shift = np.uint32((1 << _WORD_DIGIT_BITS - 1) - whole)
    digits = np.ascontiguousarray(block).view(np.uint32)
    for known in weights:
        words = digits[:, known.columns]
        at_once = _MULTIPLIED // known.matrix.size
        shifted = np.empty((at_once, words.shape[1]), dtype=np.uint32)
        values = np.empty(shifted.shape)
        parts = np.empty((len(known.matrix), len(block)))
        for top in range(0, len(block), at_once):
            rows = slice(top, top + at_once)
            size = len(words[rows])
            np.add(words[rows], shift, out=shifted[:size])
            values[:size] = shifted[:size].view(np.int32)
            np.matmul(known.matrix, values[:size].T, out=parts[:, rows])
        once, twice, plain = np.split(parts, [len(_LIMB_PLACES), 2 * len(_LIMB_PLACES)])
        found[0] = plus(found[0], from_limbs(once, _LIMB_PLACES))
        found[1] = plus(found[1], from_limbs(twice, _LIMB_PLACES))
        found[2] = plus(found[2], from_limbs(plain, [_WORD_DIGIT_BITS * i for i in range(known.digits)]))
    return found


def group_vectors(vectors: Iterable[Elements], blinds: Sequence[RandomStream]) -> Elements:
    """Vectors one beside the other, each cut in groups, below a row of random elements."""
    pieces = []
    for vector in vectors:
        width = -(-vector.size // PROOF_ROWS)
        padded = np.zeros(PROOF_ROWS * width, dtype=np.uint64)
        padded[: vector.size] = vector
        pieces.append(padded.reshape(PROOF_ROWS, width))
    groups = np.hstack(pieces)
    first, *others = (uniform(blind, groups.shape[1]) for blind in blinds)
    return np.vstack([functools.reduce(plus, others, first), groups])
