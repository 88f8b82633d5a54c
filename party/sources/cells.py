"""How DuckDB gives the cells of a column to the attribute that encodes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.attribute import Attribute
from ...common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from ...common.data.attributes.clock import Clock
from ...common.data.attributes.dates import TimeAttribute
from ...common.data.attributes.moments import Moments
from ...common.data.attributes.numeric import NumericAttribute

ZONED = "TIMESTAMP WITH TIME ZONE"
"""DuckDB's type of instants."""

_AS_THEY_ARE = re.compile(r"U?(TINY|SMALL|BIG)INT|U?INTEGER|FLOAT|DOUBLE|BOOLEAN|VARCHAR")
_TIMES = re.compile(r"DATE|TIMESTAMP(_S|_MS|_NS)?")

_MOST_LISTED = 32
"""Most categories among which a text is found, one after the other, faster than Python reads it."""

PLAIN_NUMBER = r"^-?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([eE][-+]?[0-9]{1,2})?$"
"""Texts that every engine and Python read as the same number, without overflow."""


def numbers_for(attribute: Attribute, column: str, kind: str) -> str | None:
    """The SQL expression of a column of text as numbers; NaN where a text has to be read by the attribute.

    Args:
        attribute: the attribute.
        column: name of the column.
        kind: DuckDB's type of the column.

    Returns:
        None if the attribute or the column does not hold plain numbers as text.
    """
    plain = isinstance(attribute, NumericAttribute) and attribute.format.plain
    if kind != "VARCHAR" or not (plain or isinstance(attribute, CodedAttribute)):
        return None
    if plain and attribute.missing:
        # Such as "-99", which is a number.
        return None
    # DuckDB also reads 1_000, and "+-1" and the like, which all begin with a space or "+": before "-".
    return (
        f"CASE WHEN {column} >= '-' AND NOT contains({column}, '_') "
        f"THEN coalesce(try_cast({column} AS DOUBLE), 'nan'::DOUBLE) "
        f"WHEN {column} IS NOT NULL THEN 'nan'::DOUBLE END"
    )


def listed_for(attribute: Attribute, kind: str) -> tuple[str, ...]:
    """The texts that a column may hold, if these are a few categories and any other is refused.

    Args:
        attribute: the attribute.
        kind: DuckDB's type of the column.

    Returns:
        Empty if it may hold others.
    """
    if kind != "VARCHAR" or not isinstance(attribute, CategoricalAttribute):
        return ()
    # Numbers and booleans are written in several ways, and SQL cannot hold texts that are not printable.
    texts = [text for text in attribute.categories if isinstance(text, str) and text.isprintable()]
    alone = len(texts) == attribute.size and attribute.other is None and not attribute.missing
    return tuple(texts) if alone and len(texts) <= _MOST_LISTED else ()


def place_among(texts: Iterable[str], column: str) -> str:
    """The SQL expression of the place of a column's text among these, from 1; 0 if it is another one.

    Args:
        texts: at most 255, as they stand in SQL; '' is a missing value.
        column: name of the column.
    """
    return f"coalesce(list_position([{', '.join(texts)}], coalesce({column}, '')), 0)::UTINYINT"


def cells_for(attribute: Attribute, column: str, kind: str) -> str:
    """The SQL expression whose values the attribute encodes: numbers, times, or otherwise text.

    What it gives does not depend on the time zone of the machine.

    Args:
        attribute: the attribute.
        column: name of the column.
        kind: DuckDB's type of the column.
    """
    moments = _moments_of(attribute)
    if kind == ZONED:
        zoned = moments is not None and moments.timezone
        return in_utc(column) if zoned else f"{in_utc(column)}::VARCHAR || '+00'"
    if moments is not None and _TIMES.fullmatch(kind):
        return f"{column}::TIMESTAMP"
    if kind.startswith("DECIMAL") and isinstance(attribute, NumericAttribute) and not attribute.format.plain:
        # The format is of texts, and would read the decimal point as it says.
        return f"{column}::VARCHAR::DOUBLE"
    return column if _AS_THEY_ARE.fullmatch(kind) else f"{column}::VARCHAR"


def compose_columns(columns: Iterable[str], kinds: Iterable[str]) -> str:
    """The SQL expressions of columns, their texts composed (`compose`), instants without nanoseconds.

    Args:
        columns: their names.
        kinds: DuckDB's types of them.
    """
    return ", ".join(_usual(column, kind) for column, kind in zip(columns, kinds, strict=True))


def _usual(column: str, kind: str) -> str:
    if kind == "TIMESTAMPTZ_NS":
        return f"{column}::TIMESTAMPTZ"
    return f"nfc_normalize({column})" if kind == "VARCHAR" or kind.startswith("ENUM") else column


def in_utc(column: str) -> str:
    """The SQL expression of a column of instants as timestamps in UTC, on a machine of any time zone."""
    # An infinite time has no microseconds.
    return f"coalesce(make_timestamp(epoch_us({column})), {column}::VARCHAR::TIMESTAMP)"


def in_local_time(attribute: Attribute, cells: NDArray[Any]) -> NDArray[Any]:
    """Instants in the time zone of an attribute that has one; other cells as they are."""
    moments = _moments_of(attribute)
    if moments is None or not moments.timezone:
        return cells
    return moments.local(np.ma.filled(cells, np.datetime64("NaT")))


def _moments_of(attribute: Attribute) -> Moments | None:
    """What the dates or timestamps of an attribute are; a clock reads text."""
    moments = attribute.moments if isinstance(attribute, TimeAttribute) else None
    return None if isinstance(moments, Clock) else moments
