"""What one release may use of a party's machine: bytes of memory and disk, and seconds of its processors.

Bytes are reserved before anything is stored, and before a query is charged. Reserved sizes are upper bounds
that follow from public facts, so a refusal tells nothing about the rows.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ...common.errors import PolicyError
from ...common.processes.workers import NONE, Workers
from .policy import Policy

MB = 1 << 20

Result = TypeVar("Result")


class Quota:
    """Reserved bytes of one kind, by what they are reserved for.

    Calls of one release take turns; only `free` may be called in between, by a finalizer.

    Args:
        limit: largest number of bytes in total.
        key: name of the limit in the policy.
    """

    def __init__(self, limit: int, key: str) -> None:
        self._limit = limit
        self._key = key
        self._reserved: dict[Hashable, int] = {}

    def reserve(self, sizes: Mapping[Hashable, int]) -> None:
        """Reserves bytes, each number instead of an earlier one for the same purpose.

        Args:
            sizes: purpose -> bytes.

        Raises:
            PolicyError: together with the rest they exceed the limit; nothing changes.
        """
        others = [size for purpose, size in list(self._reserved.items()) if purpose not in sizes]
        if sum(others) + sum(sizes.values()) > self._limit:
            raise PolicyError(
                f"the release needs more than {self._key} of the policy; query fewer or smaller marginals, "
                "or the party's owner raises the limit"
            )
        self._reserved.update(sizes)

    def free(self, purposes: Iterable[Hashable]) -> None:
        """Frees what is reserved for these purposes, if anything is."""
        for purpose in purposes:
            self._reserved.pop(purpose, None)

    @contextlib.contextmanager
    def during(self, size: int) -> Iterator[None]:
        """Reserves bytes for a step.

        Raises:
            PolicyError: see `reserve`.
        """
        purpose = object()
        self.reserve({purpose: size})
        try:
            yield
        finally:
            self.free([purpose])


class Processors:
    """Seconds that a party computed for one release since it was started; thread-safe.

    Args:
        limit_s: largest number of seconds.
        clock: returns the seconds that the current thread has computed.
        workers: compute beside the current thread.
    """

    def __init__(
        self,
        limit_s: float,
        clock: Callable[[], float] = time.thread_time,
        workers: Workers = NONE,
    ) -> None:
        self._limit_s = limit_s
        self._workers = workers
        self._clock = clock
        self._lock = threading.Lock()
        self._used_s = 0.0
        self._running = threading.local()

    @contextlib.contextmanager
    def count_time(self) -> Iterator[None]:
        """Counts what the current thread computes meanwhile, also if it ends in an error."""
        self._running.began = self._clock()
        try:
            yield
        finally:
            self._add(self._clock() - self._running.began)
            del self._running.began

    def map(
        self,
        function: Callable[..., Result],
        pieces: Iterable[tuple[Any, ...]],
        records: int,
        *,
        here: bool = False,
    ) -> Iterator[Result]:
        """See `Workers.map`: on the workers, whose seconds count.

        Raises:
            PolicyError: see `check`.
            PartyUnavailable: see `Workers.map`.
        """
        for result in self._workers.map(function, pieces, records, self._add, here=here):
            yield result
            self.check()

    def _add(self, seconds: float) -> None:
        with self._lock:
            self._used_s += seconds

    def check(self) -> None:
        """Refuses to go on after the limit; called before every step, and within the long ones.

        Raises:
            PolicyError: it is reached.
        """
        now = self._clock()
        if self._used_s + now - getattr(self._running, "began", now) >= self._limit_s:
            raise PolicyError(
                "the release used up max_cpu_seconds of the policy at this party; abandon it and plan a "
                "smaller one, or the party's owner raises the limit"
            )


@dataclass(frozen=True)
class Allowance:
    """What one release may hold at a party.

    Attributes:
        memory: products, shares and score queries; not blocks of rows, which have a fixed size.
        disk: openings, dealt rows, and codes of single rows, which releases may share but count each.
        processors: seconds of its steps.
        max_queries: largest number of its queries.
    """

    memory: Quota
    disk: Quota
    processors: Processors
    max_queries: int

    @classmethod
    def of(cls, policy: Policy, processors: Processors) -> Allowance:
        """The allowance of a release that holds nothing yet."""
        return cls(
            Quota(policy.max_memory_mb * MB, "max_memory_mb"),
            Quota(policy.max_disk_mb * MB, "max_disk_mb"),
            processors,
            policy.max_queries,
        )
