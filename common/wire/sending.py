"""The requests of one gRPC call, whose errors reach the caller."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import grpc


class Sending:
    """The requests of one call; a thread of gRPC reads them, and the caller gets their errors.

    Args:
        requests: encoded requests.
    """

    def __init__(self, requests: Iterable[bytes]) -> None:
        self._requests = requests
        self._begun = threading.Event()
        self._call: grpc.Call | None = None
        self.failure: BaseException | None = None

    def begin(self, call: grpc.Call) -> None:
        """Lets the call read its requests; it is cancelled if they fail."""
        self._call = call
        self._begun.set()

    def frames(self) -> Iterator[bytes]:
        """The requests, once the call has begun."""
        self._begun.wait()
        try:
            yield from self._requests
        except GeneratorExit:
            raise
        except BaseException as failure:
            # Raised in a thread of gRPC, where it would be lost.
            self.failure = failure
            assert self._call is not None
            self._call.cancel()
