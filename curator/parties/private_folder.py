"""The secret files of a release: in a folder beside the folder of its results, which is for publication."""

from __future__ import annotations

from pathlib import Path

from ...common.errors import DataError

JOURNAL = "journal.sqlite"
PARTS = "parts"
"""The folder of the parts of a release of related tables; each has its journal and its files."""

_ENDING = ".private"


def private_folder(results: Path) -> Path:
    """The folder of the secret files of a release; nothing in it may be published.

    Args:
        results: folder of its results.
    """
    whole = results.resolve()
    return whole.with_name(whole.name + _ENDING)


def results_beside(private: Path) -> Path:
    """The folder of the results whose secret files are in this folder."""
    return private.with_name(private.name.removesuffix(_ENDING))


def make_private(folder: Path) -> None:
    """Makes a folder that only its owner can open, if it is not there.

    Raises:
        DataError: it cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as cause:
        raise DataError(f"cannot create the folder {folder}: {cause.strerror}; choose another") from cause


def journal_of(results: Path) -> Path:
    """The path of a release's journal.

    Args:
        results: folder of its results.
    """
    return private_folder(results) / JOURNAL
