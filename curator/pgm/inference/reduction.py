"""Sums and maxima of an array over some of its axes, and broadcasting back, in long runs of memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ONE_CALL_CELLS = 4096
"""With fewer cells, one call of numpy is fastest."""
_LONG = 16
"""Number of values from which a sum along the last axis is fast."""
_LONG_INNER_LOOP = 64
"""Number of values from which numpy's cost of starting an inner loop is negligible."""


@dataclass(frozen=True)
class Reduction:
    """A sum or maximum over axes, prepared once for arrays of one shape (row-major).

    numpy takes up to 50 times longer if the last axis is short and several separate axes are reduced.

    Attributes:
        kept: shape of the result, with 1 for reduced axes.
        axes: axes to reduce, for small arrays in one call; None if `steps` are taken.
        steps: shapes (before, reduced, after) as which the array is viewed one after another; the middle axis
            is reduced.
        wide: shape `kept` with its last axes as long as the array's, for broadcasting in long runs; None if
            that is not faster.
    """

    kept: tuple[int, ...]
    axes: tuple[int, ...] | None
    steps: tuple[tuple[int, int, int], ...]
    wide: tuple[int, ...] | None

    @classmethod
    def of(cls, shape: Sequence[int], axes: Sequence[int]) -> Reduction:
        """Prepare the reduction of arrays of a shape over the given axes."""
        kept = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
        if math.prod(shape) <= _ONE_CALL_CELLS:
            return cls(kept, tuple(axes), (), None)
        steps = []
        sizes = [(n, axis in axes) for axis, n in enumerate(shape) if n > 1]
        trailing = _trailing(sizes)
        if trailing >= _LONG:
            while sizes and sizes[-1][1]:
                sizes.pop()
            steps.append((_product(sizes), trailing, 1))
        while any(reduced for _, reduced in sizes):
            place = next(place for place, (_, reduced) in enumerate(sizes) if reduced)
            steps.append((_product(sizes[:place]), sizes[place][0], _product(sizes[place + 1 :])))
            del sizes[place]
        return cls(kept, None, tuple(steps), _wide(shape, kept))

    def sum(self, array: Array) -> Array:
        """Sum an array of that shape; shape `kept`."""
        return self._apply(np.add, array)

    def max(self, array: Array) -> Array:
        """Largest value of an array of that shape; shape `kept`."""
        return self._apply(np.maximum, array)

    def widen(self, reduced: Array) -> Array:
        """Repeat a reduced array along short last axes, for an operation with a whole array."""
        if self.wide is None:
            return reduced
        repeated = np.empty(self.wide)
        repeated[...] = reduced
        return repeated

    def _apply(self, operation: np.ufunc, array: Array) -> Array:
        if self.axes is not None:
            return np.asarray(operation.reduce(array, axis=self.axes, keepdims=True))
        for before, reduced, after in self.steps:
            view = (before, reduced) if after == 1 else (before, reduced, after)
            array = operation.reduce(array.reshape(view), axis=1)
        return array.reshape(self.kept)


def _wide(shape: Sequence[int], kept: Sequence[int]) -> tuple[int, ...] | None:
    start, run = len(shape), 1
    while start and run < _LONG_INNER_LOOP:
        start -= 1
        run *= shape[start]
    wide = (*kept[:start], *shape[start:])
    constant_run = math.prod(kept[start:]) == 1
    return None if constant_run or math.prod(wide) > math.prod(shape) / 4 else wide


def _trailing(sizes: Sequence[tuple[int, bool]]) -> int:
    length = 1
    for n, reduced in reversed(sizes):
        if not reduced:
            break
        length *= n
    return length


def _product(sizes: Sequence[tuple[int, bool]]) -> int:
    return math.prod(n for n, _ in sizes)
