"""Many marginals of one table at once: attributes are counted in groups, several pairs in one pass."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ..later import np
from .domain import Clique

if TYPE_CHECKING:
    from numpy.typing import NDArray

Counts: TypeAlias = "NDArray[np.int64]"
Codes: TypeAlias = "NDArray[np.unsignedinteger[Any]]"

COUNTED_AT_ONCE = 2**18
"""Number of rows of a block; it bounds temporary memory."""

CELLS_AT_ONCE = 2**23
"""Number of cells of the joint tables that are counted together; it bounds temporary memory."""

KEPT_COUNTS = 2**22
"""Largest number of counts that are kept for later calls (32 MiB)."""

_LEAST_JOINT, _LARGEST_JOINT = 2**6, 2**16
_ROWS_PER_CELL = 4
"""A joint table of two groups has a cell for so many rows at most, so that adding costs little."""


CountPairs = Callable[[Mapping[str, Codes], Mapping[str, int], Collection[Clique]], dict[Clique, Counts]]
"""Codes of attributes, their numbers of codes, and pairs -> exact counts; see `pairs_counted`."""

Group = tuple[str, ...]
"""Attributes that are counted together; of few joint values."""


def pairs_counted(
    columns: Mapping[str, Codes],
    sizes: Mapping[str, int],
    pairs: Collection[Clique],
    weights: Counts | None = None,
) -> dict[Clique, Counts]:
    """Exact counts of pairs, in few passes over columns; see `pairs_of_joints`.

    Args:
        columns: for each attribute its codes, shape (N,).
        sizes: for each attribute its number of codes.
        pairs: two attributes each.
        weights: what each row counts, shape (N,); None for one.
    """
    rows = len(next(iter(columns.values()))) if columns else 0
    return pairs_of_joints(partial(_joint_counts, columns, sizes, weights=weights), rows, sizes, pairs)


def count_cells(cells: NDArray[np.int64], size: int, weights: Counts | None) -> Counts:
    """The rows of each cell, or the sums of their weights, shape (size,).

    Args:
        cells: of each row.
        size: number of cells.
        weights: of each row, whose sum is below 2^53; None for one.
    """
    if weights is None:
        return np.bincount(cells, minlength=size)
    # Sums of whole numbers below 2^53 are exact as floats.
    return np.bincount(cells, weights, size).astype(np.int64)


def pairs_of_joints(
    joint: Callable[[Sequence[tuple[Group, ...]]], Iterable[Counts]],
    rows: int,
    sizes: Mapping[str, int],
    pairs: Collection[Clique],
) -> dict[Clique, Counts]:
    """Exact counts of pairs, as sums over joint tables.

    Attributes are put into groups of few joint values. What counts the rows counts the joint table of two
    groups, and all pairs between them are sums over it.

    Args:
        joint: the counts of joint tables, each of one or two groups, shape (cells,), in their order.
        rows: number of rows.
        sizes: for each attribute its number of codes.
        pairs: two attributes each.

    Returns:
        For each pair shape (n_r,), in row-major order of the pair as given.
    """
    wanted = {frozenset(pair) for pair in pairs}
    names = sorted({name for pair in pairs for name in pair}, key=lambda name: (sizes[name], name))
    groups = _groups(names, sizes, rows)
    passes = [
        (groups[one],) if one == two else (groups[one], groups[two])
        for one, two in itertools.combinations_with_replacement(range(len(groups)), 2)
        if any(frozenset(pair) in wanted for pair in _between(groups[one], groups[two], one == two))
    ]
    found: dict[frozenset[str], tuple[str, Counts]] = {}
    for both, counts in zip(passes, joint(passes), strict=True):
        table = counts.reshape([sizes[name] for group in both for name in group])
        for first, table_of_pair, key in _pairs_of_joint(table, both[0], both[-1], len(both) == 1, wanted):
            found[key] = (first, table_of_pair)
    return {
        pair: np.ascontiguousarray(counts if first == pair[0] else counts.T).ravel()
        for pair in pairs
        for first, counts in [found[frozenset(pair)]]
    }


def two_different(clique: Clique) -> bool:
    """Whether a clique can be counted as a pair."""
    return len(clique) == len(set(clique)) == 2


def _groups(names: Sequence[str], sizes: Mapping[str, int], rows: int) -> list[Group]:
    """Attributes in groups, small ones first; the joint table of two groups has few cells for each row.

    An attribute of one code counts as two, so that a joint table never has more axes than an array can have.
    """
    joint = min(max(rows // _ROWS_PER_CELL, _LEAST_JOINT), _LARGEST_JOINT)
    most = math.isqrt(joint)
    groups: list[Group] = []
    cells = most + 1
    for name in names:
        size = max(2, sizes[name])
        cells *= size
        if cells > most:
            groups.append(())
            cells = size
        groups[-1] += (name,)
    return groups


def _joint_counts(
    columns: Mapping[str, Codes],
    sizes: Mapping[str, int],
    passes: Sequence[tuple[Group, ...]],
    weights: Counts | None = None,
) -> Iterator[Counts]:
    """Joint tables of one group or two each, shape (cells,)."""
    cells = {group: math.prod(sizes[name] for name in group) for both in passes for group in both}
    totals = [math.prod(cells[group] for group in both) for both in passes]
    start = 0
    while start < len(passes):
        held = itertools.accumulate(totals[start:])
        stop = start + max(1, sum(total <= CELLS_AT_ONCE for total in held))
        joint = {
            both: np.zeros(math.prod(cells[g] for g in both), dtype=np.int64) for both in passes[start:stop]
        }
        start = stop
        for first in range(0, len(next(iter(columns.values()))), COUNTED_AT_ONCE):
            codes = {
                group: joint_codes(columns, sizes, group, first, first + COUNTED_AT_ONCE)
                for group in {g for both in joint for g in both}
            }
            for both, counts in joint.items():
                at = codes[both[0]].astype(np.int64)
                if len(both) == 2:
                    at *= cells[both[1]]
                    at += codes[both[1]]
                some = None if weights is None else weights[first : first + COUNTED_AT_ONCE]
                counts += count_cells(at, counts.size, some)
        yield from joint.values()


def _between(one: Sequence[str], two: Sequence[str], same: bool) -> Iterator[Clique]:
    return itertools.combinations(one, 2) if same else itertools.product(one, two)


def joint_codes(
    columns: Mapping[str, Codes], sizes: Mapping[str, int], group: Group, start: int, stop: int
) -> Codes:
    """The cell of a group's joint table of each of the rows start to stop - 1."""
    block = slice(start, stop)
    if len(group) == 1:
        return columns[group[0]][block]
    codes = columns[group[0]][block].astype(np.uint16)
    for name in group[1:]:
        codes *= np.uint16(sizes[name])
        codes += columns[name][block].astype(np.uint16)
    return codes


def _pairs_of_joint(
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


@dataclass(frozen=True, eq=False)
class Kept:
    """Counts of cliques that are kept for later calls as far as there is room; not to be written to."""

    _counts: dict[Clique, Counts] = field(default_factory=dict)

    def kept_counts(self, clique: Clique) -> Counts | None:
        """The counts of a clique, if they are kept."""
        return self._counts.get(clique)

    def counts_of(
        self, cliques: Iterable[Clique], count: Callable[[Sequence[Clique]], Mapping[Clique, Counts]]
    ) -> list[Counts]:
        """The counts of cliques, in their order.

        Args:
            cliques: the attributes of each.
            count: counts those that are not kept.
        """
        asked = list(cliques)
        found = count([clique for clique in dict.fromkeys(asked) if clique not in self._counts])
        room = KEPT_COUNTS - sum(counts.size for counts in self._counts.values())
        for clique, counts in found.items():
            counts.flags.writeable = False
            if counts.size <= room:
                self._counts[clique] = counts
                room -= counts.size
        return [found[clique] if clique in found else self._counts[clique] for clique in asked]
