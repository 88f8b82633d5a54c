"""Writes files: as a whole or not at all, and with one error if they cannot be written."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import DataError
from ..showing.telling import write

_DATABASE = b"SQLite format 3\0"
"""How files of SQLite begin."""


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A draft in the same folder, which gets the name if all goes well and is removed otherwise.

    Args:
        path: of the file; another one there is replaced.

    Yields:
        The path of the draft, at which there is no file yet.

    Raises:
        OSError: there is something else than a file.
    """
    check_replaceable(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}.partial")
    draft.unlink(missing_ok=True)
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def check_replaceable(path: Path) -> None:
    """Refuses to put a file in the place of a device, such as /dev/null for all programs, or of a pipe.

    Raises:
        OSError: there is something else than a file.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is a device, a pipe or a folder")
    check_no_database(path)


def check_no_database(path: Path) -> None:
    """Refuses to write over a database, such as a ledger, in which charges are noted.

    Raises:
        OSError: there is one.
    """
    begins = b""
    with contextlib.suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                begins = file.read(len(_DATABASE))
    if begins == _DATABASE:
        raise OSError(errno.EINVAL, "it is a database, such as a ledger or a journal")


@contextlib.contextmanager
def told_if_unwritable(path: Path, instead: str = "choose another path") -> Iterator[None]:
    """Says of a file or folder that it cannot be written, and why.

    Args:
        path: the file or folder.
        instead: what to do.

    Raises:
        DataError: it cannot be written.
    """
    try:
        yield
    except OSError as cause:
        raise DataError(f"cannot write {path}: {cause.strerror or cause}; {instead}") from cause


def write_text(path: Path, content: str) -> None:
    """Writes a text file; creates its folder if it is missing.

    Raises:
        DataError: the file cannot be written.
    """
    with told_if_unwritable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        check_no_database(path)
        path.write_text(content, encoding="utf-8")


def print_or_write(text: str, out: Path | None) -> None:
    """Prints a text of several lines, or writes it into a file.

    Raises:
        DataError: the file cannot be written.
    """
    if out is None:
        write(text)
    else:
        write_text(out, text)
