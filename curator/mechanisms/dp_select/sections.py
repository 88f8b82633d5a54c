"""Selection of records from a pool, in parallel sections.

Source: DP-Select, section 4.4: table and pool are divided into disjoint sections, and each selects from its
part of the pool records that are close to its part of the table. A record is in one section, so sections
compose in parallel.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....common.crypto.randomness import RandomStream
from ....common.data.table import Table
from .distances import DISTANCES, Distance, Reference
from .picking import pick

_DRAWS_AT_ONCE = 1 << 18
"""Random numbers of a block of steps; a section can be stopped between blocks."""


@dataclass(frozen=True)
class Selection:
    """Parameters of the selection.

    Attributes:
        distance: distance to minimise.
        candidates: number of candidates in each step.
        at_once: number of records of a candidate, selected together.
        factor: factor of the distance in the exponent of the exponential mechanism: its parameter over twice
            the sensitivity; infinite to select the best candidate, if the reference is public.
    """

    distance: Distance
    candidates: int
    at_once: int
    factor: float

    def steps(self, records: int) -> int:
        """Number of exponential mechanisms that select `records` records."""
        return -(-records // self.at_once)


def parts(count: int, sections: int) -> list[slice]:
    """Consecutive parts whose sizes differ by at most 1."""
    edges = [count * i // sections for i in range(sections + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def select_in_sections(
    pool: Table,
    references: Sequence[Reference],
    needed: Sequence[int],
    selection: Selection,
    stream: RandomStream,
    report: Callable[[float], None],
    threads: int = 2,
) -> NDArray[np.int64]:
    """Selects rows of the pool, section by section.

    Guarantee: none by itself: each section's steps are exponential mechanisms over its reference, which the
        caller charges.

    Args:
        pool: public, a multiple of the rows needed; each section selects from a proportional part.
        references: reference of each section.
        needed: number of rows that each section selects.
        selection: parameters of the selection.
        stream: source of randomness; each section has its own child.
        report: called with the share of the work that is done.
        threads: number of threads; the compiled loop releases the interpreter's lock.

    Returns:
        Indices of rows, shape (sum of needed,), without repetition.
    """
    done = [0] * len(needed)
    stop = threading.Event()

    def run(place: int, part: slice) -> NDArray[np.int64]:
        rows = pool.rows(part.start, part.stop)

        def on_block(taken: int) -> None:
            done[place] = taken
            if stop.is_set():
                raise _Stopped

        child = stream.child("section", str(place))
        chosen = select(rows, references[place], needed[place], selection, child, on_block)
        chosen += part.start
        return chosen

    times = pool.record_count // sum(needed)
    ends = [times * taken for taken in itertools.accumulate(needed)]
    pieces = [slice(end - times * own, end) for end, own in zip(ends, needed, strict=True)]
    with ThreadPoolExecutor(threads, thread_name_prefix="section") as executor:
        futures = [executor.submit(run, place, part) for place, part in enumerate(pieces)]
        try:
            chosen = []
            for future in futures:
                chosen.append(future.result())
                report(sum(done) / sum(needed))
        finally:
            # Stop the sections whatever ended the wait, for example an interrupt.
            stop.set()
            for future in futures:
                future.cancel()
    return np.concatenate(chosen)


def select(
    pool: Table,
    reference: Reference,
    needed: int,
    selection: Selection,
    stream: RandomStream,
    on_block: Callable[[int], None],
) -> NDArray[np.int64]:
    """Selects rows of the pool in one section.

    Args:
        pool: at least as many rows as needed.
        reference: marginals that they are compared with.
        needed: number of rows.
        selection: parameters of the selection.
        stream: randomness of the noise and of the candidates.
        on_block: called with the number of rows selected, before each block and at the end; may raise.

    Returns:
        Indices of rows in the order of selection, shape (needed,), without repetition.
    """
    if pool.record_count < needed:
        raise ValueError("expected a pool of at least as many rows as needed")
    cells = reference.cells(pool)
    counts = np.zeros(len(reference.shares), dtype=np.int64)
    order = np.arange(pool.record_count, dtype=np.int64)
    rng = stream.child("candidates").generator()
    noise = stream.child("gumbel")
    # Without noise only the order of the distances matters.
    exact = np.isinf(selection.factor)
    factor = 1.0 if exact else selection.factor
    width = selection.candidates * selection.at_once
    steps = max(1, _DRAWS_AT_ONCE // width)
    taken = 0
    while taken < needed:
        on_block(taken)
        block = min(steps, selection.steps(needed - taken))
        shape = (block, selection.candidates)
        taken = pick(
            DISTANCES.index(selection.distance),
            cells,
            reference.offsets,
            reference.shares,
            reference.weights,
            counts,
            order,
            taken,
            needed,
            selection.at_once,
            factor,
            rng.random((block, width)),
            np.zeros(shape) if exact else gumbel(noise, shape),
        )
    on_block(taken)
    return order[len(order) - needed :][::-1].copy()


def gumbel(stream: RandomStream, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Gumbel draws: the argmax of log-weights plus these is an exponential mechanism.

    Each is -log of an exponential draw from 64 random bits; the truncated tail has probability 2^-64.
    """
    words = stream.words(shape[0] * shape[1]).reshape(shape)
    uniform = np.minimum((words.astype(np.float64) + 0.5) * 2.0**-64, 1 - 2.0**-53)
    return -np.log(-np.log1p(-uniform))


class _Stopped(Exception):
    """Raised in a section whose result is no longer needed."""
