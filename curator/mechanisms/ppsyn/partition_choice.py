"""How finely a marginal is measured: at the least budget, or with the least error."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .partitions import PartitionSequence


@dataclass(frozen=True)
class Partitioned:
    """A marginal that may be measured over boxes: its partitions, and what was measured of it so far.

    Attributes:
        sequence: its partitions; errors are the shares of a deviation that they hide, from 1 down to 0.
        cells: how many the marginal has.
        weight: of the marginal in the workload.
        boxes: how many the finest partition has that it was measured over; 0 before the first.
        contribution: its distance from the model when it was measured first, in records.
    """

    sequence: PartitionSequence
    cells: int
    weight: float
    boxes: int = 0
    contribution: float = 0.0

    def cheapest(self, eta: float) -> tuple[int, float]:
        """The partition that needs the least budget to keep the share 1 - eta of any contribution C.

        Noise may take what the boxes leave: rho = boxes^2 / pi (eta C - h C)^2 where they hide the share h.
        What earlier boxes have shown deviates no more, so what still deviates does so inside them.

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

    def finest_worth(self, noise: float) -> int:
        """How many boxes promise the least error: what they hide of the contribution, and their noise.

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
    """What a marginal needs: so many boxes, and a budget."""

    boxes: int
    zcdp_rho: float


def first_rise(sequence: PartitionSequence, contribution: float, eta: float, merging: bool) -> Requirement:
    """The last partition before the required budget begins to rise, and that budget.

    Source: PPSyn, Algorithm 3, from single cells on, where `merging`; else Algorithm 4, from one box on.

    Args:
        sequence: partitions; errors in records.
        contribution: in records, positive.
        eta: the share of it that partition and noise may take.
        merging: which algorithm.
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
