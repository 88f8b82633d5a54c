"""Integers modulo the prime 2^61 - 1, as arrays of 64-bit words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from ...crypto.randomness import RandomStream
from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Elements: TypeAlias = "NDArray[np.uint64]"
"""An array of field elements, each below `PRIME`."""

BITS = 61
PRIME = (1 << BITS) - 1
WORD_BYTES = 8
_LIMB = 21
_LIMBS = -(-BITS // _LIMB)
_PLACES = [_LIMB * i for i in range(2 * _LIMBS - 1)]
_MULTIPLIED_WORDS = 1 << 13
"""Words that are multiplied at once: what is computed on the way stays in the processor's cache."""

_EXACT_ROWS = 480
"""Rows that are summed at once: three products of limbs for each stay below 2^53, exact in float64."""

_MULTIPLIED = 1 << 18
"""Numbers multiplied by one call of BLAS, which starts no threads for so few."""

_DOTTED = _MULTIPLIED >> 4
"""Elements of a vector, of four pieces each, whose products are summed at once; the sums stay below 2^53."""

_PIECE = 16


def elements(integers: Sequence[int]) -> Elements:
    """These integers modulo the prime."""
    return np.array([integer % PRIME for integer in integers], dtype=np.uint64)


def uniform(stream: RandomStream, count: int) -> Elements:
    """The stream's next uniform elements, shape (count,); a word that is no element is drawn again."""
    found = stream.words(count) & np.uint64(PRIME)
    while (outside := np.flatnonzero(found == PRIME)).size:
        found[outside] = stream.words(outside.size) & np.uint64(PRIME)
    return found


def plus(left: Elements, right: Elements) -> Elements:
    """Sums."""
    return _below(left + right)


def minus(left: Elements, right: Elements) -> Elements:
    """Differences."""
    return _below(left + (np.uint64(PRIME) - right))


def times(left: Elements, right: Elements) -> Elements:
    """Products."""
    operands = np.nditer(
        [left, right, None],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_dtypes=["u8", "u8", "u8"],
        buffersize=_MULTIPLIED_WORDS,
    )
    with operands:
        for one, other, found in operands:
            found[...] = _products(one, other)
        made: Elements = operands.operands[2]
    return made


def _products(left: Elements, right: Elements) -> Elements:
    """Products; 31-bit halves, whose products are added before they could exceed 64 bits."""
    half, low = np.uint64(31), np.uint64((1 << 31) - 1)
    a, b, c, d = left >> half, left & low, right >> half, right & low
    middle = a * d
    middle += b * c
    a *= c
    a <<= np.uint64(1)
    b *= d
    a += b
    a += middle >> np.uint64(30)
    middle &= np.uint64((1 << 30) - 1)
    middle <<= half
    a += middle
    return _below(a)


def totals(values: Elements) -> Elements:
    """The sums over the last axis."""
    half = np.uint64(32)
    low = (values & np.uint64((1 << 32) - 1)).sum(axis=-1, dtype=np.uint64)
    high = _below((values >> half).sum(axis=-1, dtype=np.uint64))
    return plus(_below(low), times(high, elements([1 << 32])))


def total(values: Elements) -> int:
    """The sum of all elements."""
    return int(totals(values.reshape(1, -1))[0])


def dot(left: Elements, right: Elements) -> int:
    """The sum of the products of two vectors; exact by float64 products of pieces of 16 bits."""
    found = 0
    for start in range(0, left.size, _DOTTED):
        one, other = (_pieces(vector[start : start + _DOTTED]) for vector in (left, right))
        for (i, j), product_of_pieces in np.ndenumerate(one.T @ other):
            found += int(product_of_pieces) << _PIECE * (i + j)
    return found % PRIME


def _pieces(values: Elements) -> NDArray[np.float64]:
    """The pieces of 16 bits of each element, the lowest first, shape (elements, 4)."""
    return np.ascontiguousarray(values, dtype="<u8").view("<u2").reshape(-1, 4).astype(np.float64)


