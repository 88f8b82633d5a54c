"""Integers modulo 2^32 or 2^64, and exact products of matrices of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from ...errors import BudgetError

Words = NDArray[np.unsignedinteger[Any]]
"""An array of ring elements, uint32 or uint64."""

_LIMB_BITS = {32: 16, 64: 22}
"""The products of two limbs, summed over `exact_rows` rows, stay below 2^53 and are exact in float64."""


@dataclass(frozen=True)
class Ring:
    """Integers modulo 2^bits; the upper half represents negative numbers.

    Attributes:
        bits: 32 or 64.
    """

    bits: int

    def __post_init__(self) -> None:
        if self.bits not in _LIMB_BITS:
            raise ValueError(f"a ring must have 32 or 64 bits, not {self.bits}")

    @classmethod
    def holding(cls, largest: int) -> Ring:
        """The smallest ring in which no integer up to this absolute value overflows.

        Raises:
            BudgetError: 64 bits do not suffice.
        """
        for bits in sorted(_LIMB_BITS):
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

    @property
    def exact_rows(self) -> int:
        """Largest number of rows for which `transposed_product` is exact."""
        return 1 << (53 - 2 * _LIMB_BITS[self.bits])

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

    def signed(self, words: Words) -> NDArray[np.int64]:
        """The integers of least absolute value that the words represent."""
        return words.view(np.dtype(f"<i{self.word_bytes}")).astype(np.int64)

    def transposed_product(self, left: Words, right: Words) -> Words:
        """left^T right, computed exactly by float64 matrix products of limbs.

        Args:
            left: shape (rows, m), at most `exact_rows` rows.
            right: shape (rows, n).

        Returns:
            Shape (m, n).
        """
        if len(left) > self.exact_rows:
            raise ValueError(f"at most {self.exact_rows} rows at a time, not {len(left)}")
        total = np.zeros((left.shape[1], right.shape[1]), dtype=np.uint64)
        left_limbs, right_limbs = self._limbs(left), self._limbs(right)
        for i, low in enumerate(left_limbs):
            # Products of limbs that are multiples of 2^bits are skipped.
            for j, high in enumerate(right_limbs[: len(right_limbs) - i]):
                product = (low.T @ high).astype(np.int64).view(np.uint64)
                total += product << np.uint64((i + j) * _LIMB_BITS[self.bits])
        return total.astype(self.dtype)

    def _limbs(self, words: Words) -> list[NDArray[np.float64]]:
        size = _LIMB_BITS[self.bits]
        mask = words.dtype.type((1 << size) - 1)
        return [
            ((words >> words.dtype.type(shift)) & mask).astype(np.float64)
            for shift in range(0, self.bits, size)
        ]
