"""Downloads a public file and keeps it only if its checksum is the known one."""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

from ...common.errors import DataError

SILENCE_S = 30.0
"""Longest time without data from the server."""

DOWNLOAD_DEADLINE_S = 600.0
"""Longest time for a download."""


@dataclass(frozen=True)
class Remote:
    """A public file.

    Attributes:
        url: http or https.
        size: in bytes; a larger file is refused.
        sha256: of its content, hex.
    """

    url: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ValueError(f"expected an address with http or https, got {self.url!r}")


def download(
    remote: Remote,
    path: Path,
    *,
    silence_s: float = SILENCE_S,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Downloads a file and moves it to its path once its checksum is right.

    Args:
        remote: the file.
        path: destination, in an existing folder; an existing file is replaced.
        silence_s: longest time without data from the server.
        clock: monotonic seconds.

    Raises:
        DataError: the server cannot be reached, sends another file, or the checksum differs.
    """
    until = clock() + DOWNLOAD_DEADLINE_S
    digest, received = hashlib.sha256(), 0
    # In the same folder, so that the move is atomic.
    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            for block in _blocks(remote.url, silence_s):
                received += len(block)
                if received > remote.size:
                    raise _refusal_of_file(remote, f"is larger than the expected {remote.size:,} bytes")
                if clock() > until:
                    raise DataError(
                        f"{remote.url} took longer than {DOWNLOAD_DEADLINE_S:g} s; try again later"
                    )
                digest.update(block)
                file.write(block)
        if digest.hexdigest() != remote.sha256:
            raise _refusal_of_file(remote, f"does not have the expected SHA-256 {remote.sha256}")
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _blocks(url: str, silence_s: float) -> Iterator[bytes]:
    try:
        with urllib.request.urlopen(url, timeout=silence_s) as answer:
            while block := answer.read1(1 << 16):
                yield block
    except HTTPError as cause:
        cause.close()
        raise DataError(
            f"{url} answered with status {cause.code}; check whether the file has moved"
        ) from cause
    except (OSError, http.client.HTTPException) as cause:
        reason = getattr(cause, "reason", None) or type(cause).__name__
        raise DataError(
            f"cannot read {url} ({reason}); check the network and its proxy, and try again"
        ) from cause


def _refusal_of_file(remote: Remote, why: str) -> DataError:
    return DataError(
        f"{remote.url} {why}: the file was changed at its source or on the way; nothing was kept. Try again, "
        "or report that the file has changed"
    )
