"""What two attributes have to do with each other in a table that is public: correspondence analysis.

Residuals of counts from independence, in standard deviations, are a matrix of noise of variance 1, which is
sampling error, plus a relation that has few singular values as a rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....common.data.grouping import Grouping
from ....common.data.view import View

Array = NDArray[np.float64]

DECOMPOSED = range(32, 2**16 + 1)
"""Numbers of cells of pairs whose sampling error is taken away: smaller ones have little of it."""

TELLING_PAIRS = 3
"""Pairs that tell whether an earlier table is right."""

_CHANGED_SINCE = 0.25
"""Typical change of these since, as a share of what they were."""

_SUREST = 4.0
"""Most that they say of one hypothesis beside the other, as a logarithm."""

_STRONG = 2.0
"""Above this mean squared contingency a pair is left as it is: its empty cells have no sampling error."""


@dataclass(frozen=True, eq=False)
class Telling:
    """Pairs in two groups of codes by two, by which an earlier table that is right differs from a wrong one.

    Their interactions have one degree of freedom, and hardly depend on single counts.

    Attributes:
        views: their interactions.
        expected: of each the first cell in the earlier table, in records, shape (views,); positive.
    """

    views: tuple[View, ...]
    expected: Array

    def power(self, deviation: float) -> float:
        """How far what is expected is from no interaction, in standard deviations of the noise of a cell."""
        return math.sqrt(float((self.expected**2).sum())) / deviation

    def ratio(self, found: Array, deviation: float) -> float:
        """How much likelier noisy first cells are if the table is right, as a logarithm, within `_SUREST`.

        If it is wrong, interactions are of either sign and as large as in the table.

        Args:
            found: shape (views,), in records.
            deviation: standard deviation of their noise.
        """
        logs = []
        for mean, spread in ((self.expected, _CHANGED_SINCE), (0.0, 1.0)):
            variance = deviation**2 + (spread * self.expected) ** 2
            logs.append(float((-((found - mean) ** 2) / (2 * variance) - 0.5 * np.log(variance)).sum()))
        return max(-_SUREST, min(_SUREST, logs[0] - logs[1]))


def without_sampling(counts: Array, shape: tuple[int, int]) -> tuple[Array, float]:
    """A marginal of two attributes without most of its sampling error, if it has as many cells as that.

    Args:
        counts: positive counts, shape (n_r,).
        shape: numbers of values, each at least 2.

    Returns:
        Counts, shape (n_r,), and the share of the sampling error's variance that is left in them.

    Source: Gavish and Donoho, "Optimal shrinkage of singular values" (2017), for the squared error.
    """
    if counts.size not in DECOMPOSED:
        return counts, 1.0
    expected, left, found, right = _residuals(counts, shape)
    many, few = max(shape) - 1, min(shape) - 1
    if (found**2).sum() - many * few > _STRONG * counts.sum():
        return counts, 1.0
    ratio, squares = few / many, found**2 / many
    shown = np.sqrt(squares) > 1 + math.sqrt(ratio)
    kept = np.where(shown, np.sqrt(np.maximum((squares - 1 - ratio) ** 2 - 4 * ratio, 0.0) * many), 0.0)
    kept = kept / np.sqrt(np.maximum(squares, 1.0))
    signal = expected + np.sqrt(expected) * ((left * kept) @ right)
    rank = min(few, int(shown.sum()) + 1)  # One more may be hidden.
    return np.maximum(signal, counts.min()).ravel(), rank * (many + few - rank) / (many * few)


def strongest_scores(counts: Array, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Scores of both attributes' values that have the largest correlation, shape (n,) and (m,).

    Args:
        counts: positive counts, shape (n_r,).
        shape: numbers of values, each at least 2.
    """
    expected, left, _, right = _residuals(counts, shape)
    return left[:, 0] / np.sqrt(expected.sum(axis=1)), right[0] / np.sqrt(expected.sum(axis=0))


def halves(scores: Array, shares: Array) -> Grouping:
    """Codes in two groups of about even shares, those with low scores and those with high ones.

    Args:
        scores: of each code, shape (n,), n >= 2.
        shares: of each code; their sum is 1.
    """
    order = np.argsort(scores, kind="stable")
    high = np.cumsum(shares[order]) - shares[order] / 2 > 0.5
    high[0], high[-1] = False, True
    return tuple(high[np.argsort(order)].astype(int).tolist())


def _residuals(counts: Array, shape: tuple[int, int]) -> tuple[Array, Array, Array, Array]:
    """Counts of independent attributes, and the singular values and vectors of residuals from these."""
    table = counts.reshape(shape)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    left, found, right = np.linalg.svd((table - expected) / np.sqrt(expected), full_matrices=False)
    return expected, left, found, right
