"""Sums of a marginal's cells over boxes: a public partition that is coarser than the cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import DataError
from ..later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Box = tuple[tuple[int, int], ...]
"""For each attribute of a clique, in its order, a range of codes: first code, and the one after the last."""

_Number = TypeVar("_Number", bound="np.number[Any]")


def box_labels(shape: Sequence[int], boxes: Sequence[Box]) -> NDArray[np.int64]:
    """The box of each cell.

    Args:
        shape: sizes of the clique's attributes.
        boxes: disjoint; they need not cover all cells.

    Returns:
        Shape (n_r,), int64; `len(boxes)` for the cells outside all boxes.

    Raises:
        DataError: a box is empty, outside the domain, or overlaps another (a record would count twice).
    """
    labels = np.full(shape, len(boxes), dtype=np.int64)
    for label, box in enumerate(boxes):
        if len(box) != len(shape) or not all(0 <= a < b <= n for (a, b), n in zip(box, shape, strict=True)):
            raise DataError(
                f"box {label}: expected for each attribute a non-empty range of its codes; fix the partition"
            )
        region = labels[tuple(slice(a, b) for a, b in box)]
        if np.any(region != len(boxes)):
            raise DataError(f"box {label}: it overlaps another box; make the boxes disjoint")
        region[...] = label
    return labels.ravel()


def box_sums(values: NDArray[_Number], shape: Sequence[int], boxes: Sequence[Box]) -> NDArray[_Number]:
    """The sum of a marginal's values over each box, wrapping around as their type does.

    Each record lies in at most one box, so the sums have the sensitivity of the marginal.

    Args:
        values: shape (n_r,), row-major.
        shape: sizes of the clique's attributes.
        boxes: see `box_labels`.

    Returns:
        Shape (len(boxes),).
    """
    sums = np.zeros(len(boxes) + 1, dtype=values.dtype)
    np.add.at(sums, box_labels(shape, boxes), values)
    return sums[:-1]
