"""The bins of a number of rows: how many rows of a table belong to a row of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.numeric import NumericAttribute
from ..learning.private_counts import PrivateCounts

_SHARE = 0.05
"""Share of a table's budget for the bins of one number."""

_CLASSES = 21
"""None, 1, 2 to 3, 4 to 7 and so on; more than 2^20 rows count as so many."""

_SURE, _MANY = 4.0, 16.0
"""From so many deviations of noise on, a class is used, and divided into bins."""

_EXACT, _IN_CLASS = 3, 4
"""If these classes are the only ones, each number has a bin; otherwise a class has so many bins at most."""


def number_of_rows(
    name: str, numbers: NDArray[np.int64], counts: PrivateCounts, rho: float
) -> NumericAttribute:
    """The bins of a number of rows, up to the largest class that noise does not hide.

    Each person has one number. The charge is that of a marginal.

    Args:
        name: of the column.
        numbers: one of each person, shape (people,).
        counts: charges what is counted.
        rho: budget of the table, of which a part is spent.
    """
    classes = np.where(numbers < 1, 0, np.floor(np.log2(np.maximum(numbers, 1))) + 1).astype(np.int64)
    held = np.bincount(np.minimum(classes, _CLASSES), minlength=_CLASSES + 1)
    noisy = counts.histograms("numbers of rows", {name: lambda: held}, rho * _SHARE)[name]
    deviations = noisy.values / noisy.sigma
    last = max(1, int(np.flatnonzero(deviations > _SURE).max(initial=1)))
    end = (1 << last) - 1
    if last <= _EXACT:
        return NumericAttribute(name, 0, end, end + 1, integer=True)
    edges = [0]
    for one in range(1, last + 1):
        start = 1 << (one - 1)
        bins = min(start, _IN_CLASS) if deviations[one] > _MANY else 1
        edges += range(start, 2 * start, start // bins)
    edges.append(end)
    return NumericAttribute(name, 0, end, len(edges) - 1, integer=True, edges=tuple(map(float, edges)))
