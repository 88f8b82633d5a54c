"""Synthetic rows from tables of counts, attribute after attribute, with or without replacement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...pgm.compiled import compiled, compiled_part
from .levels import Levels, Node, Nodes

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

_STEP_FAILURES = 10
"""Failures of a step before the next failure goes back one step further."""

_EMPTY = 1e-9
"""Counts of at most this are treated as used up; they are rounding errors."""


def draw(
    levels: Levels,
    steps: Sequence[tuple[Node, Nodes, Array]],
    rows: int,
    without_replacement: bool,
    rng: np.random.Generator,
) -> Integers:
    """Draws the children of the steps, row by row.

    Every step draws its child with probability proportional to the counts of its parents' row. Without
    replacement, tables sum to `rows` at first, and each row removes one count from its cell in each table.
    Inconsistent or unevenly used tables can have parents' rows without counts. Then the previous step is
    drawn again; after every ten failures of a step, it goes back one step further. A row that fails ten times
    for each step is completed from the initial tables.

    Source: PrivBayes, sections 2.3, 3.3 and 3.3.1; the paper does not say when its heuristic ends.

    Args:
        levels: of the nodes.
        steps: child, parents, and counts of shape (*parents, child); not negative.
        rows: number of rows.
        without_replacement: use counts up.
        rng: source of randomness.

    Returns:
        The code of each step's child at its level, shape (rows, steps).
    """
    plan = _plan(levels, steps)
    sums = [float(counts.sum()) for _, _, counts in steps]
    held = np.concatenate(
        [
            counts.ravel() * (rows / total if total > 0 else 1.0)
            for (_, _, counts), total in zip(steps, sums, strict=True)
        ]
    )
    overall = np.concatenate([counts.reshape(-1, counts.shape[-1]).sum(axis=0) for _, _, counts in steps])
    codes = np.empty((rows, len(steps)), dtype=np.int64)
    _draw(codes, held.copy() if without_replacement else held, held, overall, plan, without_replacement, rng)
    return codes


class _Plan(NamedTuple):
    """Offsets and sizes for the compiled loop.

    Attributes:
        starts: start of each step's table.
        sizes: number of codes of each child.
        overall: start of each step's child in the sums over rows.
        known: step that drew a coarser version of the child; -1 without one.
        ratios: number of the child's codes in one code of that version.
        parent_starts: start of each step's parents, and the end.
        parent_steps: step that drew each parent.
        parent_widths: number of drawn codes in one code of the parent.
        parent_strides: stride of each parent's axis.
    """

    starts: Integers
    sizes: Integers
    overall: Integers
    known: Integers
    ratios: Integers
    parent_starts: Integers
    parent_steps: Integers
    parent_widths: Integers
    parent_strides: Integers


def _plan(levels: Levels, steps: Sequence[tuple[Node, Nodes, Array]]) -> _Plan:
    latest: dict[str, int] = {}
    starts, sizes, overall, known, ratios = [0], [], [0], [], []
    parent_starts, parent_steps, parent_widths, parent_strides = [0], [], [], []
    for place, (child, parents, counts) in enumerate(steps):
        before = latest.get(child.name, -1)
        known.append(before)
        ratios.append(1 if before < 0 else levels.width(steps[before][0].level - child.level))
        sizes.append(counts.shape[-1])
        overall.append(overall[-1] + counts.shape[-1])
        starts.append(starts[-1] + counts.size)
        for axis, parent in enumerate(parents):
            source = latest[parent.name]
            parent_steps.append(source)
            parent_widths.append(levels.width(parent.level - steps[source][0].level))
            parent_strides.append(math.prod(counts.shape[axis + 1 :]))
        parent_starts.append(len(parent_steps))
        latest[child.name] = place
    lists = (
        starts,
        sizes,
        overall,
        known,
        ratios,
        parent_starts,
        parent_steps,
        parent_widths,
        parent_strides,
    )
    return _Plan(*(np.array(part, dtype=np.int64) for part in lists))


@compiled_part
def _draw_index(weights: Array, first: int, stop: int, rng: np.random.Generator) -> int:
    """An index from first to stop - 1 with probability proportional to its weight; -1 if all are 0."""
    total = 0.0
    for place in range(first, stop):
        if weights[place] > _EMPTY:
            total += weights[place]
    if total <= 0.0:
        return -1
    reached, wanted, chosen = 0.0, rng.random() * total, -1
    for place in range(first, stop):
        if weights[place] > _EMPTY:
            reached += weights[place]
            chosen = place
            if reached > wanted:
                break
    return chosen


@compiled
def _draw(
    codes: Integers,
    left: Array,
    held: Array,
    overall: Array,
    plan: _Plan,
    without_replacement: bool,
    rng: np.random.Generator,
) -> None:
    """Fills `codes`, row by row.

    Args:
        codes: output, shape (rows, steps).
        left: remaining counts, all tables concatenated; the same array as `held` with replacement.
        held: initial counts.
        overall: each table's sums over its rows, concatenated.
        plan: offsets and sizes of the steps.
        without_replacement: use counts up.
        rng: source of randomness.
    """
    count = len(plan.sizes)
    cells = np.empty(count, dtype=np.int64)
    fails = np.empty(count, dtype=np.int64)
    for row in range(len(codes)):
        fails[:] = 0
        failures, step = 0, 0
        while step < count:
            base = plan.starts[step]
            for p in range(plan.parent_starts[step], plan.parent_starts[step + 1]):
                base += codes[row, plan.parent_steps[p]] // plan.parent_widths[p] * plan.parent_strides[p]
            first, stop = 0, plan.sizes[step]
            if plan.known[step] >= 0:
                first = codes[row, plan.known[step]] * plan.ratios[step]
                stop = min(stop, first + plan.ratios[step])
            cell = _draw_index(left, base + first, base + stop, rng)
            if cell < 0 and step > 0 and failures < _STEP_FAILURES * count:
                failures += 1
                fails[step] += 1
                step = max(0, step - 1 - fails[step] // _STEP_FAILURES)
                continue
            if cell < 0:
                cell = _draw_index(held, base + first, base + stop, rng)
            if cell < 0:
                offset = plan.overall[step]
                cell = _draw_index(overall, offset + first, offset + stop, rng) - offset + base
                if cell < base:
                    cell = base + first + int(rng.random() * (stop - first))
            cells[step] = cell
            codes[row, step] = cell - base
            step += 1
        if without_replacement:
            for step in range(count):
                left[cells[step]] -= 1.0
