"""A lock on a file: of several processes one goes on, and the others are refused."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import DataError


@contextlib.contextmanager
def exclusive(path: Path, refusal: str) -> Iterator[None]:
    """Holds a lock until the end of the block; it ends with the process, however that ends.

    Args:
        path: the file; made if it is missing, otherwise left as it is.
        refusal: what is said if another process holds the lock.

    Raises:
        DataError: another process holds it.
    """
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(refusal) from None
        yield


@contextlib.contextmanager
def turn_at(path: Path) -> Iterator[None]:
    """Waits for a file that others replace, and holds it until the end of the block.

    Whoever waited for a file that was replaced meanwhile waits for the new one.

    Args:
        path: the file; made, empty and for its owner alone, if it is missing.

    Raises:
        OSError: it cannot be opened or made.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(path, descriptor):
                yield
                return
        finally:
            os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
