"""What the steps of learning share: the table, the counts that may be asked for, and the number of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...common.measurement import mean_by_precision
from ...curator.releasing.bins.noisy_counts import NoisyCounts
from .cells import Cells
from .kinds import Vote
from .private_counts import Noisy, PrivateCounts
from .ranges import Range, Ruler, found_range, has_few_cells

PRESENT = 2.5
"""What is usual is there if its records exceed so many deviations of their noise."""

_MISSING_UNVOTED, _MISSING_VOTED = 3.1, 1.0
"""Missing values are there from so many deviations on, and from so many if cells voted for them: in a column
without any, noise says so once in 800 times."""

SURE_UNSEEN = 1.645
"""Records that nobody saw are at most their noisy number and so many deviations of it: 95 % one-sided."""

_HARDLY_ANY = 1e-9
"""Share of a column for questions after which nothing else is left: they are answered by noise."""

ZOOMS = 3
"""At most so many grids are drawn around the records."""

Values = Callable[[], NDArray[np.float64]]
"""Reads the numbers of a column, shape (N,), NaN where there is none."""


def tells_missing(voted: bool, records: float, sigma: float) -> bool:
    """Whether missing values are there.

    Args:
        voted: whether the votes of cells say so.
        records: noisy number of cells without a value.
        sigma: standard deviation of its noise.
    """
    return records > (_MISSING_VOTED if voted else _MISSING_UNVOTED) * sigma


@dataclass(frozen=True)
class Rows:
    """The number of rows of a table, as it may be known.

    Attributes:
        records: the number.
        variance: of its noise; zero if it is public.
    """

    records: float
    variance: float = 0.0

    def beside(self, totals: Sequence[NoisyCounts]) -> Rows:
        """The number, from more noisy counts of all rows."""
        if not self.variance:
            return self
        weights, sums = [1 / self.variance], [self.records]
        for counts in totals:
            boxes = -(-(len(counts.sums) - 1) // counts.widths[-1])
            weights.append(1 / (boxes * counts.variances[-1]))
            sums.append(float(counts.sums[-1]))
        return Rows(float(np.average(sums, weights=weights)), 1 / sum(weights))

    @classmethod
    def of_all(cls, counts: Noisy) -> Rows:
        """The number, from noisy counts of disjoint sets that hold all rows."""
        return cls(float(counts.values.sum()), counts.sigma**2 * len(counts.values))

    def average_with(self, other: Rows | None) -> Rows:
        """The average with another number of the same rows, by their precision; both have noise."""
        if other is None:
            return self
        mean, deviation = mean_by_precision((self.records, self.deviation), (other.records, other.deviation))
        return Rows(mean, deviation**2)

    @property
    def deviation(self) -> float:
        """Standard deviation of its noise."""
        return math.sqrt(self.variance)

    @property
    def stated(self) -> int:
        """The number that is published, at least one."""
        return max(1, round(self.records))


@dataclass(frozen=True)
class Asking:
    """The means of learning.

    Attributes:
        cells: the table.
        counts: what counts its rows.
        rows: their number.
        share: what each column may cost, zCDP.
        kept: what is left of the grant when all that learning may cost is spent, zCDP.
    """

    cells: Cells
    counts: PrivateCounts
    rows: Rows
    share: float
    kept: float = 0.0

    @property
    def records(self) -> float:
        """The number of rows, with noise."""
        return self.rows.records

    def part(self, share: float, columns: int, most: float = 0.15) -> float:
        """A share of a column, of which columns together take no more than a little of what bins are left.

        Args:
            share: of a column.
            columns: number of those that are asked for.
            most: of all that is left for learning.
        """
        left = self.counts.left - self.kept
        return max(_HARDLY_ANY, min(share, most * left / (self.share * max(1, columns))))

    def different_values(self, names: Iterable[str], part: float) -> dict[str, Noisy]:
        """The noisy number of different values of each column.

        Args:
            names: of the columns.
            part: share of a column.
        """
        asked = {name: partial(self._count_different, name) for name in names}
        return self.counts.histograms("different values", asked, part * self.share)

    def _count_different(self, name: str) -> NDArray[np.int64]:
        # One row more or less changes it by one at most.
        return np.array([self.cells.different(name)], dtype=np.int64)

    def ranges(
        self,
        step: str,
        values: Mapping[str, Values],
        rulers: Mapping[str, Ruler],
        votes: Mapping[str, Vote],
        first: float,
        next_: float,
    ) -> dict[str, Range]:
        """Where the numbers of columns are, by grids that are drawn closer around the records.

        Args:
            step: in the certificate.
            values: reads each column.
            rulers: the first grid of each.
            votes: what its cells voted for.
            first: share of a column for its first grid.
            next_: for each grid around the records.
        """
        found = self._find_ranges(step, values, rulers, votes, first)
        for _ in range(ZOOMS):
            closer = {
                name: Ruler.between(found[name].low, found[name].high, ruler.unit)
                for name, ruler in rulers.items()
                if found[name].certain and has_few_cells(ruler, found[name]) and not found[name].is_skewed
            }
            rulers = closer
            if not rulers:
                break
            found |= {
                # Only the first grid has a cell of zero alone.
                name: replace(one, zeros=found[name].zeros, zoomed=True)
                for name, one in self._find_ranges(step, values, rulers, votes, next_).items()
                if one.certain
            }
        return found

    def _find_ranges(
        self,
        step: str,
        values: Mapping[str, Values],
        rulers: Mapping[str, Ruler],
        votes: Mapping[str, Vote],
        part: float,
    ) -> dict[str, Range]:
        asked = {
            name: (ruler.cells, partial(_count_cells, ruler, values[name])) for name, ruler in rulers.items()
        }
        ladders = self.counts.ladders(step, asked, part * self.share)
        return {
            name: found_range(rulers[name], NoisyCounts.of(ladder, *self._cells_with_values(votes[name])))
            for name, ladder in ladders.items()
        }

    def _cells_with_values(self, vote: Vote) -> tuple[float, float]:
        """The number of cells that hold what their column does, and the variance of its noise."""
        return self.records - vote.missing, self.rows.variance + 2 * vote.deviation**2


def _count_cells(ruler: Ruler, values: Values) -> NDArray[np.int64]:
    return ruler.count_in_cells(values())
