"""The kinds of files that DuckDB does not read, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError
from ..extras import require_extra
from .labels import Labels

if TYPE_CHECKING:
    import pyarrow as pa

_READERS = {
    **dict.fromkeys((".feather", ".arrow"), "feather"),
    ".xlsx": "excel",
    **dict.fromkeys((".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"), "surveys"),
}
"""The module that reads files with each ending."""

OTHER_SUFFIXES = tuple(_READERS)


@dataclass(frozen=True, eq=False)
class OtherFile:
    """What a file holds.

    Attributes:
        rows: its table.
        labels: what the codes of its columns mean, if it says so.
    """

    rows: pa.Table
    labels: Mapping[str, Labels] = field(default_factory=dict)


def read_other_file(path: Path) -> OtherFile:
    """Reads a file of one of these kinds, into memory.

    Args:
        path: the file; its name ends in one of `OTHER_SUFFIXES`.

    Raises:
        DataError: it is of another kind, or damaged.
        MissingExtraError: the packages that read it are not installed.
    """
    require_extra("files")
    read: Callable[[Path], OtherFile] = import_module(f".{_READERS[path.suffix.lower()]}", __package__).read
    try:
        return read(path)
    except (DataError, MemoryError):
        raise
    # Whatever the content of a file makes other libraries raise; it may say what stands in the file.
    except Exception:
        raise DataError(
            f"{path.name}: expected a file of the kind {path.suffix.lower()}, found another or a damaged "
            "one; write it anew"
        ) from None
