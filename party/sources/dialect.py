"""How a CSV file is written: its encoding, and what separates its cells."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

from ...common.errors import DataError

SEPARATORS = (",", ";", "\t", "|")

_IN_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

_LINES = 200
"""Number of lines from which the separator is found."""

_BLOCK_BYTES = 2**20


@dataclass(frozen=True)
class Dialect:
    """What a reader has to know of a CSV file.

    Attributes:
        encoding: utf-8, utf-16 or latin-1, as DuckDB names them.
        separator: one of `SEPARATORS`.
        header: the cells of the first line.
    """

    encoding: str
    separator: str
    header: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """Such as "UTF-8, separated by commas"."""
        return f"{self.encoding.upper()}, separated by {_IN_WORDS[self.separator]}"


def find_dialect(path: Path, usual: str) -> Dialect:
    """Reads a file's dialect off its content, the same way every time.

    The encoding is UTF-16 behind its byte order mark, UTF-8 if the whole file is valid, otherwise Latin-1.
    The separator is the one that divides the first lines into equally many cells, two or more.

    Args:
        path: a CSV file, perhaps .gz.
        usual: separator of a file in which none is seen, such as one of a single column.

    Raises:
        DataError: the file cannot be read, has no header, is in another encoding, or two separators fit.
    """
    try:
        encoding = _encoding(path)
        reader = "utf-8-sig" if encoding == "utf-8" else encoding
        with io.TextIOWrapper(_opened(path), reader, newline="") as lines:
            sample = list(islice(lines, _LINES))
        separator = _separator(path.name, sample, usual)
        header = tuple(next(csv.reader(sample, delimiter=separator, strict=True), []))
    except (OSError, EOFError, UnicodeError, csv.Error, zlib.error):
        raise DataError(f"{path.name}: its first line cannot be read as CSV; fix the file") from None
    if not header:
        raise DataError(f"{path.name} has no header; write the names of the columns in its first line")
    return Dialect(encoding, separator, header)


def _encoding(path: Path) -> str:
    with _opened(path) as file:
        start = file.read(2)
    if start in _MARKS:
        return _MARKS[start]
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for block in _blocks(path):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        if any(0x80 <= byte < 0xA0 for block in _blocks(path) for byte in set(block)):
            raise DataError(
                f"{path.name}: expected UTF-8, UTF-16 with a byte order mark or Latin-1 (ISO 8859-1), found "
                "another encoding; save it as UTF-8"
            ) from None
        return "latin-1"
    return "utf-8"


def _separator(name: str, sample: list[str], usual: str) -> str:
    """The separator that divides all lines of the sample alike; `usual` if there is none."""
    seen = {separator: _cells(sample, separator) for separator in SEPARATORS}
    fitting = [separator for separator in SEPARATORS if seen[separator] > 1]
    if len(fitting) > 1 and usual not in fitting:
        words = " and ".join(_IN_WORDS[separator] for separator in fitting)
        raise DataError(f"{name}: its lines can be divided at {words}; put quotes around cells with either")
    if usual in fitting:
        return usual
    if fitting:
        return fitting[0]
    # Lines of different lengths: the separator in most of them, so that the shorter line can be named.
    common = [one for one in SEPARATORS if sum(one in line for line in sample) > len(sample) / 2]
    return common[0] if len(common) == 1 else usual


def _cells(sample: list[str], separator: str) -> int:
    """The number of cells of every line; 0 if the lines differ."""
    try:
        lines = [line for line in csv.reader(sample, delimiter=separator, strict=True) if line]
    except csv.Error:
        # The last line of the sample may end within quotes.
        lines = [line for line in csv.reader(sample, delimiter=separator) if line][:-1]
    counts = set(map(len, lines))
    return counts.pop() if len(counts) == 1 else 0


def _blocks(path: Path) -> Iterator[bytes]:
    with _opened(path) as file:
        while block := file.read(_BLOCK_BYTES):
            yield block


def _opened(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb"))
