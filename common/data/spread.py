"""Where numbers lie within their bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .lattice import Lattice
from .scale import Scale


@dataclass(frozen=True, eq=False)
class Spread:
    """Draws of numbers from cells.

    Attributes:
        cells: shape (n, 2): bounds of bins and atoms, increasing, closed below.
        scale: scale on which numbers are spread.
        lattice: the numbers are its multiples, except for atoms; None for any numbers.
    """

    cells: NDArray[np.float64]
    scale: Scale
    lattice: Lattice | None

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.cells)

    def drawn(
        self, codes: NDArray[np.int64], counts: NDArray[np.integer[Any]], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """A number of the cell of each code."""
        places = rng.random(len(codes))
        low, high = self._ends.T
        numbers = self.scale.numbers(low[codes] + places * (high[codes] - low[codes]))
        first, last = self._reach
        if self.lattice is None:
            return np.clip(numbers, first[codes], last[codes])
        multiples = np.clip(self.lattice.nearest(numbers), first[codes], last[codes])
        drawn = self.lattice.values(multiples)
        return np.where(self._alone[codes], self.cells[codes, 0], drawn)

    @cached_property
    def _alone(self) -> NDArray[np.bool_]:
        """Atoms that are no multiples."""
        if self.lattice is None:
            return np.zeros(self.size, dtype=np.bool_)
        first, last = self._reach
        return first > last

    @cached_property
    def _reach(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The smallest and the largest number, or multiple, of each cell."""
        low, high = self.cells.T
        if self.lattice is None:
            return low, np.nextafter(high, low)
        return self.lattice.first_from(low), self.lattice.first_from(high) - 1

    @cached_property
    def _ends(self) -> NDArray[np.float64]:
        """Where each cell begins and ends on the scale; a multiple reaches half a unit to both sides."""
        if self.lattice is None:
            return self.scale.of(self.cells)
        first, last = self._reach
        half = self.lattice.unit / 2
        ends = np.stack([self.lattice.values(first) - half, self.lattice.values(last) + half], axis=1)
        return self.scale.of(np.where(self._alone[:, None], self.cells, ends))
