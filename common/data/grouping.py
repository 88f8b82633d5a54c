"""Groups of an attribute's codes: public maps by which a marginal is counted more coarsely than its cells.

The marginal of grouped attributes is a marginal of a table whose columns were mapped, so whatever holds for
marginals and interactions (sensitivity, cost, noise) holds for it with the groups in place of the codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

Grouping = tuple[int, ...]
"""The group of each code of an attribute, 0, 1, ... without gaps; empty if each code is its own group."""

Groups = tuple[Grouping, ...]
"""A grouping for each attribute of a clique, in its order; empty if no attribute is grouped."""

_Number = TypeVar("_Number", bound=np.number[Any])


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


def grouped_shape(shape: Sequence[int], groups: Groups) -> tuple[int, ...]:
    """The number of groups of each attribute of a marginal of this shape."""
    if not groups:
        return tuple(shape)
    return tuple(max(labels) + 1 if labels else n for n, labels in zip(shape, groups, strict=True))


def group_sums(values: NDArray[_Number], shape: Sequence[int], groups: Groups) -> NDArray[_Number]:
    """The marginal of groups, wrapping around as the type of the values does.

    Args:
        values: shape (n_r,), row-major.
        shape: sizes of the clique's attributes.
        groups: see `check_groups`.

    Returns:
        Shape (number of cells of `grouped_shape`,).
    """
    cells = values.reshape(shape)
    for axis, labels in enumerate(groups):
        if not labels:
            continue
        sums = np.zeros((*cells.shape[:axis], max(labels) + 1, *cells.shape[axis + 1 :]), dtype=cells.dtype)
        at = (slice(None),) * axis
        np.add.at(sums, (*at, np.asarray(labels)), cells)
        cells = sums
    return cells.ravel()
