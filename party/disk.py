"""Room on the disks that a daemon writes to, and what it says when there is none."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..common.errors import DataError
from ..common.formats import is_of_disk

LEAST_MIB = 64
"""Room that a daemon needs for its ledger and its logs, and for temporary files, each in MiB."""


FULL = (
    "its disk is full or fails; its operator makes room, and the release can be resumed: what was charged is "
    "not charged again"
)
"""What curators are told; nothing was answered without being written."""


@contextlib.contextmanager
def told_if_full(folder: Path) -> Iterator[None]:
    """Tells an operator that the disk of a folder is full, in place of a traceback.

    Args:
        folder: folder that is written to.

    Raises:
        DataError: nothing more can be written.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if not is_of_disk(error):
            raise
        raise DataError(
            f"expected room on the disk of {folder} and in TMPDIR, found none, or a disk that only reads; "
            "make room and try again"
        ) from error


def check_room(folder: Path, least_mib: int = LEAST_MIB) -> None:
    """Returns only if there is room in a folder, and in that of temporary files.

    Args:
        folder: folder of the daemon.
        least_mib: room that each needs, in MiB.

    Raises:
        DataError: a disk is full or nearly so; names the folder, not its size.
    """
    for what, place in (("its folder", folder), ("TMPDIR", Path(tempfile.gettempdir()))):
        if shutil.disk_usage(place).free < least_mib << 20:
            raise DataError(f"the disk of {what} has less than {least_mib} MiB left; its operator makes room")
