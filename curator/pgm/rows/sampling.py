"""Synthetic rows from a model by randomised rounding."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.table import Table, code_dtype
from ....common.errors import ModelError
from ..compiled import compiled
from ..structure.junction_tree import JunctionTree

Array = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger[Any]]
Places = NDArray[np.int64]

_WORD_CHOICES = 2**32 - 1
"""Largest number of choices of a random word of 32 bits."""

_CACHE_BLOCK = 2**16
"""Block size of rows, lines and random words; blocks stay in the cache."""

_LONG_RUN = 2**20
"""Longer runs do not fit into the cache, and are distributed over buckets before they are shuffled."""


class TreeModel(Protocol):
    """What rows are drawn from: a junction tree and the marginals of its cliques."""

    @property
    def domain(self) -> Domain:
        """The attributes."""
        ...

    @property
    def tree(self) -> JunctionTree:
        """The cliques."""
        ...

    @property
    def beliefs(self) -> tuple[Array, ...]:
        """For each clique of the tree its marginal, an array of the clique's shape."""
        ...


def generate(model: TreeModel, rows: int, rng: np.random.Generator) -> Table:
    """Make rows whose marginals are as close to the model's as whole numbers allow.

    The root's cells get their expected counts, rounded at random. Each further clique takes the rows of every
    value of its separator, rounds the expected counts of the values of its other attributes, and assigns
    these to the rows in uniformly shuffled order: without the shuffle, attributes that are independent given
    the separator would be correlated. The rows of the table are in random order.

    Memory beside the table: up to 9 bytes for each row and 24 for each value of a separator.

    Source: McKenna, Miklau and Sheldon, Winning the NIST contest (2021), with shuffled rows.

    Args:
        model: distribution of the rows.
        rows: number of rows, at least 1 and less than 2^32.
        rng: source of randomness; its seed determines the table.

    Raises:
        ModelError: a marginal of the model has no positive count, or one that is not finite.
    """
    if not 1 <= rows <= _WORD_CHOICES:
        raise ValueError(f"rows: expected at least 1 and at most {_WORD_CHOICES}, found {rows}")
    columns: dict[str, Codes] = {}
    for attribute in model.domain.attributes:
        if attribute.size == 1:
            columns[attribute.name] = np.zeros(rows, dtype=code_dtype(1))
    for clique, belief in zip(model.tree.cliques, model.beliefs, strict=True):
        sizes = {name: size for name, size in zip(clique, belief.shape, strict=True) if size > 1}
        shared = {name: size for name, size in sizes.items() if name in columns}
        fresh = {name: size for name, size in sizes.items() if name not in columns}
        if fresh:
            starts = _group_starts(columns, shared, rows)
            values = np.empty(rows, dtype=code_dtype(math.prod(fresh.values())))
            _fill_runs(values, starts, clique, belief, tuple(shared), rng)
            _shuffle_runs(values, starts, rng)
            columns |= _deal_runs(values, starts, columns, shared, fresh)
    return Table(model.domain, tuple(columns[name] for name in model.domain))


def _group_starts(columns: Mapping[str, Codes], shared: Mapping[str, int], rows: int) -> Places:
    """Where the rows of each value of the separator start if they are sorted by it; then `rows`."""
    starts = np.zeros(math.prod(shared.values()) + 1, dtype=np.int64)
    if shared:
        for first in range(0, rows, _CACHE_BLOCK):
            _count(_groups(columns, shared, first), starts[1:])
    else:
        starts[1] = rows
    return np.cumsum(starts, out=starts)


def _groups(columns: Mapping[str, Codes], shared: Mapping[str, int], first: int) -> Codes:
    """The value of the separator of each row of the block that starts at `first`."""
    # Arithmetic on 16 bits is several times faster than on 64; 8 bits would need more compiled kernels.
    dtype = np.promote_types(code_dtype(math.prod(shared.values())), np.uint16)
    leading, *others = shared
    groups: Codes = columns[leading][first : first + _CACHE_BLOCK].astype(dtype)
    for name in others:
        groups *= shared[name]
        groups += columns[name][first : first + _CACHE_BLOCK]
    return groups


