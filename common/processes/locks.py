"""A lock on a file: of several processes one goes on, and the others are refused."""

from __future__ import annotations

import contextlib
import fcntl
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
