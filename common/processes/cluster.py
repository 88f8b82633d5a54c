"""A Dask cluster as a pool of workers."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from dask.sizeof import sizeof
from distributed import Client
from distributed.scheduler import KilledWorker
from distributed.security import Security

from ..errors import DataError, PartyUnavailable
from ..version import __version__
from .pool import Pool, check_link

LOST = (KilledWorker, OSError)
"""What a call raises if its worker ended, or the scheduler cannot be reached."""

_ENCRYPTED = "tls://"
_CONNECT_S = "30s"

_LARGE_BYTES = 1 << 20
"""Arguments of so many bytes are sent apart from the call."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Settings of `mallopt`."""

_KEPT_BYTES = 1 << 25
"""The largest block that `mallopt` takes; a worker keeps so much that it freed."""


def connect(address: str) -> Pool:
    """The workers of a scheduler.

    Args:
        address: of the scheduler, checked by `Workers.cluster`.

    Raises:
        DataError: a worker has another version of dpmosaic, or listens without TLS.
        PartyUnavailable: the scheduler does not answer, or has no workers.
    """
    encrypted = address.startswith(_ENCRYPTED)
    # Dask then refuses every connection of this process that is not encrypted.
    security = Security(require_encryption=True) if encrypted else None
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False, name="dpmosaic", security=security)
    except (OSError, TimeoutError) as cause:
        raise PartyUnavailable(
            "the scheduler of the cluster does not answer; start it, or fix its address"
        ) from cause
    try:
        _check_workers(client)
    except BaseException:
        client.close()
        raise
    threads = sum(client.nthreads().values())
    return Pool(_Direct(client), threads, client.close)


def _check_workers(client: Client) -> None:
    """Waits for a worker, and prepares all; errors are those of `connect`."""
    try:
        client.wait_for_workers(1, timeout=_CONNECT_S)
    except TimeoutError as cause:
        raise PartyUnavailable("the cluster has no workers; start them, or fix its address") from cause
    _check_links(client)
    if set(client.run(_prepare).values()) != {__version__}:
        raise DataError(
            f"expected workers of the cluster with dpmosaic {__version__}, found others; install it on all "
            "of them"
        )


def _check_links(client: Client) -> None:
    """Refuses a worker to which what is sent would not be encrypted, and does not stay on this machine.

    Workers send each other what they were sent, and the scheduler sends calls to them.

    Raises:
        DataError: there is such a worker now.
    """
    encrypted = client.scheduler.address.startswith(_ENCRYPTED)
    for worker, told in client.scheduler_info()["workers"].items():
        for address in filter(None, (worker, told.get("nanny"))):
            if encrypted and not address.startswith(_ENCRYPTED):
                raise DataError(
                    "expected workers of the cluster that listen with TLS, as its scheduler does, found one "
                    "without; start every worker with --protocol tls"
                )
            check_link(address)


class _Direct(Executor):
    """Runs calls; large arguments go straight to a worker, with the call they would pass the scheduler."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._executor: Executor = client.get_executor()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """See `Executor.submit`."""
        try:
            # Another worker may have come since.
            _check_links(self._client)
            if sizeof(arguments) < _LARGE_BYTES:
                return self._executor.submit(function, *arguments, **named)
            [sent] = self._client.scatter([arguments], direct=True, hash=False)
        except LOST as cause:
            failed: Future[Any] = Future()
            failed.set_exception(cause)
            return failed
        return self._executor.submit(_call, function, sent, **named)


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], **named: Any) -> Any:
    return function(*arguments, **named)


def _prepare() -> str:
    """Has a worker keep the memory that it frees, and gives its version.

    Dask's nannies have the C library give memory back at once, and every product of a block of rows then
    asks the kernel for new pages: products take more than twice the seconds.
    """
    with contextlib.suppress(OSError, AttributeError):
        for setting in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            ctypes.CDLL(None).mallopt(setting, _KEPT_BYTES)
    return __version__
