"""A first draft of a domain file, read off a party's own rows."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from ...common.data.attribute import Attribute
from ...common.data.categorical import CategoricalAttribute, Category, CodedAttribute
from ...common.data.domain import Domain
from ...common.data.numeric import NumericAttribute
from ...common.data.values import LARGEST_WHOLE
from ...common.errors import DataError
from .source import FileSource, open_source

NOT_PRIVATE = (
    "The bounds and categories of this draft were read from the private rows, without any privacy: "
    "before a release, replace each by what is publicly known, and show the draft to nobody else."
)

FEW = 50
"""A column of at most this many different values is categorical."""

MANY = 1000
"""A text column of more different values than this is taken for an identifier or free text."""

BINS = 100
"""A numeric column gets this many bins, or one per integer where there are fewer integers."""

_NUMBER = r"[-+]?(0|[1-9][0-9]*)?([.][0-9]*)?([eE][-+]?[0-9]+)?"
"""A number, without zeros in front: 007 is a code."""


def infer_domain(path: str | Path) -> Domain:
    """Drafts a domain for every column of a CSV or Parquet file. See NOT_PRIVATE before using it.

    Few different values become categories, or codes where they are exactly 0 to n - 1; many numbers become
    bins between the least and the largest. Digits behind a leading zero are text, not a number.

    Raises:
        DataError: the file cannot be read or has no rows, or a text column has too many different values.
    """
    source = open_source(path)
    with source.connect() as connection:
        kinds = source.query(connection, "DESCRIBE file")["column_type"]
        return Domain(
            tuple(
                _infer_attribute(source, connection, name, f"c{place}", str(kinds[place]))
                for place, name in enumerate(source.columns())
            )
        )


def _infer_attribute(
    source: FileSource, connection: duckdb.DuckDBPyConnection, name: str, column: str, kind: str
) -> Attribute:
    absent = "nan" if kind in ("FLOAT", "DOUBLE") else ""
    cells = (
        "(SELECT cell, CASE WHEN isfinite(TRY_CAST(cell AS DOUBLE)) "
        f"AND regexp_full_match(cell, '{_NUMBER}') THEN TRY_CAST(cell AS DOUBLE) END AS number "
        f"FROM (SELECT nullif({column}::VARCHAR, '{absent}') AS cell FROM file))"
    )
    facts = source.query(
        connection,
        "SELECT count(*) AS row_count, count(cell) AS filled, count(number) AS numbers, "
        "coalesce(min(number), 0) AS least, coalesce(max(number), 0) AS largest, "
        f"coalesce(bool_and(number = floor(number)), false) AS whole FROM {cells}",
    )
    row_count, filled, numbers = (int(facts[fact][0]) for fact in ("row_count", "filled", "numbers"))
    if not row_count:
        raise DataError(f"{source.path.name} has no rows; an empty table has nothing to draft a domain from")
    found = source.query(
        connection, f"SELECT DISTINCT cell FROM {cells} WHERE cell IS NOT NULL LIMIT {MANY + 1}"
    )
    texts = [str(text) for text in found["cell"]]
    nullable = filled < row_count
    if len(texts) > FEW and numbers == filled:
        least, largest, whole = (facts[fact][0].item() for fact in ("least", "largest", "whole"))
        integer = whole and max(-least, largest) <= LARGEST_WHOLE
        bins = min(BINS, int(largest - least) + 1) if integer else BINS
        return NumericAttribute(name, least, largest, bins, nullable, integer)
    if len(texts) > MANY:
        raise DataError(
            f"column {name!r} holds more than {MANY} different texts, as identifiers and free text do; "
            "declare its categories from public knowledge or drop the column"
        )
    categories = _categories(texts, numeric=numbers == filled, boolean=kind == "BOOLEAN")
    if not nullable and categories == list(range(len(categories))) and kind != "BOOLEAN":
        return CodedAttribute(name, len(categories))
    return CategoricalAttribute(name, ("",) * nullable + tuple(categories))


def _categories(texts: list[str], numeric: bool, boolean: bool) -> list[Category]:
    """The texts as values in natural order: numbers by size, digits within text as numbers."""
    if boolean:
        return [text == "true" for text in sorted(texts)]
    if numeric and all(abs(float(text)) <= LARGEST_WHOLE for text in texts):
        numbers = sorted({float(text) for text in texts})
        whole = all(number.is_integer() for number in numbers)
        return [int(number) for number in numbers] if whole else list[Category](numbers)
    ordered: list[str] = sorted(texts, key=_natural)
    return list[Category](ordered)


def _natural(text: str) -> tuple[list[tuple[str, int]], str]:
    """A key that sorts "9 years" before "10 years"."""
    parts = re.findall(r"([^0-9]*)([0-9]*)", text.casefold())
    return [(words, int(digits or -1)) for words, digits in parts], text
