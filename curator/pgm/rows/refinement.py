"""Synthetic rows adjusted to a model's marginals: values are changed row by row where that helps.

Rows that are drawn clique by clique (`sampling`) round every clique separately, and the joint distribution of
attributes of different cliques has sampling error. At large budgets this error is as large as that of the
noise. It can be removed, because the model's marginals are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....common.data.counting import COUNTED_AT_ONCE
from ....common.data.grouping import Groups
from ....common.data.table import Table
from .counting import pairs_on_cores
from .sweeps import Columns, Marginal, sweep

Places = tuple[int, ...]
Counts = NDArray[np.float64]

ADJUSTING_SWEEPS = 3
"""Sweeps over the rows of a release."""

_TOO_MANY = 1e12
"""Surplus of an excluded cell: more than any counts."""

LARGEST_ADJUSTED = 1 << 20
"""Rows are not adjusted to larger marginals, in whose cells there is rarely more than one row."""

ALL_CELLS = 1 << 25
"""Largest number of cells, each counted once for each attribute of its marginal, since a sweep moves it so
often. In memory each takes 4 bytes once."""

MAX_LARGER_CELLS = ALL_CELLS // 2
"""Largest number of them for marginals of three and more attributes, so that there is room for pairs."""

SWEEP_WORK = 3 << 29
"""Largest number of cells that a sweep reads, in a few seconds; in a larger table each takes other rows."""

_LIGHT = 0.25
"""Weight of squares of grouped counts, whose noise is larger than that of pairs, and of triples that were not
measured."""

_CELLS_PER_VIEW = 12
"""To find the cells of a marginal takes as long as to read so many."""


class Grouped(NamedTuple):
    """The wanted counts of groups of codes.

    Attributes:
        places: positions of the attributes in the domain, in order.
        groups: the grouping of each of them.
        counts: shape (n_r,), of the cells of the groups.
    """

    places: Places
    groups: Groups
    counts: Counts


def refined(
    table: Table,
    marginals: Mapping[Places, Counts],
    rng: np.random.Generator,
    masks: Mapping[Places, NDArray[np.bool_]] | None = None,
    grouped: Sequence[Grouped] = (),
    sweeps: int = ADJUSTING_SWEEPS,
    triples: Mapping[Places, Counts] | None = None,
) -> Table:
    """Change values where that brings the table's marginals closer to the given ones.

    In each of a few sweeps over the rows in random order, each value is set to the one with the least sum
    over marginals and cells of (count - wanted)^2, a quarter of it for groups and triples; the sum never
    increases. The order of rows is kept.

    Args:
        table: rows that approximate the marginals.
        marginals: for the positions of two or more attributes in the domain, in order, the wanted counts,
            shape (n_r,), which add up to the number of rows. If not all fit into memory, the first are used.
        rng: source of the order of the rows.
        masks: for some of these marginals the cells that rows may have; no value is changed to another one.
        grouped: wanted counts of groups, which add up to the number of rows; they come before the others.
        sweeps: their number.
        triples: more marginals, as the others, but of less weight.
    """
    held = [column.copy() for column in table.columns]
    columns = _columns(table.domain.sizes, grouped)
    wanted = _surplus(columns.of_codes(held), columns, marginals, masks or {}, grouped, triples or {})
    if not wanted:
        return table
    owners = ([columns.owner(column) for column in one.columns] for one in wanted)
    row_work = sum(work_of(columns.sizes, attributes) for attributes in owners)
    at_once = min(table.record_count, max(1, SWEEP_WORK // row_work))
    order = rng.permutation(table.record_count)
    for number in range(sweeps):
        rows = order.take(np.arange(number * at_once, (number + 1) * at_once), mode="wrap")
        codes = np.stack(columns.of_codes([column[rows].astype(np.int32) for column in held]), axis=1)
        if not sweep(codes, columns, wanted):
            break
        for place, column in enumerate(held):
            column[rows] = codes[:, place]
    return Table(table.domain, tuple(held))


def work_of(sizes: Sequence[int], attributes: Iterable[int]) -> int:
    """How many cells a sweep reads for each row and a marginal of these attributes."""
    return sum(sizes[attribute] + _CELLS_PER_VIEW for attribute in attributes)


def _columns(sizes: Sequence[int], grouped: Sequence[Grouped]) -> Columns:
    """The columns that these marginals need."""
    found = {key for one in grouped for key in zip(one.places, one.groups, strict=True) if key[1]}
    return Columns.of(sizes, sorted(found))


def _surplus(
    codes: Sequence[NDArray[Any]],
    columns: Columns,
    marginals: Mapping[Places, Counts],
    masks: Mapping[Places, NDArray[np.bool_]],
    grouped: Sequence[Grouped],
    triples: Mapping[Places, Counts],
) -> list[Marginal]:
    """Counts minus wanted counts; an excluded cell has too many rows already."""
    wanted = {places: marginals[places] for places in masks if places in marginals}
    light = {*triples}
    for one in grouped:
        places = tuple(map(columns.column, one.places, one.groups))
        wanted[places] = one.counts
        if any(one.groups):
            light.add(places)
    wanted |= {**marginals, **triples}
    end = 0
    room: dict[Places, Counts] = {}
    for places, counts in wanted.items():
        if counts.size <= LARGEST_ADJUSTED and end + len(places) * counts.size <= ALL_CELLS:
            room[places] = counts
            end += len(places) * counts.size
    counted = _count_cells(codes, columns.sizes, room)
    found = []
    for places, counts in room.items():
        over = (counted[places] - counts).reshape([columns.sizes[place] for place in places])
        if places in masks:
            over[~masks[places]] += _TOO_MANY
        weight = _LIGHT if places in light else 1.0
        found.append(Marginal(places, over.astype(np.float32), weight))
    return found


def _count_cells(
    columns: Sequence[NDArray[Any]], sizes: Sequence[int], cliques: Iterable[Places]
) -> dict[Places, NDArray[np.int64]]:
    """Counts of the cells of these columns, pairs together."""
    names = [str(place) for place in range(len(columns))]
    named = {places: tuple(names[place] for place in places) for places in cliques}
    by_name = dict(zip(names, columns, strict=True))
    pairs = [clique for clique in named.values() if len(clique) == 2]
    found = pairs_on_cores(by_name, dict(zip(names, sizes, strict=True)), pairs)
    for places, clique in named.items():
        if len(places) != 2:
            found[clique] = _larger_counted(
                [columns[place] for place in places], [sizes[place] for place in places]
            )
    return {places: found[clique] for places, clique in named.items()}


def _larger_counted(columns: Sequence[NDArray[Any]], shape: Sequence[int]) -> NDArray[np.int64]:
    """Counts of the cells of these columns, with temporary memory of a block of rows."""
    found = np.zeros(math.prod(shape), dtype=np.int64)
    for first in range(0, len(columns[0]), COUNTED_AT_ONCE):
        block = [column[first : first + COUNTED_AT_ONCE].astype(np.int64) for column in columns]
        found += np.bincount(np.ravel_multi_index(block, shape), minlength=found.size)
    return found
