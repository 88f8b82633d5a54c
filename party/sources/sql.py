"""Texts and paths as they stand in SQL that DuckDB runs."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import duckdb


def one_file(path: Path) -> str:
    """The path of one file as DuckDB reads it: no other file has such a name."""
    return re.sub(r"[\[*?]", r"[\g<0>]", str(path))


def quoted_file(path: Path) -> str:
    """The path of one file that DuckDB reads, as it stands in SQL."""
    return quote(one_file(path))


def quote(text: str) -> str:
    """A text as it stands in SQL."""
    return "'" + text.replace("'", "''") + "'"


def as_name(column: str) -> str:
    """A name as it stands in SQL: in quotes where it needs them."""
    plain = re.fullmatch("[a-z_][a-z0-9_]*", column) and column not in _reserved_words()
    return column if plain else '"' + column.replace('"', '""') + '"'


@lru_cache(maxsize=1)
def _reserved_words() -> frozenset[str]:
    """The words that are no names."""
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        found = connection.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        ).fetchall()
    return frozenset(word for (word,) in found)


def as_key(column: str) -> str:
    """The text of a cell of a key in DuckDB's SQL, comparable between tables whatever their types.

    Blanks around it count for nothing, and a whole number is the same with and without a point: missing
    cells make numbers with points of a column of whole ones.
    """
    return f"regexp_replace(trim({column}::VARCHAR), '^(-?[0-9]+)\\.0+$', '\\1')"
