"""Sequences of ever finer partitions of a marginal into boxes, and the error of each.

Source: PPSyn (Zhang, Deng and Yin), Algorithms 3 and 4, and their sequences computed in advance (4.2.2).
    An error decides which boxes are split or merged. It is an argument here: the paper's
    (`UniformSpread`) uses the table's exact marginal, which is private, the default's
    (`WithinBoxDeviation`) only public facts.
"""

from __future__ import annotations

import heapq
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ....common.data.boxes import Box

Array = NDArray[np.float64]


class BoxError(Protocol):
    """The error of a partition, as a sum over boxes."""

    def error(self, box: Box) -> float:
        """The error inside a box; 0 for a single cell."""
        ...

    def best_split(self, box: Box, axis: int) -> tuple[float, int]:
        """The best cut of a box along an axis of at least two codes: its gain, and the code after the cut."""
        ...


class UniformSpread:
    """The L1 distance between a marginal and the sums of its boxes, spread evenly over their cells.

    Source: PPSyn, Definition 9 and the reconstruction error of Theorem 3.

    Args:
        counts: the marginal, with one axis for each attribute.
    """

    def __init__(self, counts: Array) -> None:
        self._counts = counts

    def error(self, box: Box) -> float:
        """See `BoxError`."""
        cells = self._counts[tuple(slice(a, b) for a, b in box)]
        return float(np.abs(cells - cells.mean()).sum())

    def best_split(self, box: Box, axis: int) -> tuple[float, int]:
        """See `BoxError`; the first best of all cuts."""
        low, high = box[axis]
        left = [sum(map(self.error, cut(box, axis, at))) for at in range(low + 1, high)]
        best = int(np.argmin(left))
        return self.error(box) - left[best], low + 1 + best


class WithinBoxDeviation:
    """The share of a deviation that lies within boxes, where a partition hides it; from public facts.

    Attributes are modelled as independent. Of the records that differ from a given one in an attribute, a
    share lies in the same interval of codes. If the deviation is a random walk over the codes, the interval
    hides this share of its variance, and the root of this share of its size. So a box hides
    1 - product over attributes of (1 - root of the share). A single box hides everything, single cells hide
    nothing, and a box that spans an attribute hides everything. The error of a box is its share of the
    records times its hidden share.

    Args:
        masses: for each attribute, the share of the records with each code, all positive.
    """

    def __init__(self, masses: Sequence[Array]) -> None:
        self._sums = [np.concatenate([[0.0], np.cumsum(mass)]) for mass in masses]
        self._squares = [np.concatenate([[0.0], np.cumsum(mass**2)]) for mass in masses]
        # With one code, no records differ.
        self._differing = [max(1 - float(s[-1]), 1e-300) for s in self._squares]

    def error(self, box: Box) -> float:
        """See `BoxError`."""
        mass, shown = 1.0, 1.0
        for axis, (low, high) in enumerate(box):
            held = self._mass(axis, low, high)
            mass *= held
            if high - low > 1:
                same = (self._squares[axis][high] - self._squares[axis][low]) / held
                shown *= 1 - math.sqrt(min(1.0, max(0.0, (held - same) / self._differing[axis])))
        return mass * (1 - shown)

    def best_split(self, box: Box, axis: int) -> tuple[float, int]:
        """See `BoxError`; the cut at the median, which separates most pairs of differing records."""
        low, high = box[axis]
        sums = self._sums[axis][low : high + 1] - self._sums[axis][low]
        apart = sums[1:-1] * (sums[-1] - sums[1:-1])
        best = int(np.argmax(apart))
        others = math.prod(self._mass(k, *side) for k, side in enumerate(box) if k != axis)
        return others * 2 * float(apart[best]) / self._differing[axis], low + 1 + best

    def _mass(self, axis: int, low: int, high: int) -> float:
        return float(self._sums[axis][high] - self._sums[axis][low])


class PartitionSequence(ABC):
    """Partitions of one marginal; each divides one box of the one before."""

    @abstractmethod
    def error(self, count: int) -> float | None:
        """The error of the partition into `count` boxes; None if there are not as many cells."""

    @abstractmethod
    def boxes(self, count: int) -> tuple[Box, ...]:
        """The partition into `count` boxes, at most `largest()`."""

    def largest(self) -> int:
        """The number of boxes of the finest partition."""
        count = 1
        while self.error(count + 1) is not None:
            count += 1
        return count


