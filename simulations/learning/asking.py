"""What the steps of learning share: the table, the counts that may be asked for, and the number of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...curator.releasing.noisy_counts import NoisyCounts
from .cells import Cells
from .private_counts import PrivateCounts
from .ranges import Range, Ruler, crowded, found_range

PRESENT = 2.5
"""What is usual is there if its records exceed so many deviations of their noise."""

SURE = 1.645
"""Records that nobody saw are at most their noisy number and so many deviations of it: 95 % one-sided."""

_ZOOMS = 3
"""At most so many grids are drawn around the records."""

Values = Callable[[], NDArray[np.float64]]
"""Reads the numbers of a column, shape (N,), NaN where there is none."""


@dataclass(frozen=True)
class Asking:
    """The means of learning.

    Attributes:
        cells: the table.
        counts: what counts its rows.
        records: number of rows, with noise.
        share: what each column may cost, zCDP.
    """

    cells: Cells
    counts: PrivateCounts
    records: float
    share: float

    def ranges(
        self, step: str, values: Mapping[str, Values], rulers: Mapping[str, Ruler], first: float, next_: float
    ) -> dict[str, Range]:
        """Where the numbers of columns are, by grids that are drawn closer around the records.

        Args:
            step: in the certificate.
            values: reads each column.
            rulers: the first grid of each.
            first: share of a column for its first grid.
            next_: for each grid around the records.
        """
        found = self._found(step, values, rulers, first)
        for _ in range(_ZOOMS):
            closer = {
                name: Ruler.between(found[name].low, found[name].high, ruler.unit)
                for name, ruler in rulers.items()
                if found[name].certain and crowded(ruler, found[name]) and not found[name].skewed
            }
            rulers = closer
            if not rulers:
                break
            found |= {
                name: one for name, one in self._found(step, values, rulers, next_).items() if one.certain
            }
        return found

    def _found(
        self, step: str, values: Mapping[str, Values], rulers: Mapping[str, Ruler], part: float
    ) -> dict[str, Range]:
        asked = {
            name: (ruler.cells, partial(_counted, ruler, values[name])) for name, ruler in rulers.items()
        }
        ladders = self.counts.ladders(step, asked, part * self.share)
        return {name: found_range(rulers[name], NoisyCounts.of(ladder)) for name, ladder in ladders.items()}


def _counted(ruler: Ruler, values: Values) -> NDArray[np.int64]:
    return ruler.counted(values())
