"""Downloads a public file whose checksum is known; a file that differs in one bit never gets its name."""

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
"""How long a server may say nothing."""

DEADLINE_S = 600.0
"""How long a download may take."""

_BLOCK_BYTES = 2**16


@dataclass(frozen=True)
class Remote:
    """A public file.

    Attributes:
        url: http or https.
        size: in bytes; no more is written.
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
    deadline_s: float = DEADLINE_S,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Downloads a file, and gives it its name once its checksum holds.

    Args:
        remote: what to download.
        path: where to, in a folder that exists; replaced where something is there.
        silence_s: how long the server may say nothing.
        deadline_s: how long everything may take.
        clock: seconds that only grow.

    Raises:
        DataError: the server cannot be reached, answers something else, or the checksum differs.
    """
    until = clock() + deadline_s
    digest, received = hashlib.sha256(), 0
    # In the same folder, so that giving it its name is one step.
    number, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            for block in _blocks(remote.url, silence_s):
                received += len(block)
                if received > remote.size:
                    raise _refused(remote, f"is larger than the {remote.size:,} bytes")
                if clock() > until:
                    raise DataError(f"{remote.url} took longer than {deadline_s:g} s; try again later")
                digest.update(block)
                file.write(block)
        if digest.hexdigest() != remote.sha256:
            raise _refused(remote, f"has not the SHA-256 {remote.sha256}")
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _blocks(url: str, silence_s: float) -> Iterator[bytes]:
    try:
        with urllib.request.urlopen(url, timeout=silence_s) as answer:
            while block := answer.read1(_BLOCK_BYTES):
                yield block
    except HTTPError as cause:
        cause.close()
        raise DataError(f"{url} answered with status {cause.code}; look whether the file moved") from cause
    except (OSError, http.client.HTTPException) as cause:
        reason = getattr(cause, "reason", None) or type(cause).__name__
        raise DataError(
            f"cannot read {url} ({reason}); look at the network and its proxy, and try again"
        ) from cause


def _refused(remote: Remote, why: str) -> DataError:
    return DataError(
        f"{remote.url} {why} of the file that was expected: it changed, or something on the way did; "
        "nothing was kept"
    )
