"""Columns that rise from row to row of a parent, or have each value once; post-processing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....common.data.related.rows import Rows
from ..kin import Kin

Codes = NDArray[np.int64]
Numbers = NDArray[np.float64]

_REDRAWS = 8
"""Times that codes which a parent has twice are drawn anew; what is left then gets codes that are free."""

_CELLS = 1 << 22
"""Codes of parents that are looked through at once."""


def kept_between(table: Kin, rows: Rows, rng: np.random.Generator) -> Rows:
    """Rows whose columns are the same in a parent, rise, or have each code once, where they should.

    The rows of a parent are put into the order in which the first such column rises, with all that they hold
    but where they are in time. Codes of others are sorted.

    Args:
        table: the table; a parent has no more rows than a column with each code once has codes.
        rows: its rows.
        rng: chooses codes.
    """
    codes = dict(rows.codes)
    for name in {*table.same}.intersection(codes):
        codes[name] = of_first_rows(codes[name], rows)
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


def of_first_rows(values: Codes, rows: Rows) -> Codes:
    """What the first row of its parent has, for each row, shape (N,)."""
    found: Codes = values[np.arange(len(rows)) - rows.places]
    return found


def apart(values: Numbers, rows: Rows, unit: float, least: Numbers, most: Numbers) -> Numbers:
    """Increasing values of each parent that differ by a unit at least, as far as there is room; shape (N,).

    Args:
        values: sorted among the rows of each parent, shape (N,).
        rows: the rows.
        unit: the least difference.
        least: the least value of each row's parent, shape (N,).
        most: the largest one, shape (N,).
    """
    steps = rows.places * unit
    # What a row has beyond as many units as rows lie before it never falls.
    beyond = _highest_so_far(values - steps, rows)
    left = (rows.numbers[rows.parent] - 1) * unit
    found: Numbers = np.maximum(np.minimum(beyond, most - left) + steps, least)
    return found


def _strictly(codes: Codes, rows: Rows, size: int) -> Codes:
    ends = np.zeros(len(rows)), np.full(len(rows), size - 1.0)
    return apart(codes.astype(np.float64), rows, 1.0, *ends).astype(np.int64)


def _highest_so_far(values: Numbers, rows: Rows) -> Numbers:
    """The largest value of a parent up to each row, shape (N,)."""
    known, rank = np.unique(values, return_inverse=True)
    before = rows.parent * len(known)
    found: Numbers = known[np.maximum.accumulate(rank + before) - before]
    return found


def _once(codes: Codes, rows: Rows, size: int, rng: np.random.Generator) -> Codes:
    """Codes of which each parent has none twice, as long as it has no more rows than there are codes."""
    found = codes.astype(np.int64)
    share = np.bincount(found, minlength=size) + 1e-9
    share /= share.sum()
    # Rows of parents that have a code twice.
    left = np.arange(len(found))
    for _ in range(_REDRAWS):
        again = left[_again(found[left], rows.parent[left], size)]
        if not len(again):
            return found
        left = left[np.isin(rows.parent[left], rows.parent[again])]
        found[again] = rng.choice(size, len(again), p=share)
    again = left[_again(found[left], rows.parent[left], size)]
    block = max(1, _CELLS // size)
    parents = np.unique(rows.parent[again])
    for start in range(0, len(parents), block):
        some = parents[start : start + block]
        here = again[np.isin(rows.parent[again], some)]
        theirs = left[np.isin(rows.parent[left], some)]
        free = np.ones((len(some), size), dtype=np.bool_)
        free[np.searchsorted(some, rows.parent[theirs]), found[theirs]] = False
        # The first row gets the first free code in an order that is drawn, the second one the second.
        order = rng.permutation(size)
        place = np.searchsorted(some, rows.parent[here])
        nth = np.arange(len(here)) - np.searchsorted(place, place)
        rank = np.cumsum(free[:, order], axis=1, dtype=np.int32)[place]
        known = rank[:, -1] > nth
        found[here[known]] = order[np.argmax(rank > nth[:, None], axis=1)[known]]
    return found


def _again(codes: Codes, parent: Codes, size: int) -> NDArray[np.intp]:
    """Places of rows with a code that an earlier row of their parent has, in order."""
    named = parent * size + codes
    order = np.argsort(named, kind="stable")
    return np.sort(order[1:][np.diff(named[order]) == 0])
