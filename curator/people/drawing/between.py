"""Columns that rise from row to row of a parent, or have each value once; post-processing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....common.data.related.rows import Rows
from ..kin import Kin

Codes = NDArray[np.int64]

_REDRAWS = 8
"""Times that codes which a parent has twice are drawn anew; what is left then gets the first free ones."""


def kept_between(table: Kin, rows: Rows, rng: np.random.Generator) -> Rows:
    """Rows whose columns rise where they should, and have each code once in a parent.

    The rows of a parent are put into the order in which the first such column rises, with all that they hold
    but where they are in time. Codes of others are sorted.

    Args:
        table: the table; a parent has no more rows than a column with each code once has codes.
        rows: its rows.
        rng: chooses codes.
    """
    codes = dict(rows.codes)
    rising = [name for name in table.rising if name in codes]
    if rising:
        order = np.lexsort((*(codes[name] for name in reversed(rising)), rows.parent))
        step = "" if table.steps is None else table.steps.attribute.name
        codes = {name: held if name == step else held[order] for name, held in codes.items()}
    for name in rising[1:]:
        codes[name] = codes[name][np.lexsort((codes[name], rows.parent))]
    for name in table.once:
        if name in codes and len(rows):
            assert table.domain is not None
            size, rises = table.domain[name].size, name in rising
            codes[name] = _strictly(codes[name], rows, size) if rises else _once(codes[name], rows, size, rng)
    return Rows(codes, rows.parent, rows.parents)


def apart(
    values: NDArray[np.float64], rows: Rows, unit: float, most: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Increasing values of each parent that differ by a unit at least, as far as there is room; shape (N,).

    Args:
        values: sorted among the rows of each parent, shape (N,).
        rows: the rows.
        unit: the least difference.
        most: the largest value of each row's parent, shape (N,).
    """
    steps = rows.places * unit
    # What a row has beyond as many units as rows lie before it never falls.
    beyond = _highest_so_far(values - steps, rows)
    left = (rows.numbers[rows.parent] - 1) * unit
    found: NDArray[np.float64] = np.minimum(beyond, most - left) + steps
    return found


def _strictly(codes: Codes, rows: Rows, size: int) -> Codes:
    found = apart(codes.astype(np.float64), rows, 1.0, np.full(len(rows), size - 1.0))
    return np.clip(found, 0, size - 1).astype(np.int64)


def _highest_so_far(values: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
    """The largest value of a parent up to each row, shape (N,)."""
    width = values.max() - values.min() + 1
    found: NDArray[np.float64] = np.maximum.accumulate(values + rows.parent * width) - rows.parent * width
    return found


def _once(codes: Codes, rows: Rows, size: int, rng: np.random.Generator) -> Codes:
    """Codes of which each parent has none twice, as long as it has no more rows than there are codes."""
    found = codes.astype(np.int64)
    share = np.bincount(found, minlength=size) + 1e-9
    share /= share.sum()
    for _ in range(_REDRAWS):
        again = _again(found, rows, size)
        if not len(again):
            return found
        found[again] = rng.choice(size, len(again), p=share)
    for place in _again(found, rows, size).tolist():
        held = found[rows.parent == rows.parent[place]]
        free = np.setdiff1d(np.arange(size), held)
        if len(free):
            found[place] = free[0]
    return found


def _again(codes: Codes, rows: Rows, size: int) -> NDArray[np.intp]:
    """Places of rows with a code that an earlier row of their parent has."""
    named = rows.parent * size + codes
    first = np.unique(named, return_index=True)[1]
    return np.setdiff1d(np.arange(len(named)), first)
