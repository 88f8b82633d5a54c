"""Multiples of a decimal number, exact and as short in print as they were written."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...forms.notation import LARGEST_WHOLE
from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Lattice:
    """The multiples of a unit.

    A multiple is computed as a quotient of whole numbers, so that it is the float64 nearest to the decimal
    number: 3 times 0.1 is 0.3, not 0.30000000000000004.
    """

    unit: float

    def values(self, multiples: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """The numbers that are so many times the unit."""
        digits, power = self._quotient
        return multiples.astype(np.float64) * digits / power

    def nearest(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """The nearest multiple of each number."""
        return np.rint(numbers / self.unit).astype(np.int64)

    def first_from(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """The smallest multiple at or above each number."""
        near = self.nearest(numbers) - 1
        for _ in range(2):
            near += self.values(near) < numbers
        return near

    def last_to(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """The largest multiple at or below each number."""
        return -self.first_from(-numbers)

    def holds(self, numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which numbers are multiples, up to errors of arithmetic."""
        with np.errstate(over="ignore", invalid="ignore"):
            places = numbers / self.unit
            near: NDArray[np.bool_] = np.abs(places - np.rint(places)) <= 1e-6 + 1e-15 * np.abs(places)
        return near

    def snap(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The numbers, exact multiples where they are multiples up to errors of arithmetic."""
        snapped = numbers.copy()
        held = self.holds(numbers) & (np.abs(numbers) <= LARGEST_WHOLE * self.unit)
        snapped[held] = self.values(self.nearest(numbers[held]))
        return snapped

    def has_decimals(self, decimals: int) -> bool:
        """Whether all multiples can be written with so many decimals."""
        return self._quotient[1] <= 10.0**decimals

    @cached_property
    def _quotient(self) -> tuple[float, float]:
        sign_digits_exponent = Decimal(repr(float(self.unit))).normalize().as_tuple()
        exponent = int(sign_digits_exponent.exponent)
        digits = int("".join(map(str, sign_digits_exponent.digits)))
        return float(digits * 10 ** max(exponent, 0)), 10.0 ** max(-exponent, 0)
