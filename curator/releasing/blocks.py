"""Work on a table block by block, two blocks at a time, with results in order and bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_WORKERS = 2

Made = TypeVar("Made")


def made_in_order(make: Callable[[int], Made], blocks: int) -> Iterator[Made]:
    """What is made of each block, in order; two are made at a time, and at most three are in memory.

    Args:
        make: number of a block -> what is made of it; called in several threads.
        blocks: number of blocks.
    """
    waiting: deque[Future[Made]] = deque()
    workers = ThreadPoolExecutor(_WORKERS)
    try:
        for place in range(blocks):
            waiting.append(workers.submit(make, place))
            if len(waiting) > _WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        workers.shutdown(cancel_futures=True)
