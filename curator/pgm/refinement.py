"""Synthetic rows brought closer to a model's marginals: values are changed row by row where that helps.

Rows that follow a model clique by clique (`sampling`) round every clique by itself, and what attributes of
different cliques have in common is left to chance. At large budgets that chance costs as much accuracy as
the noise does. It can be taken out, because the model's marginals are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.data.table import Table
from .compiled import compiled

Places = tuple[int, ...]
Indices = NDArray[np.int64]

_SWEEPS = 3
MAX_CELLS = 1 << 20
"""Marginals of more cells are left to chance: rows hardly ever share one of theirs."""

_ALL_CELLS = 1 << 25
"""No more cells of marginals are held at a time, 8 bytes each; every marginal once for each attribute."""

MAX_LARGER_CELLS = _ALL_CELLS // 2
"""No more of them are of marginals of three and more attributes, so that there is room for pairs."""

_WORK = 1 << 33
"""A sweep looks at most at so many cells, in a few seconds; of a larger table each takes other rows."""


def refined(table: Table, marginals: Mapping[Places, NDArray[np.float64]], rng: np.random.Generator) -> Table:
    """Change values where that brings the table's marginals closer to those given.

    In each of three sweeps over the rows in a random order, each value becomes the one for which the sum over
    marginals and cells of (count - wanted)^2 is least; the sum never grows. Rows keep their places.

    Args:
        table: rows that follow the marginals roughly.
        marginals: for places of two or more attributes in the domain, in order, the wanted counts, shape
            (n_r,), which add up to the number of rows. The first come first where there are more than can
            be held.
        rng: order of the rows.
    """
    views, over = _surplus(table, marginals)
    if not len(over):
        return table
    sizes = np.array(table.domain.sizes, dtype=np.int64)
    row_work = int(np.diff(views.first) @ sizes)
    at_once = min(table.record_count, max(1, _WORK // row_work))
    order = rng.permutation(table.record_count)
    columns = [column.copy() for column in table.columns]
    for sweep in range(_SWEEPS):
        rows = order.take(np.arange(sweep * at_once, (sweep + 1) * at_once), mode="wrap")
        codes = np.column_stack([column[rows].astype(np.int32) for column in columns])
        if not _sweep(codes, sizes, views, over):
            break
        for place, column in enumerate(columns):
            column[rows] = codes[:, place]
    return Table(table.domain, tuple(columns))


class _Views(NamedTuple):
    """Where cells are: each marginal once for each of its attributes, with that attribute's values in a row.

    Attributes:
        first: shape (d + 1,): which view is the first of an attribute.
        owner: shape (views,): the attribute.
        start: shape (views,): its first cell.
        others: shape (views, k): the marginal's other attributes.
        strides: shape (views, k): how far apart cells of their neighbouring values are.
        alike: shape (views, k + 1): the views of the same marginal; -1 for none.
    """

    first: Indices
    owner: Indices
    start: Indices
    others: Indices
    strides: Indices
    alike: Indices


def _surplus(
    table: Table, marginals: Mapping[Places, NDArray[np.float64]]
) -> tuple[_Views, NDArray[np.float64]]:
    """Counts less wanted counts, and where they are."""
    sizes = table.domain.sizes
    found: list[tuple[int, int, Places]] = []
    cells: list[NDArray[np.float64]] = []
    end = 0
    for places, wanted in marginals.items():
        if wanted.size > MAX_CELLS or end + len(places) * wanted.size > _ALL_CELLS:
            continue
        shape = [sizes[place] for place in places]
        codes = np.ravel_multi_index([table.columns[place].astype(np.int64) for place in places], shape)
        over = (np.bincount(codes, minlength=wanted.size) - wanted).reshape(shape)
        for axis, place in enumerate(places):
            found.append((place, end, places))
            cells.append(np.moveaxis(over, axis, -1).ravel())
            end += over.size
    return _views(found, sizes), np.concatenate(cells) if cells else np.zeros(0)


def _views(found: list[tuple[int, int, Places]], sizes: tuple[int, ...]) -> _Views:
    """The views of which these are the attribute, the first cell and the marginal."""
    found = sorted(found)
    most = max((len(places) for _, _, places in found), default=1)
    others, strides = (np.zeros((len(found), most - 1), dtype=np.int64) for _ in range(2))
    alike = np.full((len(found), most), -1, dtype=np.int64)
    numbers = {(places, owner): view for view, (owner, _, places) in enumerate(found)}
    for view, (owner, _, places) in enumerate(found):
        stride = sizes[owner]
        for k, place in enumerate(reversed([place for place in places if place != owner])):
            others[view, k], strides[view, k] = place, stride
            stride *= sizes[place]
        alike[view, : len(places)] = [numbers[places, place] for place in places]
    owners = np.array([owner for owner, _, _ in found], dtype=np.int64)
    first = np.searchsorted(owners, np.arange(len(sizes) + 1)).astype(np.int64)
    starts = np.array([start for _, start, _ in found], dtype=np.int64)
    return _Views(first, owners, starts, others, strides, alike)


@compiled
def _sweep(
    codes: NDArray[np.int32], sizes: NDArray[np.int64], views: _Views, over: NDArray[np.float64]
) -> int:
    """One pass over all rows of the codes; changes them and the surplus, and returns how many values."""
    first, owner, start, others, strides, alike = views
    changed = 0
    sums = np.empty(sizes.max())
    for row in range(len(codes)):
        for a in range(len(sizes)):
            now = codes[row, a]
            # For each value the sum of the surpluses that a row with it is counted in.
            met = sums[: sizes[a]]
            met[:] = 0.0
            for view in range(first[a], first[a + 1]):
                at = start[view]
                for k in range(others.shape[1]):
                    at += strides[view, k] * codes[row, others[view, k]]
                for value in range(sizes[a]):
                    met[value] += over[at + value]
            # Half of what another value adds to the sum of squares: its own less this one's, plus one each.
            best, least = now, met[now] - (first[a + 1] - first[a]) - 1e-6
            for value in range(sizes[a]):
                if met[value] < least:
                    best, least = value, met[value]
            if best == now:
                continue
            changed += 1
            for more in (-1.0, 1.0):
                codes[row, a] = now if more < 0 else best
                for view in range(first[a], first[a + 1]):
                    for k in range(alike.shape[1]):
                        same = alike[view, k]
                        if same >= 0:
                            at = start[same] + codes[row, owner[same]]
                            for other in range(others.shape[1]):
                                at += strides[same, other] * codes[row, others[same, other]]
                            over[at] += more
    return changed
