"""Interactions: what a marginal says beyond all smaller ones, and how parties send it as whole numbers.

The interaction of attributes is what ResidualPlanner calls the residual of their marginal: the marginal
without its mean along each axis, its projection P on what sums to zero along every axis. A marginal is the
sum of the interactions of all its subsets, so whoever knows the smaller ones needs only this part, and a
record moves it less than it moves the marginal (`cost`).

Source: the residuals of Xiao, He, Zhang and Kifer, "ResidualPlanner" (2023), and of Mullins, Fuentes, Xiao,
    Kifer, Musco and Sheldon, "Efficient and private marginal reconstruction" (2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Number = TypeVar("_Number", bound=np.number[Any])


def interaction(values: NDArray[np.float64], shape: Sequence[int]) -> NDArray[np.float64]:
    """The interaction of a marginal.

    Args:
        values: shape (n_r,), row-major.
        shape: sizes of the clique's attributes.

    Returns:
        Shape (n_r,): it sums to zero along every axis.
    """
    cells = np.array(values, dtype=np.float64).reshape(shape)
    for axis in range(cells.ndim):
        cells -= cells.mean(axis=axis, keepdims=True)
    return cells.ravel()


def differences(values: NDArray[_Number], shape: Sequence[int]) -> NDArray[_Number]:
    """Differences of neighbouring cells along every axis, wrapping around as their type does.

    They tell the interaction and nothing else: whatever is constant along an axis falls out.

    Args:
        values: shape (n_r,), row-major.
        shape: sizes of the clique's attributes.

    Returns:
        Shape (prod (n_i - 1),): each a sum of 2^k cells, half of them negative, k the number of attributes.
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
    """The share of a marginal's dimensions that are its interaction's: so much of a cell's noise is in it."""
    return math.prod(1 - 1 / n for n in shape)


def difference_count(shape: Sequence[int]) -> int:
    """How many differences an interaction of this shape has."""
    return int(np.prod([n - 1 for n in shape], dtype=object))
