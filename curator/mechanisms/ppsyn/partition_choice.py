"""The choice of a marginal's partition: for the least budget, or for the least error."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .partitions import PartitionSequence


@dataclass(frozen=True)
class Partitioned:
    """A marginal that may be measured over boxes: its partitions and its measurements so far.

    Attributes:
        sequence: its partitions; their errors are the hidden shares of a deviation, from 1 down to 0.
        cells: number of cells of the marginal.
        weight: weight of the marginal in the workload.
        boxes: number of boxes of the finest partition measured so far; 0 before the first.
        contribution: its distance from the model before its first measurement, in records.
    """

    sequence: PartitionSequence
    cells: int
    weight: float
    boxes: int = 0
    contribution: float = 0.0

    def cheapest(self, eta: float) -> tuple[int, float]:
        """The partition that needs the least budget to measure the share 1 - eta of any contribution C.

        If boxes hide the share h, noise may have the rest of eta: rho = boxes^2 / pi (eta C - h C)^2. The
        model already fits the sums over earlier boxes, so the remaining deviation lies inside them.

        Source: PPSyn, Algorithm 4, line 16.

        Returns:
            The number of boxes, and the square root of rho pi C^2.
        """
        before = self.sequence.error(self.boxes) if self.boxes else 1.0
        if not before:
            return self.cells, self.cells / eta
        best, least, count = self.cells, self.cells / eta, 1
        while count / eta < least and (hidden := self.sequence.error(count)) is not None:
            kept = eta - hidden / before
            if kept > 0 and count / kept < least:
                best, least = count, count / kept
            count += 1
        return best, least

    def finest_worthwhile(self, noise: float) -> int:
        """The number of boxes with the least expected error: hidden contribution plus noise.

        Source: PPSyn, Theorem 3.

        Args:
            noise: expected absolute value of the noise of one sum, in records.
        """
        best, least, count = 1, math.inf, 1
        while count * noise < least and (hidden := self.sequence.error(count)) is not None:
            error = self.contribution * hidden + count * noise
            if error < least:
                best, least = count, error
            count += 1
        return best


@dataclass(frozen=True)
class Requirement:
    """The number of boxes and the budget that a marginal requires."""

    boxes: int
    zcdp_rho: float


def first_rise(sequence: PartitionSequence, contribution: float, eta: float, merging: bool) -> Requirement:
    """The last partition before the required budget begins to increase, and that budget.

    Source: PPSyn, Algorithm 3, starting at single cells, if `merging`; else Algorithm 4, starting at one box.

    Args:
        sequence: partitions; errors in records.
        contribution: contribution of the marginal, in records, positive.
        eta: share of the contribution that partition and noise may lose.
        merging: use Algorithm 3.
    """
    count, step = (sequence.largest(), -1) if merging else (1, 1)
    best = Requirement(count, math.inf)
    while count and (lost := sequence.error(count)) is not None:
        kept = eta * contribution - lost
        rho = count**2 / (math.pi * kept**2) if kept > 0 else math.inf
        if rho > best.zcdp_rho:
            break
        best = Requirement(count, rho)
        count += step
    return best
