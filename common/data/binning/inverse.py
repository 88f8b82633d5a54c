"""Inverses of tabulated distribution functions, of many ranks at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PLACED_PARTS = 1024
"""Most parts of a row of which it is known in which step they begin."""

_ALL_PARTS = 2**16
"""Those of all rows together."""

_FEWEST_PARTS = 32
"""With fewer parts, too many steps are in one."""

_MANY_RANKS = 2**12
"""Ranks for which it is worth to look up where parts begin."""


@dataclass(frozen=True, eq=False)
class Inverse:
    """Rows of increasing functions, given at some steps and linear between them.

    Attributes:
        below: where the steps are, shape (n, s): from k to k + 1 in row k, increasing.
        steps: the values there, shape (n, s).
    """

    below: NDArray[np.float64]
    steps: NDArray[np.float64]

    def at(self, position: NDArray[np.int64], ranks: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values at position + rank: to the bit what `np.interp` gives.

        Of many ranks, the steps are not searched for, but looked up where a part of a row begins; few are
        left to go from there.

        Args:
            position: rows, shape (N,).
            ranks: from 0 to 1, shape (N,).
        """
        known, values, wanted = self.below.ravel(), self.steps.ravel(), position + ranks
        parts = self._parts_of_a_row
        if parts < _FEWEST_PARTS or len(ranks) < _MANY_RANKS:
            return np.interp(wanted, known, values)
        starts, most, beyond, slopes = self._parts
        at = (ranks * parts).astype(np.int64)
        np.minimum(at, parts - 1, out=at)
        at += position * parts
        at = starts[at]
        for _ in range(most):
            at += beyond[at] <= wanted
        wanted -= known[at]
        wanted *= slopes[at]
        wanted += values[at]
        return wanted

    @cached_property
    def _parts(self) -> tuple[NDArray[np.int64], int, NDArray[np.float64], NDArray[np.float64]]:
        """The step at the start of each part, most steps in one part, the end and the slope of each step."""
        parts = self._parts_of_a_row
        known, values = self.below.ravel(), self.steps.ravel()
        starts = np.searchsorted(known, np.arange(parts * len(self.below)) / parts, side="right") - 1
        most = int(np.diff(starts, append=len(known) - 1).max())
        widths = np.diff(known, append=np.inf)
        rises = np.diff(values, append=0)
        slopes = np.divide(rises, widths, out=np.zeros(len(known)), where=widths > 0)
        return starts, most, np.append(known[1:], np.inf), slopes

    @property
    def _parts_of_a_row(self) -> int:
        return min(_PLACED_PARTS, _ALL_PARTS // len(self.below))
