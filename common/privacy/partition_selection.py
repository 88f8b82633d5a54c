"""Partition selection: which labels of a column are frequent, by noisy counts above a threshold.

Source: Korolova, Kenthapadi, Mishra, Ntoulas, "Releasing Search Queries and Clicks Privately" (2009), for the
threshold; Wilkins, Kifer, Zhang, Karrer, "Exact Privacy Analysis of the Gaussian Sparse Histogram Mechanism"
(2024), for Gaussian noise. `docs/adr/0047` has the proof for discrete noise and several rows of a person.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

from ..crypto.randomness import RandomStream
from ..errors import BudgetError
from ..later import np
from .cost import grid_of
from .noise import noisy_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_DELTA = 0.1
"""Largest delta of a selection; the bound on the tail of the noise needs it."""

_ERFC_ERROR = 1 + 1e-12


def tail_bound(units: int, scale: float) -> float:
    """Upper bound on the probability that discrete Gaussian noise reaches a number of units.

    The density exp(-x^2 / (2 scale^2)) is convex from scale on, so that its value at a whole number is at
    most its mean over the unit interval around it. The sum over all whole numbers is at least that of the
    continuous density (Poisson summation). At scale 256 the bound is within 1e-4 of the probability.

    Args:
        units: at least scale + 1/2.
        scale: of the noise, in the same units, at least 256.
    """
    if units - 0.5 < scale:
        raise ValueError("the bound holds for the tail beyond one scale")
    return math.erfc((units - 0.5) / scale / math.sqrt(2)) / 2 * _ERFC_ERROR


def threshold(sigma: float, delta: float, multiple: int = 1) -> int:
    """The least noisy count of a label that is stated, in units of 1/g for g = `grid_of(sigma)`.

    A person's m rows have one label alone, or up to m of them. The probability that any is stated is largest
    at one of the ends, since the tail of the noise is convex: m rows of one label, or m labels of one row.

    Guarantee: labels that only one person has are stated with probability at most delta.

    Args:
        sigma: scale of the noise of each label's count, in rows.
        delta: in (0, `LARGEST_DELTA`].
        multiple: number m of rows of one person (`PrivacyUnit.multiple`).

    Raises:
        BudgetError: delta is out of range, or sigma is.
    """
    if not 0 < delta <= LARGEST_DELTA:
        raise BudgetError(
            f"delta of labels: expected more than 0 and at most {LARGEST_DELTA}, got another; correct it"
        )
    grid = grid_of(sigma)
    one_label = grid * multiple + _quantile(grid * sigma, delta)
    one_row_each = grid + _quantile(grid * sigma, delta / multiple)
    return max(one_label, one_row_each)


def frequent(
    counts: NDArray[np.int64],
    sigma: float,
    delta: float,
    multiple: int,
    most: int,
    stream: RandomStream,
) -> NDArray[np.intp]:
    """The labels whose noisy counts reach the threshold; noise is drawn for each label that occurs.

    Guarantee: with the cost rho of `gaussian_cost(sigma, unit)` the choice adds rho to the zCDP (and 2 rho to
        mu^2) of a release, and delta to its delta, under zero-out and replace-one; delta once for each slice,
        and the sum over the columns of a slice.
    Assumes (not enforced): a person has at most `multiple` rows; the counts come in an order that
        follows from the labels; the cost is charged.

    Args:
        counts: shape (L,), rows of each label, at least 1; labels that do not occur are left out.
        sigma: scale of the noise, in rows.
        delta: see `threshold`.
        multiple: see `threshold`.
        most: largest number of labels that are stated.
        stream: random words.

    Returns:
        Positions in `counts`, increasing; if there are too many, those of the largest noisy counts.
    """
    if counts.size and counts.min() < 1:
        raise ValueError("noise is drawn only for labels that occur")
    noisy = noisy_counts(counts, sigma, stream)
    stated = np.flatnonzero(noisy >= threshold(sigma, delta, multiple))
    largest = np.argsort(-noisy[stated], kind="stable")[:most]
    return np.sort(stated[largest])


def _quantile(scale: float, delta: float) -> int:
    """The least number of units that noise reaches with probability at most delta, by `tail_bound`."""
    units = max(math.ceil(scale + 0.5), math.floor(-scale * NormalDist().inv_cdf(delta)))
    while tail_bound(units, scale) > delta:
        units += 1
    return units
