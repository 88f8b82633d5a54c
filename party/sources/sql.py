"""Texts and paths as they stand in SQL that DuckDB runs."""

from __future__ import annotations

import re
from pathlib import Path


def one_file(path: Path) -> str:
    """The path of one file as DuckDB reads it: no other file has such a name."""
    return re.sub(r"[\[*?]", r"[\g<0>]", str(path))


def quoted_file(path: Path) -> str:
    """The path of one file that DuckDB reads, as it stands in SQL."""
    return quote(one_file(path))


def quote(text: str) -> str:
    """A text as it stands in SQL."""
    return "'" + text.replace("'", "''") + "'"