def sequence_of(shape: Sequence[int], error: BoxError) -> PartitionSequence:
    """The sequence of Algorithm 3 for one attribute, of Algorithm 4 for several."""
    return Merging(shape[0], error) if len(shape) == 1 else Splitting(shape, error)


class Merging(PartitionSequence):
    """Starting at single cells, merges the two neighbours with the least increase of the error.

    Source: PPSyn, Algorithm 3, from line 2 on. Line 1, which sorts the cells by count, is left to the caller,
    because protocols support only sums over ranges of codes.
    """

    def __init__(self, size: int, error: BoxError) -> None:
        bounds = list(range(size + 1))
        removed: list[int] = []

        def loss(low: int, high: int) -> float:
            return error.error(((low, high),))

        parts = [loss(a, b) for a, b in itertools.pairwise(bounds)]
        merged = [loss(a, b) for a, b in zip(bounds, bounds[2:], strict=False)]
        self._errors = [math.fsum(parts)]
        while merged:
            gains = [whole - parts[i] - parts[i + 1] for i, whole in enumerate(merged)]
            at = gains.index(min(gains))
            removed.append(bounds.pop(at + 1))
            parts[at : at + 2] = [merged.pop(at)]
            for i in (at - 1, at):
                if 0 <= i < len(merged):
                    merged[i] = loss(bounds[i], bounds[i + 2])
            self._errors.append(math.fsum(parts))
        self._size, self._cuts = size, removed[::-1]
        self._errors.reverse()

    def error(self, count: int) -> float | None:
        """See `PartitionSequence`."""
        return self._errors[count - 1] if count <= len(self._errors) else None

    def boxes(self, count: int) -> tuple[Box, ...]:
        """See `PartitionSequence`."""
        bounds = sorted([0, self._size, *self._cuts[: count - 1]])
        return tuple(((a, b),) for a, b in itertools.pairwise(bounds))


class Splitting(PartitionSequence):
    """Starting at one box, cuts the box with the largest gain; axes take turns. Computed as far as needed.

    Source: PPSyn, Algorithm 4. An axis along which no box can be cut is skipped.
    """

    def __init__(self, shape: Sequence[int], error: BoxError) -> None:
        self._error = error
        self._whole: Box = tuple((0, n) for n in shape)
        self._cells = math.prod(shape)
        self._current = [self._whole]
        self._errors = [error.error(self._whole)]
        self._cuts: list[tuple[int, int, int]] = []
        self._heaps: list[list[tuple[float, int, int, Box]]] = [[] for _ in shape]
        self._offer(0)

    def error(self, count: int) -> float | None:
        """See `PartitionSequence`."""
        while len(self._errors) < count:
            if not self._advance():
                return None
        return self._errors[count - 1]

    def boxes(self, count: int) -> tuple[Box, ...]:
        """See `PartitionSequence`."""
        if self.error(count) is None:
            raise ValueError(f"expected at most {self._cells} boxes, the number of cells, got {count}")
        boxes = [self._whole]
        for place, axis, at in self._cuts[: count - 1]:
            boxes[place], right = cut(boxes[place], axis, at)
            boxes.append(right)
        return tuple(boxes)

    def _offer(self, place: int) -> None:
        """Adds the best cut of a box along each axis to the heaps."""
        box = self._current[place]
        for axis, (low, high) in enumerate(box):
            if high - low > 1:
                gain, at = self._error.best_split(box, axis)
                heapq.heappush(self._heaps[axis], (-gain, place, at, box))

    def _advance(self) -> bool:
        """Lines 11 to 14."""
        turn = len(self._cuts)
        for axis in (k % len(self._heaps) for k in range(turn, turn + len(self._heaps))):
            heap = self._heaps[axis]
            while heap:
                _, place, at, box = heapq.heappop(heap)
                if self._current[place] != box:
                    continue
                left, right = cut(box, axis, at)
                self._current[place] = left
                self._current.append(right)
                self._cuts.append((place, axis, at))
                change = self._error.error(left) + self._error.error(right) - self._error.error(box)
                # Single cells have no error; a sum of changes would have rounding errors.
                whole = len(self._current) == self._cells
                self._errors.append(0.0 if whole else max(0.0, self._errors[-1] + change))
                self._offer(place)
                self._offer(len(self._current) - 1)
                return True
        return False


def cut(box: Box, axis: int, at: int) -> tuple[Box, Box]:
    """The two parts of a box: before a code, and from it on."""
    low, high = box[axis]
    return (
        (*box[:axis], (low, at), *box[axis + 1 :]),
        (*box[:axis], (at, high), *box[axis + 1 :]),
    )
