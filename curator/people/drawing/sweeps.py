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
    codes: Codes, weights: Numbers, following: Indices, free: Sequence[Free], pairs: Sequence[Pair]
) -> int:
    """One sweep over all rows: changes codes and surplus, and returns the number of changes.

    Args:
        codes: shape (rows, columns), C-contiguous; columns of the value before fit those of the row before.
        weights: of the rows, shape (rows,).
        following: for each row the place of that of which it is the one before, shape (rows,); -1 for none.
            Both have one weight.
        free: the columns that are drawn.
        pairs: all pairs of such a column; none if each stands alone.
    """
    if not pairs:
        return 0
    starts = np.cumsum([0, *(pair.over.size for pair in pairs)])
    # Each pair stands here twice, so that the values of either column stand beside each other.
    lines = np.concatenate([over.ravel() for turned in (False, True) for over in _surpluses(pairs, turned)])
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


_Layout = tuple[Indices, Indices, Indices, Indices, Indices]


def _surpluses(pairs: Sequence[Pair], turned: bool) -> list[Numbers]:
    return [pair.over.T if turned else pair.over for pair in pairs]


def _layout(free: Free, pairs: Sequence[Pair], starts: Indices) -> tuple[_Layout, _Layout]:
    """Where the cells of a value are: in the pairs of its own row, and in those of the next one.

    Each is of arrays of shape (pairs,): the other column of a pair, where the pair starts as values stand
    beside each other, with the step of the other column, and where it starts as they do not, with their step.
    """

    def layout_of(column: int) -> _Layout:
        views = []
        for pair, start in zip(pairs, starts[:-1].tolist(), strict=True):
            turned, (outer, inner) = int(starts[-1]) + start, pair.over.shape
            if pair.one == column:
                views.append((pair.other, turned, outer, start, inner))
            elif pair.other == column:
                views.append((pair.one, start, inner, turned, outer))
        other, beside, step, apart, stride = np.array(views, dtype=np.int64).reshape(-1, 5).T.copy()
        return other, beside, step, apart, stride

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
    if now == later:
        for value in range(low, high):
            if groups[value] != groups[now]:
                met[value] += weight * (int(earlier == groups[now]) - int(earlier == groups[value]))
    elif low <= later < high and groups[later] != groups[now]:
        met[later] += weight * (int(earlier == groups[later]) - int(earlier == groups[now]))


@compiled_part
def _add_lines(sums: Numbers, codes: Codes, layout: _Layout, lines: Numbers) -> None:
    """Sets, for each value, the sum over pairs of the cells that a row with it counts in.

    Args:
        sums: shape (values,), changed.
        codes: of the row, shape (columns,).
        layout: of the column.
        lines: see `_choose`.
    """
    other, beside, step, _, _ = layout
    sums[:] = 0.0
    for view in range(len(other)):
        start = beside[view] + step[view] * codes[other[view]]
        # A slice, because an index that might be negative keeps the loop from being vectorised.
        cells = lines[start : start + len(sums)]
        for value in range(len(sums)):
            sums[value] += cells[value]


@compiled_part
def _move(now: int, best: int, weight: float, codes: Codes, layout: _Layout, lines: Numbers) -> None:
    """Moves the weight of a row from one value to another, in both places of each pair.

    Args:
        now: value that the row has.
        best: value that it gets.
        weight: of the row.
        codes: of the row, shape (columns,).
        layout: of the column.
        lines: see `_choose`; changed.
    """
    other, beside, step, apart, stride = layout
    for view in range(len(other)):
        code = codes[other[view]]
        line, across = beside[view] + step[view] * code, apart[view] + code
        lines[line + now] -= weight
        lines[line + best] += weight
        lines[across + stride[view] * now] -= weight
        lines[across + stride[view] * best] += weight


@compiled
def _choose(
    codes: Codes,
    weights: Numbers,
    following: Indices,
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
    others = own[0]
    met = np.empty(len(groups), dtype=np.float64)
    met_after = np.empty(groups.max() + 1, dtype=np.float64)
    shared = False
    for view in range(len(others)):
        shared = shared or others[view] == before
    changed = 0
    for row in range(first, last):
        now, lowest, end, weight = codes[row, column], low[row], high[row], weights[row]
        if end - lowest < 2:
            continue
        _add_lines(met, codes[row], own, lines)
        met[now] -= weight * len(others)
        after = following[row] if before >= 0 else -1
        goes_on = after >= 0
        if goes_on:
            _add_lines(met_after, codes[after], next_, lines)
            # All values of its group leave the sums of the next row as they are.
            met_after[groups[now]] -= weights[after] * len(next_[0])
            for value in range(lowest, end):
                met[value] += met_after[groups[value]]
            if shared:
                _met_twice(met, weight, now, codes[row, before], codes[after, column], groups, lowest, end)
        best, least = now, met[now] - 1e-9
        for value in range(lowest, end):
            if met[value] < least:
                best, least = value, met[value]
        if best == now:
            continue
        changed += 1
        _move(now, best, weight, codes[row], own, lines)
        codes[row, column] = best
        if goes_on:
            _move(groups[now], groups[best], weights[after], codes[after], next_, lines)
            codes[after, before] = groups[best]
    return changed
