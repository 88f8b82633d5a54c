"""Synthetic rows from a model by randomised rounding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.domain import Clique
from ...common.table import Table
from .model import MarkovRandomField

_CELLS_AT_ONCE = 2**22
"""Expected counts are rounded for so many cells at a time, so that temporary memory stays bounded."""


def generate(model: MarkovRandomField, rows: int, rng: np.random.Generator) -> Table:
    """Make rows whose marginals follow the model's as closely as whole numbers allow.

    The root's cells get their expected counts, rounded at random. Each further clique takes the rows of every
    value of its separator, rounds the expected counts of the values of its other attributes, and deals these
    to the rows in uniformly shuffled order: without the shuffle, attributes that are independent given the
    separator would come out in step. The rows of the table are in random order.

    Source: McKenna, Miklau and Sheldon, Winning the NIST contest (2021), with shuffled rows.

    Args:
        model: what to follow.
        rows: how many rows, at least 1.
        rng: source of randomness; its seed fixes the table.
    """
    if rows < 1:
        raise ValueError(f"rows: expected at least 1, found {rows}")
    columns: dict[str, NDArray[np.int64]] = {}
    for clique, belief in zip(model.tree.cliques, model.beliefs, strict=True):
        shared = tuple(name for name in clique if name in columns)
        fresh = tuple(name for name in clique if name not in columns)
        sizes = model.domain.shape(fresh)
        groups = _cell_codes(columns, shared, model.domain.shape(shared), rows)
        weights = _by_separator(clique, belief, shared)
        values = _deal(groups, weights, rng)
        columns |= dict(zip(fresh, np.unravel_index(values, sizes), strict=True))
    return Table.from_codes(model.domain, columns)


def _cell_codes(
    columns: dict[str, NDArray[np.int64]], clique: Clique, shape: tuple[int, ...], rows: int
) -> NDArray[np.int64]:
    """Each row's cell of a clique, shape (rows,)."""
    cells = np.zeros(rows, dtype=np.int64)
    for name, size in zip(clique, shape, strict=True):
        cells *= size
        cells += columns[name]
    return cells


def _by_separator(clique: Clique, belief: NDArray[np.float64], shared: Clique) -> NDArray[np.float64]:
    """A belief as one line of weights for each value of the separator; its sum where it gives a value none.

    Returns:
        Shape (cells of `shared`, cells of the other attributes).
    """
    axes = [clique.index(name) for name in shared]
    others = [axis for axis in range(belief.ndim) if axis not in axes]
    lines = math.prod(belief.shape[axis] for axis in axes)
    weights = np.maximum(belief.transpose(axes + others).reshape(lines, -1), 0.0)
    empty = weights.sum(axis=1) <= 0
    if empty.any():
        weights[empty] = weights.sum(axis=0)
    return weights


def _deal(
    groups: NDArray[np.int64], weights: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Give every row a value, so that each group of rows has its expected counts but for rounding.

    Args:
        groups: shape (rows,): each row's group.
        weights: shape (groups, values): how the rows of each group divide.
        rng: of rounding and of the order of rows within a group.

    Returns:
        Shape (rows,): values in 0..values - 1.
    """
    sizes = np.bincount(groups, minlength=len(weights))
    present = np.flatnonzero(sizes)
    at_once = max(1, _CELLS_AT_ONCE // weights.shape[1])
    dealt = []
    for start in range(0, len(present), at_once):
        part = present[start : start + at_once]
        counts = _rounded(weights[part], sizes[part], rng)
        dealt.append(np.repeat(np.arange(counts.size) % weights.shape[1], counts.ravel()))
    values = np.empty(len(groups), dtype=np.int64)
    values[_shuffled_by_group(groups, len(weights), rng)] = np.concatenate(dealt)
    return values


def _rounded(
    weights: NDArray[np.float64], sizes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Round each line's expected counts up or down at random, keeping its total (systematic rounding).

    Args:
        weights: shape (lines, values), each line with a positive sum.
        sizes: shape (lines,): what the counts of each line sum to.
        rng: gives each line its own offset.
    """
    reached = np.cumsum(weights, axis=1)
    # Dividing by the last entry first makes it exactly 1, and so each line's total exact.
    reached /= reached[:, -1:]
    reached *= sizes[:, None]
    reached += rng.random(len(sizes))[:, None]
    steps = np.minimum(np.floor(reached).astype(np.int64), sizes[:, None])
    return np.diff(steps, axis=1, prepend=0)


def _shuffled_by_group(groups: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All rows, group after group, in uniformly random order within each group."""
    order = rng.permutation(len(groups))
    # Short integers are sorted by radix, ten times faster.
    narrow: np.dtype[Any] = np.min_scalar_type(count)
    return order[np.argsort(groups[order].astype(narrow), kind="stable")]