def limbs(values: Elements, bits: int) -> NDArray[np.float64]:
    """Pieces from -2^(bits - 1) to 2^(bits - 1), the lowest first, shape (limbs, ...); exact as float64."""
    places, half = range(0, BITS, bits), 1 << bits - 1
    left = (values + np.uint64(sum(half << place for place in places))).view(np.int64)
    found = np.empty((len(places), *values.shape))
    for limb in found:
        limb[...] = left & (2 * half - 1)
        left >>= bits
    found -= half
    return found


def from_limbs(
    pieces: Sequence[NDArray[np.float64]] | NDArray[np.float64], places: Sequence[int]
) -> Elements:
    """The sum of pieces times 2^place, at most seven; every piece holds integers of at most 53 bits."""
    raised = 1 << 53
    # What the pieces are raised by, so that none is negative.
    found = np.full(pieces[0].shape, -raised * sum(1 << place for place in places) % PRIME, dtype=np.uint64)
    for piece, place in zip(pieces, places, strict=True):
        values = piece.astype(np.int64)
        values += raised
        found += _shift_bits(values.view(np.uint64), place % BITS)
    return _below(found)


def product(left: Elements, right: Elements) -> Elements:
    """The matrix product, shapes (m, k) and (k, n); exact by float64 products of limbs."""
    (rows, inner), columns = left.shape, right.shape[1]
    found = np.zeros((rows, columns), dtype=np.uint64)
    wide = min(columns, max(1, 2 * _MULTIPLIED_WORDS // min(inner, _EXACT_ROWS)))
    at_once = max(1, _MULTIPLIED // (_LIMBS * rows * wide))
    for start, first in itertools.product(range(0, inner, _EXACT_ROWS), range(0, columns, wide)):
        summed, at = slice(start, start + _EXACT_ROWS), slice(first, first + wide)
        lows = limbs(left[:, summed], _LIMB).reshape(_LIMBS * rows, -1)
        highs = limbs(right[summed, at], _LIMB)
        pieces = np.zeros((len(_PLACES), *found[:, at].shape))
        for place, high in enumerate(highs):
            for start_of in range(0, len(high), at_once):
                some = slice(start_of, start_of + at_once)
                made = lows[:, some] @ high[some]
                pieces[place : place + _LIMBS] += made.reshape(_LIMBS, rows, -1)
        found[:, at] = plus(found[:, at], from_limbs(pieces, _PLACES))
    return found


def interpolation(known: int, at: Sequence[int]) -> Elements:
    """Lagrange's coefficients: from the values at 0 .. known - 1 to those at other points.

    Args:
        known: number of known points; the polynomial has a smaller degree.
        at: other points, each different from the known ones.

    Returns:
        Shape (points, known).
    """
    nodes, inverses = range(known), _inverses(known)
    rows = []
    for x in at:
        whole = math.prod(x - k for k in nodes) % PRIME
        rows.append(elements([whole * pow(x - k, -1, PRIME) * inverses[k] for k in nodes]))
    return np.array(rows, dtype=np.uint64)


@lru_cache
def _inverses(known: int) -> tuple[int, ...]:
    """For each known point, the inverse of the product of its differences from the others."""
    return tuple(
        pow(math.prod(k - other for other in range(known) if other != k), -1, PRIME) for k in range(known)
    )


def _below(values: Elements) -> Elements:
    """Values below 2^64 modulo the prime; they are overwritten."""
    folded = values >> np.uint64(BITS)
    values &= np.uint64(PRIME)
    folded += values
    # What is below the prime already becomes larger, since it wraps around.
    np.subtract(folded, np.uint64(PRIME), out=values)
    np.minimum(folded, values, out=folded)
    return folded


def _shift_bits(values: Elements, by: int) -> Elements:
    """Values below 2^61 times 2^by, for by below 61: the bits that leave at the top return at the bottom.

    Below 2^61, and the prime itself for zero in the field.
    """
    if not by:
        return values
    top = values >> np.uint64(BITS - by)
    shifted = values & np.uint64((1 << (BITS - by)) - 1)
    shifted <<= np.uint64(by)
    shifted |= top
    return shifted
