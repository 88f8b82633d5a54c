"""Files that only their owner can read, or change."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import DataError
from ..files.writing import check_replaceable
from ..processes.locks import POSIX


@contextlib.contextmanager
def private_draft(path: Path) -> Iterator[BinaryIO]:
    """A new file that only its owner can read, which takes its place at the end: complete or not at all.

    It is created as a file that nobody had before, so no other user of a folder decides whose it is or who
    reads it.

    Args:
        path: the place; another file there is replaced.

    Raises:
        OSError: it cannot be written, something else or another user's file is in the way, or another process
            has begun to write it since.
    """
    check_replaceable(path)
    draft = path.with_name(path.name + ".new")
    # What a killed process left, or somebody put there.
    draft.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | (os.O_NOFOLLOW if POSIX else 0)
    descriptor = os.open(draft, flags, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if POSIX:
                os.fchmod(descriptor, 0o600)
            yield file
            file.flush()
            os.fsync(descriptor)
            written = os.fstat(descriptor)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if not (draft.exists() and os.path.samestat(written, draft.stat())):
        raise BlockingIOError(errno.EBUSY, "another process writes it too")
    try:
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def write_private(path: Path, content: bytes) -> None:
    """Writes a file that only its owner can read; see `private_draft`."""
    with private_draft(path) as file:
        file.write(content)


def private_file(path: Path) -> Path:
    """The path of a file that only its owner can read; creates an empty file if there is none."""
    path.touch(mode=0o600)
    return path


def read_private(path: Path) -> bytes:
    """The content of a file that only its owner can read.

    Raises:
        DataError: it is missing, or other users can read or write it.
    """
    try:
        with path.open("rb") as file:
            check_mode(path, os.fstat(file.fileno()), 0o077, "read or change")
            return file.read()
    except OSError as cause:
        raise DataError(f"cannot read {path}: {cause.strerror}; run init, or fix the path") from cause


def check_private(path: Path) -> None:
    """Refuses a file or folder that other users can read or write.

    Raises:
        DataError: they can; names the mode and the command that removes it.
        OSError: it does not exist.
    """
    check_mode(path, path.stat(), 0o077, "read or change")


def check_protected(path: Path) -> None:
    """Refuses a file or folder that other users can change; they may read it.

    Raises:
        DataError: they can; names the mode and the command that removes it.
        OSError: it does not exist.
    """
    check_mode(path, path.stat(), 0o022, "change")


def check_one_name(path: Path) -> None:
    """Refuses a file that has another name, a hard link: what is written under one is not under the other.

    Raises:
        DataError: it has.
        OSError: it does not exist.
    """
    if path.stat().st_nlink > 1:
        raise DataError(
            f"expected a file with one name at {path}, got one that has another name too, a hard link; copy "
            "it with cp, and put the copy in its place"
        )


def check_database(path: Path) -> None:
    """Refuses a SQLite file that has two names, or that other users can read or write, as files beside it.

    Raises:
        DataError: names the file, and what to do.
    """
    # What SQLite has not written into the file yet is in a file beside the name by which it is open.
    with contextlib.suppress(FileNotFoundError):
        check_one_name(path)
    for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        with contextlib.suppress(FileNotFoundError):
            check_private(file)


def check_mode(path: Path, found: os.stat_result, forbidden: int, verb: str) -> None:
    """Refuses a file whose mode has a forbidden bit.

    Args:
        path: the file, for the message.
        found: what the system says of it.
        forbidden: bits of modes.
        verb: what they let other users do.

    Raises:
        DataError: it has one; names the mode and the command that removes it.
    """
    mode = stat.S_IMODE(found.st_mode)
    # On Windows a mode says nothing of others: a file is its owner's by the folder of the user.
    if POSIX and mode & forbidden:
        raise DataError(
            f"other users can {verb} {path}: its mode is {mode:03o}; run chmod {mode & ~forbidden:03o} {path}"
        )
