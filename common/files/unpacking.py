"""How many bytes the rows of a file take in memory, found out before they do.

A few bytes may stand for any number of rows, or for a long text in each of them.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..errors import DataError

_ANY_ROWS_BYTES, _ROWS_BYTES = 1 << 30, 500
"""Bytes that rows may take in any case, and most of them for one byte of their file."""

_CELL_BYTES = 8
"""What a cell takes at least, beside the bytes of a text."""

_LOOKED_AT_ROWS = 1 << 16

_FEATHER = b"ARROW1"
"""How files of Arrow's IPC format begin and end; older ones of Feather are not packed."""


class Unpacked:
    """The bytes that the rows of a file take, as far as they are counted.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._most = max(_ANY_ROWS_BYTES, _ROWS_BYTES * path.stat().st_size)
        self._counted = 0

    def count(self, more: int) -> None:
        """Counts further bytes.

        Raises:
            DataError: they are far more than the file has.
        """
        self._counted += more
        if self._counted > self._most:
            raise DataError(
                f"{self._name}: expected a table, found a file that unpacks to far more bytes; write its "
                "rows to several files"
            )

    def count_texts(self, rows: pa.Table) -> None:
        """Counts the texts of rows that were read, each by itself.

        Raises:
            DataError: they are far more than the file has.
            ValueError: cells are written in a way that few programs read.
        """
        for column in rows.columns:
            if pa.types.is_run_end_encoded(column.type):
                raise ValueError("a column of runs")
            for chunk in column.chunks:
                self.count(_length(chunk))


def check_parquet(path: Path) -> None:
    """Refuses a Parquet file that takes far more memory than it has bytes, or has columns of lists.

    Raises:
        DataError: it does.
        pa.ArrowException: it is no such file.
    """
    unpacked = Unpacked(path)
    with pq.ParquetFile(path) as file:
        about, fields = file.metadata, list(file.schema_arrow)
        if any(pa.types.is_nested(one.type) for one in fields):
            raise DataError(f"{path.name}: expected columns of values, found lists; take them away")
        rows = sum(about.row_group(place).num_rows for place in range(about.num_row_groups))
        unpacked.count(rows * sum(max(_CELL_BYTES, _width(one.type)) for one in fields))
    texts = [one.name for one in fields if _width(one.type) == 0]
    # A text that comes again and again is in memory once.
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for name in texts:
            for batch in file.iter_batches(_LOOKED_AT_ROWS, columns=[name], use_threads=False):
                unpacked.count(_length(batch.column(0)))


def check_arrow(path: Path) -> None:
    """Refuses a file of Arrow's IPC format whose parts take far more memory than it has bytes.

    Raises:
        DataError: they do.
        ValueError: it is a damaged file.
    """
    unpacked = Unpacked(path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
        if held[: len(_FEATHER)] != _FEATHER:
            return
        try:
            for more in _parts(held):
                unpacked.count(more)
        except struct.error as cause:
            raise ValueError("a part is beyond the end of the file") from cause


def _width(kind: pa.DataType) -> int:
    """Bytes of a cell, rounded down; 0 for texts and truths."""
    if pa.types.is_dictionary(kind) or pa.types.is_null(kind):
        return 0
    try:
        return int(kind.bit_width) // 8
    except ValueError:
        return 0


def _length(cells: pa.Array) -> int:
    """Bytes of the texts of a column, each by itself; 0 for one of other values."""
    if not pa.types.is_dictionary(cells.type):
        return int(_lengths(cells).sum())
    lengths = _lengths(cells.dictionary)
    return int(lengths[cells.indices.drop_null().to_numpy()].sum()) if len(lengths) else 0


def _lengths(cells: pa.Array) -> NDArray[np.int64]:
    """Bytes of each text; none for other values."""
    kind = cells.type
    if kind in (pa.string_view(), pa.binary_view()):
        # Of the 16 bytes of a cell, the first four say how long its text is.
        views = np.frombuffer(cells.buffers()[1] or b"", dtype=np.int32)[4 * cells.offset :: 4]
        return views[: len(cells)].clip(0).astype(np.int64)
    if kind not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        return np.zeros(0, dtype=np.int64)
    lengths: NDArray[Any] = pc.binary_length(cells).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)


def _parts(held: mmap.mmap) -> Iterator[int]:
    """What each part of a file says that it takes, by the list at the file's end, as readers follow it."""
    (length,) = struct.unpack_from("<i", held, len(held) - len(_FEATHER) - 4)
    footer = _root(held, len(held) - len(_FEATHER) - 4 - length)
    for place in (2, 3):
        for block in _vector(held, footer, place, 24):
            start, head = struct.unpack_from("<qi", held, block)
            yield from _of_message(held, start, start + head)


def _of_message(held: mmap.mmap, start: int, body: int) -> Iterator[int]:
    # Older files have no mark before the length.
    (mark,) = struct.unpack_from("<i", held, start)
    message = _root(held, start + (8 if mark == -1 else 4))
    batch = _table(held, message, 2)
    if batch is not None and held[_field(held, message, 1) or 0] == 2:
        # The header of a dictionary: its values are a batch.
        batch = _table(held, batch, 1)
    if batch is None:
        return
    for node in _vector(held, batch, 1, 16):
        yield _CELL_BYTES * max(0, *struct.unpack_from("<q", held, node))
    packed = _field(held, batch, 3) is not None
    for buffer in _vector(held, batch, 2, 16):
        offset, size = struct.unpack_from("<qq", held, buffer)
        # A packed buffer says first how many bytes it unpacks to; -1 if it is as it is.
        (whole,) = struct.unpack_from("<q", held, body + offset) if packed and size >= 8 else (size,)
        yield max(size, whole)


def _root(held: mmap.mmap, place: int) -> int:
    """The place of the outermost table of a message in the format of FlatBuffers."""
    (offset,) = struct.unpack_from("<I", held, _inside(place))
    return place + int(offset)


def _field(held: mmap.mmap, table: int, number: int) -> int | None:
    """The place of a field of a table; None if it is left out."""
    (back,) = struct.unpack_from("<i", held, _inside(table))
    (size,) = struct.unpack_from("<H", held, _inside(table - back))
    if 4 + 2 * number >= size:
        return None
    (offset,) = struct.unpack_from("<H", held, table - back + 4 + 2 * number)
    return table + int(offset) if offset else None


def _table(held: mmap.mmap, table: int, number: int) -> int | None:
    """The place of a table that a field leads to."""
    place = _field(held, table, number)
    return None if place is None else _root(held, place)


def _vector(held: mmap.mmap, table: int, number: int, size: int) -> Iterator[int]:
    """The places of the elements of a vector that a field leads to."""
    place = _field(held, table, number)
    if place is None:
        return
    start = _root(held, place)
    (length,) = struct.unpack_from("<I", held, start)
    yield from range(start + 4, start + 4 + size * length, size)


def _inside(place: int) -> int:
    if place < 0:
        raise ValueError("a part is before the beginning of the file")
    return place
