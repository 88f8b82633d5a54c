"""How far a release may be from the table in how numbers lie inside their bins, which no measurement says.

Within a bin numbers are drawn from a density that follows the neighbouring bins (`binning/spread`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....common.data.attributes.dates import bins_of
from ....common.data.attributes.inside_bins import divide
from ....common.data.attributes.numeric import NumericAttribute
from ....common.data.domain import Clique
from ...results.evidence import Evidence
from .variation import LEAST_KAPPA, margin_of

Array = NDArray[np.float64]

_POINTS = 64
"""Numbers of a bin from which the mean of an even density is computed."""


def inside_bins(evidence: Evidence, clique: Clique, codes: NDArray[np.int64], weights: Array) -> float:
    """The relative error of a release in functions of numbers inside bins.

    Over K bins that hold about as many records each, a density that falls to nothing makes the mean of
    values that are spread evenly off by about 1 / K of the deviation inside: an exponential one by .58 / K. K
    is the effective number of the bins of several values. The density in the first and the last of them
    is extrapolated, and may be off by more: see `_error_at_ends`.

    Args:
        evidence: noisy measurements.
        clique: attributes.
        codes: combinations of their codes, shape (n, attributes).
        weights: the release's records there, shape (n,).
    """
    found = LEAST_KAPPA
    for name, column in zip(clique, codes.T, strict=True):
        bins = bins_of(evidence.domain[name])
        if bins is not None:
            several = np.flatnonzero(bins.reach[:, 1] > bins.reach[:, 0])
            shares = margin_of(evidence, name)[several]
            if shares.any():
                released: Array = np.bincount(column, weights, len(bins.reach)).astype(np.float64)
                even = float(shares @ shares) / float(shares.sum()) ** 2
                found = max(found, even, _error_at_ends(bins, released[: len(bins.reach)], several))
    return found


def _error_at_ends(bins: NumericAttribute, counts: Array, several: NDArray[np.int64]) -> float:
    """The error of the first and the last bin in a column's mean, in deviations of all numbers inside bins.

    A density that is even in the bin is two standard errors away from the one that numbers are drawn from.

    Args:
        bins: of the column.
        counts: records of the release in each bin and atom, from which its numbers are drawn.
        several: the bins of several values.
    """
    drawn = divide(bins, counts, ())
    inside = float(counts @ drawn.variances) / counts.sum()
    if not inside > 0:
        return 0.0
    error = 0.0
    for place in {int(several[0]), int(several[-1])}:
        low, high = bins.scale.of(bins.reach[place])
        even = float(bins.scale.numbers(np.linspace(low, high, _POINTS)).mean())
        error += (float(counts[place]) / counts.sum() * (even - float(drawn.means[place])) / 2) ** 2
    return float(np.sqrt(error / inside))
