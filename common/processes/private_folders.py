"""Folders of private data that belong to one process, and are deleted after it however it ends."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import weakref
from pathlib import Path
from typing import IO

from ..errors import DataError
from .locks import POSIX, lock

_MADE, _LOCKED = "dpmosaic-making-", "dpmosaic-rows-"
"""How the name of a folder begins, before and after its process has locked it."""

_LOCK = "lock"


class PrivateFolder:
    """A folder that only its owner can read; deleted with its last reference, or by `empty` after a kill.

    A lock on a file in it says that its process lives.

    Args:
        parent: where it is made; None for the folder of temporary files, where those that killed processes
            of this user left are deleted first.

    Raises:
        DataError: it cannot be made.
    """

    def __init__(self, parent: Path | None = None) -> None:
        place = Path(tempfile.gettempdir()) if parent is None else parent
        if parent is None:
            _delete_left(place)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=_MADE, dir=place))
        except OSError:
            raise DataError(
                f"expected a folder at {place} where files can be made, found none; make it, or name "
                "another in TMPDIR"
            ) from None
        locked = open(self.path / _LOCK, "wb", opener=lambda path, flags: os.open(path, flags, 0o600))
        lock(locked.fileno())
        # Windows renames no folder with an open file.
        if POSIX:
            self.path = self.path.rename(place / self.path.name.replace(_MADE, _LOCKED))
        self._delete = weakref.finalize(self, _delete_folder, self.path, locked)

    def close(self) -> None:
        """Deletes the folder and what is in it, unless it was deleted before."""
        self._delete()


def empty(parent: Path) -> None:
    """Creates a folder for them that only its owner can read; deletes those of processes that ended."""
    parent.mkdir(mode=0o700, exist_ok=True)
    parent.chmod(0o700)
    _delete_left(parent)


def _delete_left(parent: Path) -> None:
    if not POSIX:
        return
    for left in parent.glob(f"{_LOCKED}*"):
        if _is_own(left) and not _in_use(left):
            shutil.rmtree(left, ignore_errors=True)


def _is_own(path: Path) -> bool:
    """Whether it is a folder of this user, and no link."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _in_use(folder: Path) -> bool:
    try:
        with (folder / _LOCK).open("rb") as locked:
            return not lock(locked.fileno(), wait=False)
    except FileNotFoundError:
        return False


def _delete_folder(folder: Path, locked: IO[bytes]) -> None:
    # Windows deletes no open file, and nothing empties folders there.
    if not POSIX:
        locked.close()
    shutil.rmtree(folder, ignore_errors=True)
    locked.close()