def _fill_runs(
    values: Codes, starts: Places, clique: Clique, belief: Array, shared: Clique, rng: np.random.Generator
) -> None:
    """Fill each group's run of `values` with the values of its rows: expected counts, rounded.

    If a value of the separator has no mass in the belief, its rows get the distribution of all rows.

    Args:
        values: shape (rows,): output: cells of the attributes that are not shared, ascending within each run.
        starts: shape (groups + 1,): where each group's run starts.
        clique: attributes of the axes of the belief.
        belief: expected counts, up to a factor.
        shared: attributes of the separator.
        rng: source of each group's offset.
    """
    weights = belief.reshape(-1)
    steps = [math.prod(belief.shape[axis + 1 :]) for axis in range(belief.ndim)]
    axes = [axis for axis, name in enumerate(clique) if name in shared]
    others = [axis for axis, name in enumerate(clique) if name not in shared and belief.shape[axis] > 1]
    last = others.pop()
    outer = _offsets(0, math.prod(belief.shape[axis] for axis in others), others, belief.shape, steps)
    for first in range(0, len(starts) - 1, _CACHE_BLOCK):
        part = starts[first : first + _CACHE_BLOCK + 1]
        lines = _offsets(first, first + len(part) - 1, axes, belief.shape, steps)
        offsets = rng.random(len(lines))
        unfilled = np.diff(part) > 0
        _fill(values, part, weights, lines, outer, steps[last], belief.shape[last], offsets, unfilled)
        if unfilled.any():
            # NaN and infinity remain in the sum, to be found.
            with np.errstate(over="ignore"):
                overall = belief.sum(axis=tuple(axes), where=~(belief <= 0.0)).reshape(-1)
            lines[:] = 0
            _fill(values, part, overall, lines, lines[:1], 1, len(overall), offsets, unfilled)
        if unfilled.any():
            raise ModelError(
                f"the model's marginal of {', '.join(clique)} has no positive count or one that is not "
                "finite; fit the model again"
            )


def _offsets(first: int, stop: int, axes: list[int], shape: tuple[int, ...], steps: list[int]) -> Places:
    """For the cells first to stop - 1 of these axes, their offsets in the whole array."""
    cells = np.arange(first, stop, dtype=np.int64)
    offsets = np.zeros(stop - first, dtype=np.int64)
    for axis in reversed(axes):
        cells, codes = np.divmod(cells, shape[axis])
        offsets += codes * steps[axis]
    return offsets


