"""The bins of a number of rows: how many rows of a table belong to a row of another."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.numeric import NumericAttribute

ROW_CLASSES = 22
"""None, 1, 2 to 3, 4 to 7 and so on; more than 2^20 rows count as so many."""

_USED_ANYWHERE, _USED_NEXT, _USED_FIRST = 4.0, 2.5, 1.0
"""So many deviations of noise let a class be used wherever it lies, or next to used ones; the first class of
several rows needs fewer where noise may hide half of the people with one row."""

_TOGETHER = 3
"""So many classes beside each other may be seen together, where each alone is not."""

_NEXT = 2
"""So many classes above the last used one are next to it."""

_IN_CLASS, _DIVIDED = 4, 2.0
"""A class has so many bins at most, each of so many deviations on average."""


def classes_of(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The class of each number of rows."""
    found = np.where(numbers < 1, 0, np.floor(np.log2(np.maximum(numbers, 1))) + 1).astype(np.int64)
    return np.minimum(found, ROW_CLASSES - 1)


def number_of_rows(name: str, counts: NDArray[np.float64], sigma: float, least: int = 0) -> NumericAttribute:
    """The bins of a number of rows, up to two classes above the largest one that noise does not hide.

    What these two hold, the release of the parents sees with less noise (`drawing.numbers.shrink_tail`). A
    class far above all others needs more people than the next ones do, itself or with those below it: by
    mistake it would give some person thousands of rows. People who all have about as many rows, such as
    devices that report every hour, lie in few classes.

    Args:
        name: of the column.
        counts: noisy numbers of people of each class, shape (CLASSES,).
        sigma: standard deviation of their noise.
        least: 1 if it is known that everybody has a row, and 0 if not.
    """
    deviations = counts / sigma
    last = 1
    for one in range(2, ROW_CLASSES):
        needed = _needed_first(float(deviations[1])) if last == 1 else _USED_NEXT
        if deviations[one] > needed if one <= last + _NEXT else _is_far(deviations[last + 1 : one + 1]):
            last = one
    if last == 1:
        return NumericAttribute(name, least, 1, 2 - least, integer=True)
    last = min(last + _NEXT, ROW_CLASSES - 1)
    edges = [0] * (1 - least)
    for one in range(1, last + 1):
        start = bins = 1 << (one - 1)
        while bins > 1 and (bins > _IN_CLASS or deviations[one] < bins * _DIVIDED):
            bins //= 2
        edges += range(start, 2 * start, start // bins)
    edges.append((1 << last) - 1)
    bounds, bins = (edges[0], edges[-1]), len(edges) - 1
    return NumericAttribute(name, *bounds, bins, integer=True, edges=tuple(map(float, edges)))


def _is_far(deviations: NDArray[np.float64]) -> bool:
    """Whether the last of some classes above all others is used: by itself, or with the ones before it."""
    together = deviations[: -_TOGETHER - 1 : -1].cumsum() / np.sqrt(np.arange(1, _TOGETHER + 1))
    return bool(deviations[-1] > _USED_FIRST and together.max() > _USED_ANYWHERE)


def _needed_first(ones: float) -> float:
    """The deviations from which on several rows for half of the people with one are likelier than for none.

    Args:
        ones: number of people with one row, in deviations.
    """
    likelier = math.sqrt(2 * math.log(max(ones / 2, 1.0)))
    return min(max(likelier, _USED_FIRST), _USED_NEXT)
