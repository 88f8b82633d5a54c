"""How to build the whole table of a clique in stages, by the estimated time of one evaluation (see `layout`).

A clique with large neighbours has no good cut (`cuts`): messages have axes in every part. Its table is then
stored whole. Small factors are not added to it one by one: its axes, in order, are cut into a few segments,
and factors that leave out the same segment are added together in a smaller table, which is built in the same
way. The sums to all factors are taken back through the same tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_ONE_BY_ONE_CELLS = 256
"""Factors are added one by one to tables of at most this many cells."""

_SEGMENTS = (3, 4, 5)

FASTEST = 5.0
"""Measured time in nanoseconds of a cell of the whole table, without factors."""

# Of a cell of a table to which a factor is added in contiguous runs or by an index, there and back, and of
# starting a row of it.
_ADDED_RUN_NS, _ADDED_MEMBER_NS, _ADDED_ROW_NS = 0.7, 3.0, 12.0


class Stage(NamedTuple):
    """A table and what is added to it.

    Attributes:
        axes: of the table, in order.
        columns: number of its last axes that make up a row.
        parts: smaller tables that are added.
        sources: factors that are added directly.
    """

    axes: tuple[int, ...]
    columns: int
    parts: tuple[Stage, ...]
    sources: tuple[int, ...]


def stage_table(
    shape: Sequence[int], sources: Sequence[frozenset[int]], separator: frozenset[int]
) -> tuple[float, Stage]:
    """The whole table of a clique in stages, and nanoseconds of one evaluation (compare `cuts.timed_cut`).

    Args:
        shape: of the clique, in the order of its table.
        sources: axes of its factors.
        separator: axes shared with the parent.
    """
    stage = _stage(tuple(range(len(shape))), range(len(sources)), shape, sources, separator)
    return math.prod(shape) * FASTEST + _time(stage, shape, sources), stage


def segments_of(axes: Sequence[int], count: int, shape: Sequence[int]) -> list[tuple[int, ...]]:
    """Consecutive axes, at most `count` segments of about equally many cells."""
    whole, before = math.log(_cells(axes, shape)), 0.0
    segments: list[list[int]] = [[] for _ in range(count)]
    for axis in axes:
        length = math.log(shape[axis])
        segments[min(int((before + length / 2) / whole * count), count - 1)].append(axis)
        before += length
    return [tuple(segment) for segment in segments if segment]


def _stage(
    axes: tuple[int, ...],
    members: Sequence[int],
    shape: Sequence[int],
    sources: Sequence[frozenset[int]],
    *read: frozenset[int],
) -> Stage:
    groups: list[list[int]] = []
    if _cells(axes, shape) > _ONE_BY_ONE_CELLS:
        groups = min(
            ([list(members)], *(_group_sources(axes, count, members, shape, sources) for count in _SEGMENTS)),
            key=lambda found: _guess(axes, found, shape, sources),
        )
    direct = tuple(groups[0] if groups else members)
    parts = tuple(_stage(_union(axes, group, sources), group, shape, sources) for group in groups[1:])
    added = [sources[member] for member in direct] + [frozenset(part.axes) for part in parts]
    columns = min(range(1, len(axes) + 1), key=lambda count: _adding(axes, count, [*added, *read], shape))
    return Stage(axes, columns, parts, direct)


def _group_sources(
    axes: tuple[int, ...],
    count: int,
    members: Sequence[int],
    shape: Sequence[int],
    sources: Sequence[frozenset[int]],
) -> list[list[int]]:
    """The sources to add directly, and groups of the others, each without axes in one of `count` segments."""
    segments = segments_of(axes, count, shape)
    groups: list[list[int]] = [[] for _ in range(len(segments) + 1)]
    # The largest segment first: a table without it is the smallest.
    order = sorted(range(len(segments)), key=lambda place: -_cells(segments[place], shape))
    for member in members:
        without = (place for place in order if sources[member].isdisjoint(segments[place]))
        groups[next(without, -1) + 1].append(member)
    alone = [group[0] for group in groups[1:] if len(group) == 1]
    return [groups[0] + alone, *(group for group in groups[1:] if len(group) > 1)]


def _guess(
    axes: tuple[int, ...], groups: list[list[int]], shape: Sequence[int], sources: Sequence[frozenset[int]]
) -> float:
    """About the time of adding these groups, the first directly."""
    time = _cells(axes, shape) * len(groups[0]) * _ADDED_MEMBER_NS
    for group in groups[1:]:
        own = _cells(_union(axes, group, sources), shape)
        time += _cells(axes, shape) * _ADDED_RUN_NS + own * min(len(group), 6) * _ADDED_MEMBER_NS
    return time


def _time(stage: Stage, shape: Sequence[int], sources: Sequence[frozenset[int]]) -> float:
    added = [sources[member] for member in stage.sources] + [frozenset(part.axes) for part in stage.parts]
    return _adding(stage.axes, stage.columns, added, shape) + sum(
        _time(part, shape, sources) for part in stage.parts
    )


def _adding(
    axes: tuple[int, ...], count: int, added: Sequence[frozenset[int]], shape: Sequence[int]
) -> float:
    """Nanoseconds of adding tables of these axes in rows of the last `count` axes."""
    columns = axes[len(axes) - count :]
    run = _cells(columns, shape)
    rows = _cells(axes, shape) / run
    even = sum(source.issuperset(columns) or source.isdisjoint(columns) for source in added)
    return rows * (
        (len(added) + 1) * _ADDED_ROW_NS
        + run * (even * _ADDED_RUN_NS + (len(added) - even) * _ADDED_MEMBER_NS)
    )


def _union(
    axes: tuple[int, ...], members: Sequence[int], sources: Sequence[frozenset[int]]
) -> tuple[int, ...]:
    touched = frozenset().union(*(sources[member] for member in members))
    return tuple(axis for axis in axes if axis in touched)


def _cells(axes: Sequence[int], shape: Sequence[int]) -> int:
    return math.prod(shape[axis] for axis in axes)
