"""Work on one item after the other in two threads, with results in order and bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_WORKERS = 2

Item = TypeVar("Item")
Made = TypeVar("Made")


def made_ahead(make: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """What is made of each item, in order; at most three items are in memory beside the last result.

    Args:
        make: called in two threads.
        items: taken one by one in the calling thread, while others are worked on.
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
