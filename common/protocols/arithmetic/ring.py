"""Integers modulo 2^32 or 2^64, and exact products of matrices of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ...crypto.randomness import RandomStream
from ...errors import BudgetError
from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Words: TypeAlias = "NDArray[np.unsignedinteger[Any]]"
"""An array of ring elements, uint32 or uint64."""

_Limb: TypeAlias = "NDArray[np.float64]"
"""Some bits of each word."""

_RING_LIMB_BITS = 22
"""Size of the limbs of the 64-bit ring."""

_EXACT_ROWS = {32: 1 << 7, 64: 1 << 9}
"""Summed over so many rows, products of limbs are at most 2^53 and exact in float64: of a signed limb of 16
bits and a signed word of 32, or of two limbs of 22 bits."""


@dataclass(frozen=True)
class Ring:
    """Integers modulo 2^bits; the upper half represents negative numbers.

    Attributes:
        bits: 32 or 64.
    """

    bits: int

    def __post_init__(self) -> None:
        if self.bits not in _EXACT_ROWS:
            raise ValueError(f"a ring must have 32 or 64 bits, not {self.bits}")

    @classmethod
    def holding(cls, largest: int) -> Ring:
        """The smallest ring in which no integer up to this absolute value overflows.

        Raises:
            BudgetError: 64 bits do not suffice.
        """
        for bits in sorted(_EXACT_ROWS):
            if largest < 1 << (bits - 1):
                return cls(bits)
        raise BudgetError(
            "expected counts and noise that fit 64 bits, got more; lower the budget, for a coarser noise grid"
        )

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """uint32 or uint64."""
        return np.dtype(f"<u{self.word_bytes}")

    @property
    def word_bytes(self) -> int:
        """Bytes of one word."""
        return self.bits // 8

    def holds(self, largest: int) -> bool:
        """Whether no integer up to this absolute value overflows."""
        return largest < 1 << (self.bits - 1)

    def uniform(self, stream: RandomStream, rows: int, cells: int) -> Words:
        """The stream's next words, shape (rows, cells); the blocks of rows do not change the words."""
        words = stream.bytes(rows * cells * self.word_bytes)
        return words.view(self.dtype).reshape(rows, cells)

    def words(self, integers: NDArray[np.int64]) -> Words:
        """Integers reduced modulo 2^bits."""
        return integers.astype(self.dtype, casting="unsafe")

    def as_signed(self, words: Words) -> NDArray[np.int64]:
        """The integers of least absolute value that the words represent."""
        return words.view(np.dtype(f"<i{self.word_bytes}")).astype(np.int64)

    def transposed_product(self, left: Words, right: Words) -> Words:
        """left^T right, computed exactly by float64 matrix products of limbs.

        Args:
            left: shape (rows, m).
            right: shape (rows, n).

        Returns:
            Shape (m, n).
        """
        total = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
        at_once = _EXACT_ROWS[self.bits]
        # Few rows at a time, so that their limbs stay in the processor's cache.
        for start in range(0, len(left), at_once):
            rows = slice(start, start + at_once)
            for one, other, shift in self._limb_pairs(left[rows], right[rows]):
                total += (one.T @ other).astype(np.int64) << shift
        return total.astype(self.dtype)

    def _limb_pairs(self, left: Words, right: Words) -> Iterator[tuple[_Limb, _Limb, int]]:
        """Limbs whose products, each times two to its shift, add up to that of the words.

        Products that are multiples of 2^bits are left out.
        """
        if self.bits == 64:
            lefts, rights = _limbs(left), _limbs(right)
            for i, one in enumerate(lefts):
                for j, other in enumerate(rights[: len(rights) - i]):
                    yield one, other, (i + j) * _RING_LIMB_BITS
            return
        # The whole right word meets the low half of the left one; its own low half, the high half.
        low = left.astype(np.int16)
        high = ((left - low.astype(left.dtype)) >> left.dtype.type(16)).astype(np.int16)
        yield low.astype(np.float64), right.view(np.int32).astype(np.float64), 0
        yield high.astype(np.float64), right.astype(np.int16).astype(np.float64), 16


def _limbs(words: Words) -> list[_Limb]:
    """The limbs of words of the 64-bit ring, the lowest first."""
    mask = words.dtype.type((1 << _RING_LIMB_BITS) - 1)
    shifts = range(0, 64, _RING_LIMB_BITS)
    return [((words >> words.dtype.type(shift)) & mask).astype(np.float64) for shift in shifts]


WIDE = Ring(64)
"""Ring of the dealt words of row-wise products, whose low bits are words of the plan's ring."""
