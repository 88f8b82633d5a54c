"""Work on one item after the other, two at a time, with results in order and bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_WORKERS = 2

Item = TypeVar("Item")
Made = TypeVar("Made")


def made_in_order(make: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """What is made of each item, in order; two are made at a time, and at most three are in memory.

    Args:
        make: called in two threads.
        items: such as the numbers of blocks; taken in the calling thread, while others are worked on.
    """
    waiting: deque[Future[Made]] = deque()
    workers = ThreadPoolExecutor(_WORKERS)
    try:
        for item in items:
            waiting.append(workers.submit(make, item))
            if len(waiting) > _WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        workers.shutdown(cancel_futures=True)
