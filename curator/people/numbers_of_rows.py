"""The bins of a number of rows: how many rows of a table belong to a row of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.numeric import NumericAttribute

ROW_CLASSES = 22
"""None, 1, 2 to 3, 4 to 7 and so on; more than 2^20 rows count as so many."""

_USED_ANYWHERE, _USED_NEXT, _DIVIDED = 4.0, 2.5, 16.0
"""So many deviations of noise let a class be used wherever it lies, or next to used ones, or be divided."""

_NEXT = 2
"""So many classes above the last used one are next to it."""

_EXACT_CLASSES, _IN_CLASS = 3, 4
"""If these classes are the only ones, each number has a bin; otherwise a class has so many bins at most."""


def classes_of(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The class of each number of rows."""
    found = np.where(numbers < 1, 0, np.floor(np.log2(np.maximum(numbers, 1))) + 1).astype(np.int64)
    return np.minimum(found, ROW_CLASSES - 1)


def number_of_rows(name: str, counts: NDArray[np.float64], sigma: float) -> NumericAttribute:
    """The bins of a number of rows, up to the largest class that noise does not hide.

    A class far above all others needs more people than the next ones do: by mistake it would give some person
    thousands of rows.

    Args:
        name: of the column.
        counts: noisy numbers of people of each class, shape (CLASSES,).
        sigma: standard deviation of their noise.
    """
    deviations = counts / sigma
    last = 1
    for one in range(2, ROW_CLASSES):
        if deviations[one] > (_USED_NEXT if one <= last + _NEXT else _USED_ANYWHERE):
            last = one
    end = (1 << last) - 1
    if last <= _EXACT_CLASSES:
        return NumericAttribute(name, 0, end, end + 1, integer=True)
    edges = [0]
    for one in range(1, last + 1):
        start = 1 << (one - 1)
        bins = min(start, _IN_CLASS) if deviations[one] > _DIVIDED else 1
        edges += range(start, 2 * start, start // bins)
    edges.append(end)
    return NumericAttribute(name, 0, end, len(edges) - 1, integer=True, edges=tuple(map(float, edges)))