def _shuffle_runs(values: Codes, starts: Places, rng: np.random.Generator) -> None:
    """Shuffle the values of each run uniformly.

    Source: Durstenfeld, Algorithm 235 (1964); for long runs Rao, Generation of random permutations (1961):
        each value is put into a random bucket, and the buckets are shuffled one by one.
    """
    cuts = [starts]
    for long in np.flatnonzero(np.diff(starts) > _LONG_RUN):
        cuts.append(starts[long] + _strew(values[starts[long] : starts[long + 1]], rng))
    if len(cuts) > 1:
        starts = np.sort(np.concatenate(cuts))
    group = place = 0
    while group < len(starts) - 1:
        words = rng.integers(0, 2**64, size=min(len(values), _CACHE_BLOCK) // 2 + 1, dtype=np.uint64)
        group, place = _shuffle(values, starts, group, place, words.view(np.uint32))


def _strew(run: Codes, rng: np.random.Generator) -> Places:
    """Put each value of a run into one of 256 buckets at random; returns where the buckets end."""
    buckets = rng.integers(0, 2**64, size=len(run) // 8 + 1, dtype=np.uint64).view(np.uint8)[: len(run)]
    ends = np.zeros(257, dtype=np.int64)
    _count(buckets, ends[1:])
    np.cumsum(ends, out=ends)
    _scatter(buckets, ends[:-1].copy(), run.copy(), run)
    return ends[1:]


def _deal_runs(
    values: Codes,
    starts: Places,
    columns: Mapping[str, Codes],
    shared: Mapping[str, int],
    fresh: Mapping[str, int],
) -> dict[str, Codes]:
    """Assign each run to the rows of its group in the order of the rows, and split the cells into columns.

    `starts` is overwritten: afterwards it holds the end of each run.
    """
    if len(fresh) == 1 and not shared:
        return dict.fromkeys(fresh, values)
    made = {name: np.empty(len(values), dtype=code_dtype(size)) for name, size in fresh.items()}
    for first in range(0, len(values), _CACHE_BLOCK):
        cells = values[first : first + _CACHE_BLOCK]
        if shared:
            cells = np.empty_like(cells)
            _deal(_groups(columns, shared, first), starts, values, cells)
        leading, *others = fresh
        for name in reversed(others):
            # Every other attribute has at least two codes: its size fits the type of the cells.
            size = cells.dtype.type(fresh[name])
            quotients = cells // size
            made[name][first : first + _CACHE_BLOCK] = cells - quotients * size
            cells = quotients
        made[leading][first : first + _CACHE_BLOCK] = cells
    return made


@compiled
def _count(codes: Codes, counts: Places) -> None:
    """Add the frequency of each code to `counts`."""
    for code in codes:
        counts[code] += 1


@compiled
def _fill(
    values: Codes,
    starts: Places,
    weights: Array,
    lines: Places,
    outer: Places,
    step: int,
    inner: int,
    offsets: Array,
    unfilled: NDArray[np.bool_],
) -> None:
    """Fill each run by systematic rounding of the weights of its line; lines without mass are skipped.

    Args:
        values: output.
        starts: where each run starts, and where the last ends.
        weights: of all lines.
        lines: where each line starts in `weights`.
        outer: where each segment of values starts, relative to its line.
        step: between the weights of a segment.
        inner: number of weights of a segment.
        offsets: for each line, from 0 to 1.
        unfilled: runs to fill; output: without those that were filled.
    """
    for line in range(len(lines)):
        if not unfilled[line]:
            continue
        total = 0.0
        for stretch in outer:
            for place in range(inner):
                weight = weights[lines[line] + stretch + place * step]
                if not weight <= 0.0:
                    total += weight
        if not 0.0 < total < np.inf:
            continue
        start, size = starts[line], starts[line + 1] - starts[line]
        reached, filled, value, latest = 0.0, 0, 0, 0
        for stretch in outer:
            for place in range(inner):
                weight = weights[lines[line] + stretch + place * step]
                if weight > 0.0:
                    reached += weight
                    until = min(size, int(reached / total * size + offsets[line]))
                    for row in range(start + filled, start + until):
                        values[row] = value
                    filled, latest = max(filled, until), value
                value += 1
        # The two sums may differ in their last digit, so the last value with mass takes the rest.
        for row in range(start + filled, start + size):
            values[row] = latest
        unfilled[line] = False


@compiled
def _shuffle(
    values: Codes, starts: Places, group: int, place: int, words: NDArray[np.uint32]
) -> tuple[int, int]:
    """Shuffle run after run until the random words are used up; returns the run and position to continue at.

    Source: Lemire, Fast random integer generation in an interval (2019), without bias.
    """
    used = 0
    while group < len(starts) - 1:
        stop = starts[group + 1]
        while place < stop - 1:
            if used == len(words):
                return group, place
            left = np.uint64(stop - place)
            product = np.uint64(words[used]) * left
            used += 1
            low = product & np.uint64(0xFFFFFFFF)
            if low < left and low < np.uint64(0x100000000) % left:
                continue
            other = place + np.int64(product >> np.uint64(32))
            values[place], values[other] = values[other], values[place]
            place += 1
        place = stop
        group += 1
    return group, place


@compiled
def _scatter(buckets: NDArray[np.uint8], nexts: Places, values: Codes, scattered: Codes) -> None:
    """Write each value to the next place of its bucket."""
    for row in range(len(buckets)):
        scattered[nexts[buckets[row]]] = values[row]
        nexts[buckets[row]] += 1


@compiled
def _deal(groups: Codes, nexts: Places, values: Codes, dealt: Codes) -> None:
    """Assign each row the next value of its group's run."""
    for row in range(len(groups)):
        dealt[row] = values[nexts[groups[row]]]
        nexts[groups[row]] += 1
