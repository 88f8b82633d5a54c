"""The encodings of a CSV file: UTF-8, UTF-16 behind its mark, and Windows-1252 for each cell by itself.

No decision depends on more than one cell, so that no record changes how another one is read.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, cast

from ...common.errors import DataError

UTF_8, UTF_16 = "utf-8", "utf-16"

_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_CELL = re.compile(rb'[^,;\t|"\r\n]+')
"""A cell, or what stands between two quotes or separators in one."""

_OF_ANOTHER_ENCODING = re.compile(
    "[\x81\x8d\x8f\x90\x9d]|[^\\W\\d_][ƒˆ˜†‡‹›„‚•“”§][^\\W\\d_]|[^\\W\\d_][ŠŽŸŒ][a-z]"
)
"""What names hold that are in Shift JIS or Mac Roman, and are read as Windows-1252."""

_FIRST_LINES = 200
"""A header is looked for in so many lines: a name in quotes may have several."""

_LONGEST_LINE = 2**21
"""Bytes that a line stays below, as DuckDB asks."""


def encoding_of(path: Path) -> str:
    """UTF-16 if the file begins with its mark, otherwise UTF-8, with cells of Windows-1252 among them."""
    with open_bytes(path) as file:
        return UTF_16 if file.read(2) in _MARKS else UTF_8


def is_utf8(path: Path) -> bool:
    """Whether all bytes of a file, perhaps .gz, are valid UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with open_bytes(path) as file:
            while block := file.read(1 << 20):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def first_lines(path: Path) -> list[str]:
    """The first lines of a file, with their ends.

    Raises:
        DataError: the first line is in another encoding, as far as it shows.
    """
    with _texts(path) as file:
        # All of them together may be as long as one.
        block = file.read(_LONGEST_LINE)
    lines = list(islice(io.StringIO(block, newline=""), _FIRST_LINES))
    if len(block) == _LONGEST_LINE and len(lines) < 2:
        raise DataError(
            f"{path.name}: expected a first line of less than {_LONGEST_LINE >> 20} MiB, found a longer one; "
            "give a CSV file"
        )
    if encoding_of(path) == UTF_8:
        mixed = bool(lines) and not _is_valid(lines[0].encode("latin-1"))
        lines = [_as_utf8(line.encode("latin-1")).decode("utf-8-sig") for line in lines]
        if mixed and _OF_ANOTHER_ENCODING.search(lines[0]):
            raise DataError(
                f"{path.name}: expected names of columns in UTF-8 or Windows-1252, found what looks like "
                "another encoding, such as Shift JIS or Mac Roman; save it as UTF-8"
            )
    if lines and "\0" in lines[0]:
        raise DataError(
            f"{path.name}: expected UTF-8, Windows-1252, or UTF-16 with a byte order mark, found another "
            "encoding; save it as UTF-8"
        )
    return lines


def write_as_utf8(path: Path, out: IO[bytes], skipped: int = 0) -> None:
    """Writes the lines of a file as UTF-8 without a mark; a cell that is not UTF-8 is read as Windows-1252.

    Args:
        path: the file.
        out: where they are written.
        skipped: number of lines at its beginning that are left out, each up to any line end.
    """
    with _texts(path) as texts, open_bytes(path) as file:
        # Of a file that is not in UTF-16, a character of `texts` is a byte.
        length = sum(len(texts.readline()) for _ in range(skipped))
        if encoding_of(path) == UTF_16:
            pieces = iter(partial(texts.readline, _LONGEST_LINE), "")
            out.writelines(text.encode("utf-8") for text in pieces)
            return
        if file.read(length or len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            file.seek(length)
        # DuckDB refuses a line that is longer.
        out.writelines(map(_as_utf8, iter(partial(file.readline, _LONGEST_LINE), b"")))


def open_bytes(path: Path) -> BinaryIO:
    """The bytes of a file; those that were compressed of a .gz."""
    return cast(BinaryIO, gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb"))


def _texts(path: Path) -> io.TextIOWrapper:
    """The lines of a file in UTF-16; of another, each byte as a character."""
    if encoding_of(path) == UTF_16:
        return io.TextIOWrapper(open_bytes(path), "utf-16", errors="replace", newline="")
    return io.TextIOWrapper(open_bytes(path), "latin-1", newline="")


def _as_utf8(line: bytes) -> bytes:
    return line if _is_valid(line) else _CELL.sub(lambda cell: _text(cell[0]).encode("utf-8"), line)


def _is_valid(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _text(cell: bytes) -> str:
    for encoding in ("utf-8", "cp1252"):
        try:
            return cell.decode(encoding)
        except UnicodeDecodeError:
            continue
    # Windows-1252 leaves five bytes open.
    return cell.decode("latin-1")
