"""Many marginals of one table at once: attributes are counted in groups, several pairs in one pass."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .domain import Clique

Counts = NDArray[np.int64]
Codes = NDArray[np.unsignedinteger[Any]]

ROWS_AT_ONCE = 2**18
"""Number of rows of a block; it bounds temporary memory."""

_CELLS_AT_ONCE = 2**23
"""Number of cells of the joint tables that are counted together; it bounds temporary memory."""

_LEAST_JOINT, _LARGEST_JOINT = 2**6, 2**16
_ROWS_PER_CELL = 4
"""A joint table of two groups has a cell for so many rows at most, so that adding costs little."""


def pairs_counted(
    columns: Mapping[str, Codes], sizes: Mapping[str, int], pairs: Collection[Clique]
) -> dict[Clique, Counts]:
    """Exact counts of pairs.

    Attributes are put into groups of few joint values. One pass over the rows counts the joint table of two
    groups, and all pairs between them are sums over it.

    Args:
        columns: for each attribute its codes, shape (N,).
        sizes: for each attribute its number of codes.
        pairs: two attributes each.

    Returns:
        For each pair shape (n_r,), in row-major order of the pair as given.
    """
    wanted = {frozenset(pair) for pair in pairs}
    names = sorted({name for pair in pairs for name in pair}, key=lambda name: (sizes[name], name))
    rows = len(columns[names[0]]) if names else 0
    groups = _groups(names, sizes, rows)
    passes = [
        (one, two)
        for one, two in itertools.combinations_with_replacement(range(len(groups)), 2)
        if any(frozenset(pair) in wanted for pair in _between(groups[one], groups[two], one == two))
    ]
    found: dict[frozenset[str], tuple[str, Counts]] = {}
    for (one, two), counts in _joint_counts(columns, sizes, groups, passes):
        shapes = [[sizes[name] for name in groups[place]] for place in ((one,) if one == two else (one, two))]
        table = counts.reshape(*itertools.chain(*shapes))
        for first, table_of_pair, key in _summed(table, groups[one], groups[two], one == two, wanted):
            found[key] = (first, table_of_pair)
    return {
        pair: np.ascontiguousarray(counts if first == pair[0] else counts.T).ravel()
        for pair in pairs
        for first, counts in [found[frozenset(pair)]]
    }


def _groups(names: Sequence[str], sizes: Mapping[str, int], rows: int) -> list[list[str]]:
    """Attributes in groups, small ones first; the joint table of two groups has few cells for each row."""
    joint = min(max(rows // _ROWS_PER_CELL, _LEAST_JOINT), _LARGEST_JOINT)
    most = math.isqrt(joint)
    groups: list[list[str]] = []
    cells = most + 1
    for name in names:
        cells *= sizes[name]
        if cells > most:
            groups.append([])
            cells = sizes[name]
        groups[-1].append(name)
    return groups


def _joint_counts(
    columns: Mapping[str, Codes],
    sizes: Mapping[str, int],
    groups: Sequence[Sequence[str]],
    passes: Sequence[tuple[int, int]],
) -> Iterator[tuple[tuple[int, int], Counts]]:
    """Joint tables of two groups each, or of one with itself, shape (cells,)."""
    cells = [math.prod(sizes[name] for name in group) for group in groups]
    of_pass = {(one, two): cells[one] * (1 if one == two else cells[two]) for one, two in passes}
    rows = len(columns[groups[0][0]]) if groups else 0
    left = list(passes)
    while left:
        held = itertools.accumulate(of_pass[both] for both in left)
        fit = max(1, sum(total <= _CELLS_AT_ONCE for total in held))
        joint = {both: np.zeros(of_pass[both], dtype=np.int64) for both in left[:fit]}
        left = left[fit:]
        for start in range(0, rows, ROWS_AT_ONCE):
            needed = {place for both in joint for place in both}
            codes = {place: _joint_codes(columns, sizes, groups[place], start) for place in needed}
            for (one, two), counts in joint.items():
                at = codes[one].astype(np.int64)
                if one != two:
                    at *= cells[two]
                    at += codes[two]
                counts += np.bincount(at, minlength=counts.size)
        yield from joint.items()


def _between(one: Sequence[str], two: Sequence[str], same: bool) -> Iterator[Clique]:
    return itertools.combinations(one, 2) if same else itertools.product(one, two)


def _joint_codes(
    columns: Mapping[str, Codes], sizes: Mapping[str, int], group: Sequence[str], start: int
) -> Codes:
    """The cell of a group's joint table of each row of a block."""
    block = slice(start, start + ROWS_AT_ONCE)
    if len(group) == 1:
        return columns[group[0]][block]
    codes = columns[group[0]][block].astype(np.uint16)
    for name in group[1:]:
        codes *= np.uint16(sizes[name])
        codes += columns[name][block].astype(np.uint16)
    return codes


def _summed(
    table: Counts, one: Sequence[str], two: Sequence[str], same: bool, wanted: Collection[frozenset[str]]
) -> Iterator[tuple[str, Counts, frozenset[str]]]:
    """The wanted pairs of a joint table: first attribute, counts with that along the rows, and the pair."""
    if same:
        for i, j in itertools.combinations(range(len(one)), 2):
            key = frozenset((one[i], one[j]))
            if key in wanted:
                others = tuple(axis for axis in range(len(one)) if axis not in (i, j))
                yield one[i], table.sum(axis=others), key
        return
    for i, name in enumerate(one):
        if not any(frozenset((name, other)) in wanted for other in two):
            continue
        rows = table.sum(axis=tuple(axis for axis in range(len(one)) if axis != i))
        for j, other in enumerate(two):
            key = frozenset((name, other))
            if key in wanted:
                yield name, rows.sum(axis=tuple(1 + axis for axis in range(len(two)) if axis != j)), key
