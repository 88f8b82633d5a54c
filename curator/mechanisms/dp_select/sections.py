"""Selection of records from a pool, in sections side by side.

Source: DP-Select, section 4.4: table and pool are cut into disjoint sections, and each selects from its part
of the pool what looks like its part of the table. One record lies in one section, so sections compose in
parallel.
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
"""Random numbers of a block of steps; between blocks a section can be stopped."""


@dataclass(frozen=True)
class Selection:
    """How records are selected.

    Attributes:
        distance: what is to become small.
        candidates: looked at in each step.
        at_once: records that one candidate consists of, selected together.
        factor: of the distance in the exponent of the exponential mechanism: its parameter over twice the
            sensitivity; infinite for the best candidate, where the reference is public.
    """

    distance: Distance
    candidates: int
    at_once: int
    factor: float

    def steps(self, records: int) -> int:
        """Exponential mechanisms that select so many records."""
        return -(-records // self.at_once)


def parts(count: int, sections: int) -> list[slice]:
    """Consecutive parts of as even a size as possible."""
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
    """Rows of the pool, section by section.

    Guarantee: none by itself: each section's steps are exponential mechanisms over its reference, which the
        caller charges.

    Args:
        pool: public, a multiple of what is needed; each section selects from a part in proportion.
        references: of each section.
        needed: how many rows each section selects.
        selection: how.
        stream: randomness; each section has its own child.
        report: called with the share of the work that is done.
        threads: that work side by side; the compiled loop lets go of the interpreter's lock.

    Returns:
        Shape (sum of needed,), no row twice.
    """
    done = [0] * len(needed)
    stop = threading.Event()

    def run(place: int, part: slice) -> NDArray[np.int64]:
        rows = pool.rows(part.start, part.stop)

        def tell(taken: int) -> None:
            done[place] = taken
            if stop.is_set():
                raise _Stopped

        child = stream.child("section", str(place))
        chosen = select(rows, references[place], needed[place], selection, child, tell)
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
            # Whatever ended the wait, an interrupt among it, ends the sections too.
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
    tell: Callable[[int], None],
) -> NDArray[np.int64]:
    """Rows of the pool, one section's.

    Args:
        pool: at least as many rows as are needed.
        reference: what they are to look like.
        needed: how many.
        selection: how.
        stream: of the noise and of the choice of candidates.
        tell: called with the number of rows selected, between blocks of steps; may raise to stop.

    Returns:
        Shape (needed,), in the order of selection, no row twice.
    """
    if pool.record_count < needed:
        raise ValueError("expected a pool of at least as many rows as are to be selected")
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
        tell(taken)
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
    tell(taken)
    return order[len(order) - needed :][::-1].copy()


def gumbel(stream: RandomStream, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Gumbel draws: the largest of these plus log-weights is an exponential mechanism.

    Each is -log of an exponential draw of 64 random bits: what lies past the largest value that it can take
    has probability 2^-64.
    """
    words = stream.words(shape[0] * shape[1]).reshape(shape)
    uniform = np.minimum((words.astype(np.float64) + 0.5) * 2.0**-64, 1 - 2.0**-53)
    return -np.log(-np.log1p(-uniform))


class _Stopped(Exception):
    """A section that nobody waits for any more."""
