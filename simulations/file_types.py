"""The types of the columns of a file: a Parquet file's own, or those as which a CSV's texts can be read."""

from __future__ import annotations

import numpy as np

from ..common.errors import DataError
from ..party.sources.source import FileSource
from ..party.sources.sql import quoted
from .schemas import MISSING, ColumnType, Flag, Number, Text, Time

_WHOLE = r"-?(0|[1-9][0-9]{0,14})"
"""A whole number, without zeros in front: 007 is a code."""

_NUMBER = r"[-+]?(0|[1-9][0-9]*)?([.][0-9]*)?([eE][-+]?[0-9]+)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIMESTAMP = _DATE + r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?"

_OF_BYTES = {"TINYINT": (-128, 127), "UTINYINT": (0, 255)}
_INTEGERS = ("SMALLINT", "USMALLINT", "INTEGER", "UINTEGER", "BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT")
_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")


def types_of_file(source: FileSource) -> dict[str, ColumnType]:
    """The type of each column; for a CSV, the narrowest as which all its cells can be read.

    Columns of a CSV are booleans (true and false), whole numbers, numbers, dates or timestamps of ISO 8601,
    or otherwise texts. Values can be missing in any of them.

    Raises:
        DataError: the file cannot be read, or a column has a type that no release holds.
    """
    if not source.name.lower().endswith(".parquet"):
        return _types_of_texts(source)
    with source.connect() as connection:
        kinds = source.query(connection, "DESCRIBE file")["column_type"]
    return {name: _type_of(name, str(kind)) for name, kind in zip(source.columns(), kinds, strict=True)}


def _type_of(name: str, kind: str) -> ColumnType:
    """The type of a column of a Parquet file, from DuckDB's name for it."""
    plain = kind.partition("(")[0]
    if plain in _OF_BYTES:
        return Number(True, True, _OF_BYTES[plain])
    if plain in _INTEGERS:
        return Number(True, True)
    if plain in ("FLOAT", "DOUBLE", "DECIMAL"):
        return Number(False, True)
    if plain in _TIMES:
        return Time(True)
    match kind:
        case "BOOLEAN":
            return Flag(True)
        case "VARCHAR":
            return Text()
        case "DATE":
            return Time(False)
        case "TIMESTAMP WITH TIME ZONE":
            return Time(True, "UTC")
    raise DataError(
        f"column {name!r}: expected booleans, numbers, text, dates or timestamps, got another type; drop it "
        "or give a domain"
    )


def _types_of_texts(source: FileSource) -> dict[str, ColumnType]:
    missing = ", ".join(map(quoted, ("", *MISSING)))
    tests: dict[ColumnType, str] = {
        Flag(True): "lower({c}) IN ('true', 'false')",
        Number(True, True, texts=True): f"regexp_full_match({{c}}, {quoted(_WHOLE)})",
        Number(False, True, texts=True): f"regexp_full_match({{c}}, {quoted(_NUMBER)}) "
        "AND TRY_CAST({c} AS DOUBLE) IS NOT NULL",
        Time(False, texts=True): f"regexp_full_match({{c}}, {quoted(_DATE)}) "
        "AND TRY_CAST({c} AS DATE) IS NOT NULL",
        Time(True, texts=True): f"regexp_full_match({{c}}, {quoted(_TIMESTAMP)}) "
        "AND TRY_CAST({c} AS TIMESTAMP) IS NOT NULL",
    }
    names, kinds = source.columns(), list(tests)
    columns = [f"c{place}" for place, _ in enumerate(names)]
    # Booleans have no texts for a missing value but the empty one.
    blanks = ["''" if isinstance(kind, Flag) else missing for kind in tests]
    fits = ", ".join(
        f"bool_and(coalesce({test.replace('{c}', column)}, false)) FILTER ({column} NOT IN ({blank})) "
        f"AS {column}_{place}"
        for column in columns
        for place, (test, blank) in enumerate(zip(tests.values(), blanks, strict=True))
    )
    with source.connect() as connection:
        found = source.query(connection, f"SELECT {fits} FROM file")

    def first(column: str) -> ColumnType:
        # A test of no cell is masked.
        held = (np.ma.filled(found[f"{column}_{place}"], False)[0] for place, _ in enumerate(kinds))
        return next((kind for kind, fit in zip(kinds, held, strict=True) if fit), Text())

    return {name: first(column) for name, column in zip(names, columns, strict=True)}
