"""Sweeps over rows in order, of which each is also what is before the next one.

As `pgm/sweeps` for rows that know nothing of each other: one column after the other, each row takes the value
that serves the pairs best. Here a value counts twice: in the pairs of its own row, and as the value before in
those of the next row. Rows have weights, and columns that are given do not change.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...pgm.compiled import compiled, compiled_part
from ...pgm.rows.sweeps import ROW_PARTS

Codes = NDArray[np.int32]
Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]


class Pair(NamedTuple):
    """A pair of columns.

    Attributes:
        one: a column.
        other: another one.
        over: shape (codes of one, codes of other): sums of weights minus wanted ones.
    """

    one: int
    other: int
    over: Numbers


class Free(NamedTuple):
    """A column that is drawn.

    Attributes:
        column: its place.
        before: place of the column of the value before; -1 if there is none.
        groups: shape (codes,): the code of the value before of each code.
        low: shape (rows,): the first code that a row may take.
        high: shape (rows,): the code after the last one.
    """

    column: int
    before: int
    groups: Indices
    low: Codes
    high: Codes


def sweep(
    codes: Codes, weights: Numbers, following: NDArray[np.bool_], free: Sequence[Free], pairs: Sequence[Pair]
) -> int:
    """One sweep over all rows: changes codes and surplus, and returns the number of changes.

    Args:
        codes: shape (rows, columns), C-contiguous; columns of the value before fit those of the row before.
        weights: of the rows, shape (rows,).
        following: whether the next row is of the same parent, shape (rows,).
        free: the columns that are drawn.
        pairs: all pairs of such a column; none if each stands alone.
    """
    if not pairs:
        return 0
    starts = np.cumsum([0, *(pair.over.size for pair in pairs)])
    lines = np.concatenate([pair.over.ravel() for pair in pairs])
    layouts = [_layout(one, pairs, starts) for one in free]
    changed = 0
    ends = np.linspace(0, len(codes), ROW_PARTS + 1).astype(int).tolist()
    for first, last in itertools.pairwise(ends):
        for one, (own, next_) in zip(free, layouts, strict=True):
            changed += _choose(
                codes,
                weights,
                following,
                first,
                last,
                one.column,
                one.before,
                one.groups,
                one.low,
                one.high,
                own,
                next_,
                lines,
            )
    for pair, start in zip(pairs, starts, strict=False):
        pair.over[...] = lines[start : start + pair.over.size].reshape(pair.over.shape)
    return changed


_Layout = tuple[Indices, Indices, Indices, Indices]


def _layout(free: Free, pairs: Sequence[Pair], starts: Indices) -> tuple[_Layout, _Layout]:
    """Where the cells of a value are: in the pairs of its own row, and in those of the next one.

    Each is of arrays of shape (pairs,): where a pair starts, its other column, and the steps of both.
    """

    def layout_of(column: int) -> _Layout:
        views = []
        for pair, start in zip(pairs, starts[:-1].tolist(), strict=True):
            inner = pair.over.shape[1]
            if pair.one == column:
                views.append((start, pair.other, 1, inner))
            elif pair.other == column:
                views.append((start, pair.one, inner, 1))
        start, other, stride, step = (
            (np.array(part, dtype=np.int64) for part in zip(*views, strict=True))
            if views
            else (np.zeros(0, dtype=np.int64) for _ in range(4))
        )
        return start, other, stride, step

    return layout_of(free.column), layout_of(free.before)


@compiled_part
def _met_twice(
    met: Numbers,
    weight: float,
    now: int,
    earlier: int,
    later: int,
    groups: Indices,
    low: int,
    high: int,
) -> None:
    """Makes good that a row and the next one may meet in one cell of the pair of a column with that before.

    Args:
        met: of each value, changed.
        weight: of both rows.
        now: value of the row.
        earlier: group of the value before it.
        later: value of the next row.
        groups: group of each value.
        low: the first value that the row may take.
        high: the value after the last one.
    """
    for value in range(low, high):
        if groups[value] == groups[now]:
            continue
        if earlier == groups[value] and value == later:
            met[value] += weight
        if earlier == groups[now] and value == later:
            met[value] -= weight
        if earlier == groups[value] and now == later:
            met[value] -= weight
        if earlier == groups[now] and now == later:
            met[value] += weight


@compiled
def _choose(
    codes: Codes,
    weights: Numbers,
    following: NDArray[np.bool_],
    first: int,
    last: int,
    column: int,
    before: int,
    groups: Indices,
    low: Codes,
    high: Codes,
    own: _Layout,
    next_: _Layout,
    lines: Numbers,
) -> int:
    """Sets a column of the rows first to last - 1 to their best values; returns the number of changes."""
    start, other, stride, step = own
    start2, other2, stride2, step2 = next_
    most = 0
    for row in range(first, last):
        most = max(most, high[row])
    met = np.empty(most, dtype=np.float64)
    shared = False
    for view in range(len(other)):
        shared = shared or other[view] == before
    changed = 0
    for row in range(first, last):
        now, lowest, end, weight = codes[row, column], low[row], high[row], weights[row]
        met[:] = 0.0
        for view in range(len(start)):
            base = start[view] + stride[view] * codes[row, other[view]]
            for value in range(lowest, end):
                met[value] += lines[base + step[view] * value]
        met[now] -= weight * len(start)
        goes_on = before >= 0 and following[row]
        if goes_on:
            for view in range(len(start2)):
                base = start2[view] + stride2[view] * codes[row + 1, other2[view]]
                for value in range(lowest, end):
                    met[value] += lines[base + step2[view] * groups[value]]
            # All values of its group leave the sums of the next row as they are.
            for value in range(lowest, end):
                if groups[value] == groups[now]:
                    met[value] -= weights[row + 1] * len(start2)
            if shared:
                _met_twice(met, weight, now, codes[row, before], codes[row + 1, column], groups, lowest, end)
        best, least = now, met[now] - 1e-9
        for value in range(lowest, end):
            if met[value] < least:
                best, least = value, met[value]
        if best == now:
            continue
        changed += 1
        for view in range(len(start)):
            base = start[view] + stride[view] * codes[row, other[view]]
            lines[base + step[view] * now] -= weight
            lines[base + step[view] * best] += weight
        codes[row, column] = best
        if goes_on:
            for view in range(len(start2)):
                base = start2[view] + stride2[view] * codes[row + 1, other2[view]]
                lines[base + step2[view] * groups[now]] -= weights[row + 1]
                lines[base + step2[view] * groups[best]] += weights[row + 1]
            codes[row + 1, before] = groups[best]
    return changed
