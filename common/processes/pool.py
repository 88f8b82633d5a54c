"""A pool of workers, in threads or in other processes, and what may be sent to them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..errors import DataError

_HERE = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Pool:
    """Workers that are there.

    Attributes:
        executor: runs calls on them.
        workers: number of calls that they run at a time.
        close: ends the connection to them, or the workers if they are this process's own.
    """

    executor: Executor
    workers: int
    close: Callable[[], None]


def check_link(address: str) -> None:
    """Returns only if what is sent to a scheduler or worker is encrypted, or stays on this machine.

    Raises:
        DataError: it is neither.
    """
    parts = urlsplit(address)
    if parts.scheme != "tls" and not (parts.scheme == "tcp" and parts.hostname in _HERE):
        raise DataError(
            "cluster: expected addresses such as tls://host:8786, since keys and rows are sent there, got "
            "another; start the cluster with TLS (tcp:// is for this machine alone)"
        )
