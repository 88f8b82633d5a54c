"""Groups of an attribute's codes: public maps by which a marginal is counted more coarsely than its cells.

The marginal of grouped attributes is a marginal of a table whose columns were mapped, so whatever holds for
marginals and interactions (sensitivity, cost, noise) holds for it with the groups in place of the codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import DataError
from ..later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Grouping = tuple[int, ...]
"""The group of each code of an attribute, 0, 1, ... without gaps; empty if each code is its own group."""

Groups = tuple[Grouping, ...]
"""A grouping for each attribute of a clique, in its order; empty if no attribute is grouped."""

_Number = TypeVar("_Number", bound="np.number[Any]")


def check_groups(shape: Sequence[int], groups: Groups) -> None:
    """Refuses groups that do not fit.

    Raises:
        DataError: not one grouping for each attribute, or a grouping without one group for each code, with
            gaps, or with a single group.
    """
    if groups and len(groups) != len(shape):
        raise DataError(
            f"groups: expected one grouping for each of {len(shape)} attributes, got {len(groups)}"
        )
    for place, (size, labels) in enumerate(zip(shape, groups, strict=False)):
        if not labels:
            continue
        if len(labels) != size:
            raise DataError(f"grouping {place}: expected a group for each of {size} codes, got {len(labels)}")
        found = set(labels)
        if len(found) < 2 or found != set(range(len(found))):
            raise DataError(
                f"grouping {place}: expected at least two groups, numbered 0, 1, ... without gaps"
            )


def last_code_apart(labels: Grouping) -> bool:
    """Whether the last code is a group of its own, and the last one; so it is if no code is grouped."""
    return not labels or (labels[-1] == max(labels) and labels.count(labels[-1]) == 1)


def with_last_code_apart(labels: Grouping) -> Grouping:
    """The same groups of the other codes, and the last code as the last group."""
    if last_code_apart(labels):
        return labels
    numbers = {label: number for number, label in enumerate(sorted(set(labels[:-1])))}
    return (*(numbers[label] for label in labels[:-1]), len(numbers))


def grouped_shape(shape: Sequence[int], groups: Groups) -> tuple[int, ...]:
    """The number of groups of each attribute of a marginal of this shape."""
    if not groups:
        return tuple(shape)
    return tuple(max(labels) + 1 if labels else n for n, labels in zip(shape, groups, strict=True))


def group_counts(shape: Sequence[int], groups: Groups) -> tuple[int, ...]:
    """The number of groups of each attribute; empty if none is grouped."""
    return grouped_shape(shape, groups) if groups else ()


def grouped(
    codes: NDArray[np.integer[Any]], size: int, labels: Grouping
) -> tuple[NDArray[np.integer[Any]], int]:
    """The groups of an attribute's codes, and how many groups there are; the codes themselves if ungrouped.

    Args:
        codes: of any shape, 0 to size - 1.
        size: number of codes.
        labels: the grouping.
    """
    return (np.asarray(labels, dtype=np.int64)[codes], max(labels) + 1) if labels else (codes, size)


def group_labels(shape: Sequence[int], groups: Groups) -> NDArray[np.int64]:
    """The cell of the grouped marginal that each cell is part of, shape (n_r,)."""
    sizes = grouped_shape(shape, groups)
    labels = np.zeros(tuple(shape), dtype=np.int64)
    for axis, (size, of_axis) in enumerate(zip(shape, groups or ((),) * len(shape), strict=True)):
        places, _ = grouped(np.arange(size), size, of_axis)
        labels = labels * sizes[axis] + places.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return labels.ravel()


def group_sums(values: NDArray[_Number], shape: Sequence[int], groups: Groups) -> NDArray[_Number]:
    """The marginal of groups, wrapping around as the type of the values does.

    Args:
        values: shape (n_r,), row-major.
        shape: sizes of the clique's attributes.
        groups: see `check_groups`.

    Returns:
        Shape (number of cells of `grouped_shape`,).
    """
    cells = values.reshape(tuple(shape))
    for axis, labels in enumerate(groups):
        if labels:
            along = np.moveaxis(cells, axis, 0)
            sums = np.zeros((max(labels) + 1, *along.shape[1:]), dtype=cells.dtype)
            np.add.at(sums, np.asarray(labels, dtype=np.int64), along)
            cells = np.moveaxis(sums, 0, axis)
    return cells.ravel()
