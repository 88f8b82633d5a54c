"""Counts of runs of codes from noisy sums at several resolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....common.measurement import Measurement


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Estimated counts of codes, and how sure the count of a run of codes is.

    Attributes:
        sums: estimated number of records before each code, shape (codes + 1,).
        widths: number of codes in a box of each resolution, the finest first.
        variances: of the estimated count of a box of each resolution.
        whole: variance of the estimated number of all records; None if that of the boxes is taken for it.
    """

    sums: NDArray[np.float64]
    widths: tuple[int, ...]
    variances: tuple[float, ...]
    whole: float | None = None

    @classmethod
    def of(
        cls, measurements: Sequence[Measurement], records: float | None = None, variance: float | None = None
    ) -> NoisyCounts:
        """The least-squares estimate, given all measurements and the number of records.

        Source: Hay, Rastogi, Miklau and Suciu, Boosting the accuracy of differentially private histograms
        through consistency (VLDB 2010), section 4: averages from the leaves up, then corrections down.

        Args:
            measurements: of one attribute: of single codes, and of boxes of neighbouring codes, each of which
                holds several boxes of the resolution below.
            records: number of records of all codes; None if it is not known.
            variance: of the noise of that number, which deviations then account for; None for a number that
                is taken as it is, with deviations as if it were not known.
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
        whole = None
        if records is not None and variance is not None:
            spread = variances[-1] * len(means[-1])
            share = spread / (spread + variance)
            records = share * records + (1 - share) * float(means[-1].sum())
            whole = share * variance
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
        return cls(sums, tuple(widths), tuple(variances), whole)

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
        """The standard deviations of the counts before each code, and from it on; see `sigmas`.

        Returns:
            Two arrays of shape (codes + 1,).
        """
        codes = len(self.sums) - 1
        places = np.arange(codes + 1)
        return self.sigmas(np.zeros_like(places), places), self.sigmas(places, np.full_like(places, codes))

    def sigma(self, first: int, stop: int) -> float:
        """The standard deviation of `between`."""
        return float(self.sigmas(np.array([first]), np.array([stop]))[0])

    def sigmas(self, first: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same of many runs of codes.

        In the least-squares estimate, how the boxes of a resolution differ from the mean of those in the same
        larger box is independent of all counts of larger boxes. Last boxes are taken to be full.

        Args:
            first: first code of each, shape (runs,).
            stop: code after the last of each.
        """
        variance = self._covariance(first, first) + self._covariance(stop, stop)
        return np.sqrt(np.maximum(variance - 2 * self._covariance(first, stop), 0.0))

    def _covariance(self, one: NDArray[np.int64], two: NDArray[np.int64]) -> NDArray[np.float64]:
        """The covariance of the numbers of records before codes; `one` are at most `two`, both (runs,).

        At each resolution, so many boxes count whole and the next one with a weight below one.
        """
        covariance = np.zeros(len(one))
        boxes = len(self.sums) - 1
        wholes, parts = [one, two], [np.zeros(len(one)), np.zeros(len(one))]
        for place, variance in enumerate(self.variances):
            both = wholes[0] + parts[0] * np.where(wholes[0] < wholes[1], 1.0, parts[1])
            if place + 1 == len(self.variances):
                if self.whole is None:
                    return covariance + variance * both
                shares = [(whole + part) / boxes for whole, part in zip(wholes, parts, strict=True)]
                product = shares[0] * shares[1]
                return covariance + variance * (both - boxes * product) + self.whole * product
            held = self.widths[place + 1] // self.widths[place]
            outer = [whole // held for whole in wholes]
            size = np.minimum(held, boxes - outer[0] * held).clip(1)
            inner = [whole - held * out + part for whole, out, part in zip(wholes, outer, parts, strict=True)]
            shared = both - held * outer[0] - inner[0] * inner[1] / size
            covariance += variance * np.where(outer[0] == outer[1], shared, 0.0)
            parts = [
                each / np.minimum(held, boxes - out * held).clip(1)
                for each, out in zip(inner, outer, strict=True)
            ]
            wholes, boxes = outer, -(-boxes // held)
        return covariance


def _width(measurement: Measurement) -> int:
    if not measurement.view.boxes:
        return 1
    ((first, stop),) = measurement.view.boxes[0]
    return stop - first
