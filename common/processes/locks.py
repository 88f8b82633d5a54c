"""A lock on a file: of several processes one goes on, and the others wait or are refused."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import DataError

POSIX = find_spec("fcntl") is not None
"""Whether this system locks whole files, keeps modes of files, and replaces files that are open."""

_system: Any = import_module("fcntl" if POSIX else "msvcrt")

_LOCKED_BYTE = (1 << 31) - 2
"""Windows locks bytes, which nobody else can read: one that no file has, and SQLite does not lock."""

_RETRY_S = 0.02


def check_posix(who: str) -> None:
    """Refuses what needs Linux or macOS.

    Args:
        who: what needs it, in the plural.

    Raises:
        DataError: this system is another.
    """
    if not POSIX:
        raise DataError(
            f"expected Linux or macOS for {who}, whose folders need POSIX locks and modes of files, got "
            "another system; run them there. Releases from one table, and what reads releases, run here too"
        )


def lock(file: int, *, shared: bool = False, wait: bool = True) -> bool:
    """Locks an open file until it is closed, which the end of the process does too.

    Args:
        file: its descriptor.
        shared: whether others may share the lock; Windows knows no such locks.
        wait: whether to wait for others.

    Returns:
        Whether it is locked: false if others hold the lock, and it was not waited for.

    Raises:
        OSError: files cannot be locked here.
    """
    if POSIX:
        how = (_system.LOCK_SH if shared else _system.LOCK_EX) | (0 if wait else _system.LOCK_NB)
        try:
            _system.flock(file, how)
        except BlockingIOError:
            return False
        return True
    while not _lock_byte(file):
        if not wait:
            return False
        time.sleep(_RETRY_S)
    return True


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
        locked = False
        with contextlib.suppress(OSError):
            locked = lock(file.fileno(), wait=False)
        if not locked:
            raise DataError(refusal)
        yield


@contextlib.contextmanager
def turn_at(path: Path) -> Iterator[None]:
    """Waits for a file that others replace, and holds it until the end of the block.

    Whoever waited for a file that was replaced meanwhile waits for the new one. Windows replaces no open
    file, so there the lock is on a file beside it.

    Args:
        path: the file; made, empty and for its owner alone, if it is missing.

    Raises:
        OSError: it cannot be opened or made, or is none, such as a pipe or a device.
    """
    held = path if POSIX else path.with_name(f"{path.name}.lock")
    while True:
        descriptor = os.open(held, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "it is a pipe, a device or a socket")
            lock(descriptor)
            if _is_at(held, descriptor):
                if held != path:
                    path.touch(0o600)
                yield
                return
        finally:
            # Nothing was written by it, and the lock ends in any case.
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _lock_byte(file: int) -> bool:
    place = os.lseek(file, 0, os.SEEK_CUR)
    os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
    try:
        _system.locking(file, _system.LK_NBLCK, 1)
    except PermissionError:
        return False
    finally:
        os.lseek(file, place, os.SEEK_SET)
    return True


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
