"""Counts of runs of codes from noisy sums at several resolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...common.measurement import Measurement


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Estimated counts of codes, and how sure the count of a run of codes is.

    Attributes:
        sums: estimated number of records before each code, shape (codes + 1,).
        widths: number of codes in a box of each resolution, the finest first.
        variances: of the estimated count of a box of each resolution.
    """

    sums: NDArray[np.float64]
    widths: tuple[int, ...]
    variances: tuple[float, ...]

    @classmethod
    def of(cls, measurements: Sequence[Measurement], records: float | None = None) -> NoisyCounts:
        """The least-squares estimate, given all measurements and the number of records.

        Source: Hay, Rastogi, Miklau and Suciu, Boosting the accuracy of differentially private histograms
        through consistency (VLDB 2010), section 4: averages from the leaves up, then corrections down.

        Args:
            measurements: of one attribute: of single codes, and of boxes of neighbouring codes, each of which
                holds several boxes of the resolution below.
            records: number of records of all codes; None if it is not known.
        """
        levels = sorted(measurements, key=_width)
        widths = [_width(level) for level in levels]
        codes = len(levels[0].values)
        means = [levels[0].values.astype(np.float64)]
        variances = [levels[0].sigma ** 2]
        for level, below, width in zip(levels[1:], widths, widths[1:], strict=False):
            children = np.add.reduceat(means[-1], np.arange(0, len(means[-1]), width // below))
            # The last box may hold fewer; all are weighted as if they were full.
            spread = variances[-1] * (width // below)
            share = spread / (spread + level.sigma**2)
            means.append(share * level.values + (1 - share) * children)
            variances.append(share * level.sigma**2)
        total = means[-1] if records is None else np.array([float(records)])
        for place in reversed(range(len(means) - (records is None))):
            parents = codes if place + 1 == len(means) else widths[place + 1]
            first = np.arange(0, len(means[place]), max(1, parents // widths[place]))
            if place + 1 == len(means):
                first = np.array([0])
            held = np.diff(np.append(first, len(means[place])))
            missing = (total - np.add.reduceat(means[place], first)) / held
            total = means[place] + np.repeat(missing, held)
        sums = np.concatenate([[0.0], np.cumsum(total)])
        return cls(sums, tuple(widths), tuple(variances))

    @classmethod
    def single(cls, values: NDArray[np.float64], sigma: float) -> NoisyCounts:
        """Counts of single codes alone.

        Args:
            values: noisy number of records of each, shape (codes,).
            sigma: standard deviation of their noise.
        """
        return cls(np.concatenate([[0.0], np.cumsum(values)]), (1,), (sigma**2,))

    def between(self, first: int, stop: int) -> float:
        """The estimated number of records of the codes first to stop - 1."""
        return float(self.sums[stop] - self.sums[first])

    def deviations(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds of the standard deviations of the counts before each code, and from it on; see `sigma`.

        Returns:
            Two arrays of shape (codes + 1,).
        """
        codes = len(self.sums) - 1
        starts = np.arange(codes + 1)
        below, above = np.zeros(codes + 1), np.zeros(codes + 1)
        # From the coarsest boxes on: what is left before a code, and up to where boxes follow it.
        left, until = np.where(starts == codes, 0, starts), np.full(codes + 1, codes)
        whole = -(-codes // self.widths[-1]) * self.variances[-1]
        for width, each in zip(reversed(self.widths), reversed(self.variances), strict=True):
            below += left // width * each
            left = left % width
            after = np.minimum(-(-starts // width) * width, until)
            above += -(-(until - after) // width) * each
            until = after
        below[-1] = whole
        return np.sqrt(below), np.sqrt(above)

    def sigma(self, first: int, stop: int) -> float:
        """A bound of the standard deviation of `between`: that of the boxes that make up the run."""
        return float(self.sigmas(np.array([first]), np.array([stop]))[0])

    def sigmas(self, first: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same of many runs.

        Args:
            first: first code of each, shape (runs,).
            stop: code after the last of each.
        """
        codes, variance = len(self.sums) - 1, np.zeros(len(first))
        left = [(first, stop)]
        for width, each in zip(reversed(self.widths), reversed(self.variances), strict=True):
            rest = []
            for a, b in left:
                low, high = -(-a // width) * width, np.where(b == codes, b, b // width * width)
                whole = low < high
                variance += np.where(whole, each * -(-(high - low) // width), 0.0)
                rest += [(a, np.where(whole, low, b)), (np.where(whole, high, b), b)]
            left = rest
        return np.sqrt(variance)


def _width(measurement: Measurement) -> int:
    if not measurement.boxes:
        return 1
    ((first, stop),) = measurement.boxes[0]
    return stop - first
