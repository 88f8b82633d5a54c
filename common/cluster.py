"""A Dask cluster as a pool of workers."""

from __future__ import annotations

from urllib.parse import urlsplit

from distributed import Client
from distributed.scheduler import KilledWorker

from .errors import DataError, PartyUnavailable
from .version import __version__
from .workers import Pool

LOST = (KilledWorker, OSError)
"""What a call raises if its worker ended, or the scheduler cannot be reached."""

_CONNECT_S = "30s"
_HERE = ("127.0.0.1", "::1", "localhost")


def check_address(address: str) -> str:
    """Returns the address of a scheduler if what is sent to it is encrypted, or stays on this machine.

    Raises:
        DataError: it is neither.
    """
    parts = urlsplit(address)
    if parts.scheme != "tls" and not (parts.scheme == "tcp" and parts.hostname in _HERE):
        raise DataError(
            "scheduler: expected an address such as tls://host:8786, since keys and rows are sent to it, got "
            "another; start the cluster with TLS (tcp:// is for this machine alone)"
        )
    return address


def connect(address: str) -> Pool:
    """The workers of a scheduler.

    Raises:
        DataError: see `check_address`; or a worker has another version of dpmosaic, or there is none.
        PartyUnavailable: the scheduler does not answer.
    """
    try:
        client = Client(check_address(address), timeout=_CONNECT_S, set_as_default=False, name="dpmosaic")
    except (OSError, TimeoutError) as cause:
        raise PartyUnavailable(
            "the scheduler of the cluster does not answer; start it, or fix its address"
        ) from cause
    try:
        versions = client.run(_version)
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


def _version() -> str:
    return __version__
