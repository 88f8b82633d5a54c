"""A Dask cluster as a pool of workers."""

from __future__ import annotations

import contextlib
import ctypes

from distributed import Client
from distributed.scheduler import KilledWorker

from .errors import DataError, PartyUnavailable
from .version import __version__
from .workers import Pool

LOST = (KilledWorker, OSError)
"""What a call raises if its worker ended, or the scheduler cannot be reached."""

_CONNECT_S = "30s"

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Settings of `mallopt`."""

_KEPT_BYTES = 1 << 25
"""The largest block that `mallopt` takes; a worker keeps so much that it freed."""


def connect(address: str) -> Pool:
    """The workers of a scheduler.

    Args:
        address: of the scheduler, checked by `Workers.cluster`.

    Raises:
        DataError: a worker has another version of dpmosaic, or there is none.
        PartyUnavailable: the scheduler does not answer.
    """
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False, name="dpmosaic")
    except (OSError, TimeoutError) as cause:
        raise PartyUnavailable(
            "the scheduler of the cluster does not answer; start it, or fix its address"
        ) from cause
    try:
        versions = client.run(_prepare)
        if not versions or set(versions.values()) != {__version__}:
            raise DataError(
                f"expected workers of the cluster with dpmosaic {__version__}, found none or others; install "
                "it on all of them"
            )
    except BaseException:
        client.close()
        raise
    threads = sum(client.nthreads().values())
    return Pool(client.get_executor(), threads, client.close)


def _prepare() -> str:
    """Has a worker keep the memory that it frees, and gives its version.

    Dask's nannies have the C library give memory back at once, and every product of a block of rows then
    asks the kernel for new pages: products take more than twice the seconds.
    """
    with contextlib.suppress(OSError, AttributeError):
        for setting in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            ctypes.CDLL(None).mallopt(setting, _KEPT_BYTES)
    return __version__
