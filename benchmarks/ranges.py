"""One role's products of ranges of rows: on a Dask cluster of two processes, against one thread.

Two parties with seven attributes of Adult's sizes each. In a release on one machine all roles share its
processors (`scale.py`), so that a cluster there has none of its own; here one role works at a time. A
dealer's pieces hold seeds, those of a left party what was opened to it: about as many bytes as `scale.py`'s
parties open, made from a key at about the cost of decrypting them. A right party sends nothing to a cluster.
The sums are compared.

Run: python benchmarks/ranges.py [RECORDS]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import distributed
import numpy as np
from scale_engines import SIZES
from threadpoolctl import threadpool_limits

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.processes.workers import MANY_RECORDS, Workers
from dpmosaic.common.protocols.arithmetic.ring import Ring, Words
from dpmosaic.common.protocols.masked.masks import Mask
from dpmosaic.common.protocols.masked.plan import block_rows
from dpmosaic.common.protocols.masked.ranges import dealt_range, left_range, sum_of

RECORDS = 2_000_000
RING = Ring(32)
LEFT, RIGHT = SIZES[:7], SIZES[7:]

Work = tuple[Callable[..., Any], int, Callable[[int, int], tuple[Any, ...]]]
"""The function of a piece, its columns in all, and the arguments of the piece from a row on."""


def _mask(name: str) -> Mask:
    return Mask(((0, RandomStream(bytes(32)).child_key(name)),))


def _opened(start: int, rows: int, cells: int) -> list[Words]:
    return [_mask("opened").uniform(RING, start, rows, cells)]


def roles() -> dict[str, Work]:
    """What each role does."""
    left, right = sum(LEFT), sum(RIGHT)
    masks = [(_mask(str(i)), cells) for i, cells in enumerate(LEFT)]
    others = [(_mask(str(-1 - i)), cells) for i, cells in enumerate(RIGHT)]

    def of_left(start: int, rows: int) -> tuple[Any, ...]:
        return RING, masks, start, _opened(start, rows, right)

    def of_dealer(start: int, rows: int) -> tuple[Any, ...]:
        return RING, [(0, (0,))], [([mask], n) for mask, n in masks], others, start, rows

    return {
        "left party": (left_range, left + right, of_left),
        "dealer": (dealt_range, left + right, of_dealer),
    }


def total(pool: Workers, work: Work, records: int) -> tuple[Words, float]:
    """The sum of one role's products of all ranges, and the seconds on a clock that it took."""
    function, cells, piece = work
    rows = block_rows(RING, cells)
    pieces = (piece(start, min(rows, records - start)) for start in range(0, records, rows))
    began = time.perf_counter()
    found = sum_of(list(pool.map(function, pieces, records)))
    return found, time.perf_counter() - began


def main() -> None:
    """Prints one line for each role."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS
    print(f"{records} records, {len(LEFT)} x {len(RIGHT)} attributes, {os.cpu_count()} processors")
    threadpool_limits(1)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        alone, dask = Workers.threads(1), Workers.cluster(cluster.scheduler_address)
        for name, work in roles().items():
            total(dask, work, MANY_RECORDS)
            (expected, one), (found, two) = total(alone, work, records), total(dask, work, records)
            if not np.array_equal(found, expected):
                raise AssertionError(f"{name}: the cluster gives other words")
            print(f"{name}: {one:.1f} s on one thread, {two:.1f} s by Dask: {one / two:.2f} times as fast")
        dask.close()


if __name__ == "__main__":
    main()
