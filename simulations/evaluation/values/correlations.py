"""Correlations of the numbers of both tables: not for publication."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from .values import Array, Values


@dataclass(frozen=True)
class Correlation:
    """The correlation of two columns of numbers, over the records that have both.

    Attributes:
        pair: the two attributes, in domain order.
        pearson: of the values, in the real and in the synthetic table; None if one column is constant.
        spearman: of their ranks in their columns, likewise.
    """

    pair: tuple[str, str]
    pearson: tuple[float | None, float | None]
    spearman: tuple[float | None, float | None]

    @property
    def error(self) -> float:
        """The larger of the two differences; an unknown correlation counts as 0."""
        return max(abs((real or 0.0) - (made or 0.0)) for real, made in (self.pearson, self.spearman))


def correlations(real: Values, synthetic: Values) -> list[Correlation]:
    """The correlations of every two columns of numbers, the largest difference first."""
    names = [name for name in real.table.domain if name in real.numbers]
    ranks = [{name: _ranks(values.numbers[name]) for name in names} for values in (real, synthetic)]
    found = [
        Correlation(
            (left, right),
            *(
                (_correlation(one[left], one[right]), _correlation(other[left], other[right]))
                for one, other in ((real.numbers, synthetic.numbers), ranks)
            ),
        )
        for left, right in itertools.combinations(names, 2)
    ]
    return sorted(found, key=lambda correlation: -correlation.error)


def _correlation(left: Array, right: Array) -> float | None:
    both = ~(np.isnan(left) | np.isnan(right))
    x, y = left[both], right[both]
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _ranks(numbers: Array) -> Array:
    ranks: Array = rankdata(numbers, nan_policy="omit")
    return ranks
