"""Interactions: the part of a marginal that smaller marginals do not determine, and how parties send it.

The interaction of a clique is its marginal minus the mean along each axis: the projection P on the vectors
that sum to zero along every axis. It is the residual of ResidualPlanner. A marginal is the sum of the
interactions of all subsets of its clique, so if smaller marginals are known, only this part is needed. Its
sensitivity is smaller than that of the marginal (`cost`).

Source: the residuals of Xiao, He, Zhang and Kifer, "ResidualPlanner" (2023), and of Mullins, Fuentes, Xiao,
    Kifer, Musco and Sheldon, "Efficient and private marginal reconstruction" (2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Number = TypeVar("_Number", bound="np.number[Any]")


def interaction(values: NDArray[np.float64], shape: Sequence[int]) -> NDArray[np.float64]:
    """The interaction of a marginal.

    Args:
        values: shape (n_r,), row-major.
        shape: sizes of the clique's attributes.

    Returns:
        Shape (n_r,); it sums to zero along every axis.
    """
    cells = np.array(values, dtype=np.float64).reshape(shape)
    for axis in range(cells.ndim):
        cells -= cells.mean(axis=axis, keepdims=True)
    return cells.ravel()


def differences(values: NDArray[_Number], shape: Sequence[int]) -> NDArray[_Number]:
    """Differences of neighbouring cells along every axis, wrapping around as their type does.

    They determine the interaction and nothing else: what is constant along an axis cancels.

    Args:
        values: shape (n_r,), row-major.
        shape: sizes of the clique's attributes.

    Returns:
        Shape (prod (n_i - 1),): each a sum of 2^k cells, half of them with a minus, for k attributes.
    """
    cells = values.reshape(shape)
    for axis in range(cells.ndim):
        cells = np.diff(cells, axis=axis)
    return cells.ravel()


def from_differences(values: NDArray[np.float64], shape: Sequence[int]) -> NDArray[np.float64]:
    """The interaction that has these differences.

    Args:
        values: shape (prod (n_i - 1),), see `differences`.
        shape: sizes of the clique's attributes.

    Returns:
        Shape (n_r,).
    """
    cells = values.reshape([n - 1 for n in shape])
    for axis in range(cells.ndim):
        start = [(1, 0) if i == axis else (0, 0) for i in range(cells.ndim)]
        cells = np.pad(np.cumsum(cells, axis=axis), start)
    return interaction(cells.ravel(), shape)


def freedom(shape: Sequence[int]) -> float:
    """Dimension of the interaction over that of the marginal: its share of a cell's noise variance."""
    return math.prod(1 - 1 / n for n in shape)


def difference_count(shape: Sequence[int]) -> int:
    """The number of differences of an interaction of this shape."""
    return int(np.prod([n - 1 for n in shape], dtype=object))
