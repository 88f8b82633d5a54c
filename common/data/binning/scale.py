"""Scales on which numbers are divided into bins and spread within them."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Scale(enum.StrEnum):
    """A monotone function of numbers; bins are of equal width on it."""

    LINEAR = "linear"
    LOG = "log"
    SYMLOG = "symlog"

    def of(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """The numbers on the scale; `log` needs positive numbers, `symlog` is asinh."""
        match self:
            case Scale.LINEAR:
                return numbers
            case Scale.LOG:
                return np.log(numbers)
            case Scale.SYMLOG:
                return np.arcsinh(numbers)

    def numbers(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """The numbers at these places on the scale."""
        match self:
            case Scale.LINEAR:
                return places
            case Scale.LOG:
                return np.exp(places)
            case Scale.SYMLOG:
                return np.sinh(places)

    def divide(self, minimum: float, maximum: float, bins: int) -> NDArray[np.float64]:
        """Edges of bins of equal width on this scale, shape (bins + 1,)."""
        low, high = self.of(np.array([minimum, maximum], dtype=np.float64))
        edges = self.numbers(np.linspace(low, high, bins + 1))
        edges[0], edges[-1] = minimum, maximum
        return edges
