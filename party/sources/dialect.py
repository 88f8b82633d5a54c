"""How a CSV file is written: its encoding, and what separates its cells."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...common.errors import DataError
from .encodings import encoding_of, first_lines

SEPARATORS = (",", ";", "\t", "|")

_QUOTED = re.compile('"sep=.?"\\s*$', re.IGNORECASE)
"""No program reads such a line as one that states the separator."""

_IN_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True)
class Dialect:
    """What a reader has to know of a CSV file.

    Attributes:
        encoding: utf-8 or utf-16; see `encodings`.
        separator: one of `SEPARATORS`.
        first: the cells of the first line.
        stated: whether a line before it, such as `sep=;`, says what separates cells, as Excel reads it.
        lines: number of lines that it takes; a cell in quotes may have several.
        end: what ends it.
    """

    encoding: str
    separator: str
    first: tuple[str, ...]
    stated: bool = False
    lines: int = 1
    end: str = "\n"

    @property
    def in_words(self) -> str:
        """Such as "UTF-8, separated by commas"."""
        return f"{self.encoding.upper()}, separated by {_IN_WORDS[self.separator]}"


def find_dialect(path: Path, usual: str) -> Dialect:
    """Reads a file's dialect off its first line, or two, which are public; no other line has a part in it.

    The separator is the one that divides the first line into the most cells, the usual one if others divide
    it into as many.

    Args:
        path: a CSV file, perhaps .gz.
        usual: separator of a file in which none is seen, such as one of a single column.

    Raises:
        DataError: the file cannot be read, has no header, is in another encoding, two separators fit, or one
            is stated in quotes.
    """
    try:
        lines = first_lines(path)
        if lines and _QUOTED.match(lines[0]):
            raise DataError(
                f"{path.name}: expected sep= without quotes or names of columns, found sep= in quotes; take "
                "the quotes of its first line away"
            )
        separator = _stated_separator(lines)
        stated = separator is not None
        if separator is None:
            found = {one: len(_cells(lines, one)) for one in SEPARATORS}
            separator = _separator(path.name, found, usual)
        else:
            lines = lines[1:]
        reader = csv.reader(lines, delimiter=separator, strict=True)
        first = tuple(next(reader, []))
        encoding = encoding_of(path)
    except (OSError, EOFError, csv.Error, zlib.error):
        raise DataError(f"{path.name}: its first line cannot be read as CSV; fix the file") from None
    if not first:
        raise DataError(f"{path.name} has no header; write the names of the columns in its first line")
    last = lines[reader.line_num - 1]
    end = last[len(last.rstrip("\r\n")) :] or "\n"
    return Dialect(encoding, separator, first, stated, reader.line_num, end)


def _stated_separator(lines: Sequence[str]) -> str | None:
    """The separator that a line before the first one states; None if there is no such line."""
    line = lines[0].rstrip("\r\n") if lines else ""
    return line[4:] if line.lower().startswith("sep=") and line[4:] in SEPARATORS else None


def _separator(name: str, cells: dict[str, int], usual: str) -> str:
    most = max(cells.values())
    fitting = [separator for separator in SEPARATORS if cells[separator] == most]
    if most <= 1 or usual in fitting:
        return usual
    if len(fitting) > 1:
        words = " and ".join(_IN_WORDS[separator] for separator in fitting)
        raise DataError(f"{name}: its first line can be divided at {words}; put names with either in quotes")
    return fitting[0]


def _cells(lines: Sequence[str], separator: str) -> list[str]:
    """The cells of the first line; none if this separator makes no CSV of it."""
    try:
        return next(csv.reader(lines, delimiter=separator, strict=True), [])
    except csv.Error:
        return []
