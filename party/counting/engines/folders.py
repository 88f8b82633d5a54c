"""Folders of codes that belong to one process, and go with it however it ends."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

from ....common.processes.locks import POSIX, lock

_PREFIX = "codes-"
"""Begins the name of every folder."""

_LOCK = "lock"


class PrivateFolder:
    """A folder that only its owner can read; deleted with its last reference, or by `empty` after a kill.

    A lock on a file in it says that its process lives.

    Args:
        parent: where it is made; None for the folder of temporary files.
    """

    def __init__(self, parent: Path | None) -> None:
        place = Path(tempfile.gettempdir()) if parent is None else parent
        with _lock_folder(place, shared=True):
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
            locked = open(self.path / _LOCK, "wb", opener=partial(os.open, mode=0o600))
            lock(locked.fileno())
        self._delete = weakref.finalize(self, _delete_folder, self.path, locked)

    def delete(self) -> None:
        """Deletes the folder and what is in it, unless it was deleted before."""
        self._delete()


def empty(parent: Path) -> None:
    """Creates a folder for them that only its owner can read; deletes those of processes that ended."""
    parent.mkdir(mode=0o700, exist_ok=True)
    parent.chmod(0o700)
    with _lock_folder(parent, shared=False):
        for left in parent.glob(f"{_PREFIX}*"):
            if not _in_use(left):
                shutil.rmtree(left)


def _in_use(folder: Path) -> bool:
    try:
        with (folder / _LOCK).open("rb") as locked:
            return not lock(locked.fileno(), wait=False)
    except FileNotFoundError:
        return False


def _delete_folder(folder: Path, locked: IO[bytes]) -> None:
    # Windows deletes no open file, and no daemon empties folders there.
    if not POSIX:
        locked.close()
    shutil.rmtree(folder, ignore_errors=True)
    locked.close()


@contextlib.contextmanager
def _lock_folder(folder: Path, *, shared: bool) -> Iterator[None]:
    """Holds a lock on a folder, so that none in it is seen before its own lock; only daemons need it."""
    if not POSIX:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        lock(descriptor, shared=shared)
        yield
    finally:
        os.close(descriptor)
