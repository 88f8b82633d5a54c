"""Matrices of ring words that are too large for memory, kept in unnamed temporary files.

A file has no name and goes with the process. What it held comes again from those who sent it.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from ....common.errors import DeliveriesLost
from ....common.protocols.masked.ring import Ring, Words
from ....common.wire.streams import row_blocks

_WRITE_BYTES = 1 << 22


class _Matrix:
    """One file; closed when nobody holds it any more, so a reader keeps what it began to read."""

    def __init__(self, rows: int, cells: int) -> None:
        self.rows = rows
        self.cells = cells
        self.file = tempfile.TemporaryFile()
        weakref.finalize(self, self.file.close)


class Openings:
    """Matrices under keys, written once as a stream and read in blocks of rows.

    Args:
        ring: of the words.
    """

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._matrices: dict[Hashable, _Matrix] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._matrices

    def put(self, key: Hashable, rows: int, cells: int, chunks: Iterable[bytes]) -> None:
        """Keeps a matrix; one that the key stood for before is replaced once all of the new one came.

        Args:
            key: its name.
            rows: of the matrix.
            cells: columns of the matrix.
            chunks: its words, row-major, cut in any way.

        Raises:
            ProtocolError: more or fewer words came than are due.
        """
        matrix = _Matrix(rows, cells)
        at_once = max(1, _WRITE_BYTES // (cells * self._ring.word_bytes))
        for block in row_blocks(chunks, self._ring.dtype, rows, cells, at_once):
            matrix.file.write(block.data)
        matrix.file.flush()
        self._matrices[key] = matrix

    def blocks(self, key: Hashable, block_rows: int) -> Iterator[Words]:
        """The matrix, shape (block_rows, cells) at a time.

        Raises:
            ProtocolError: there is none under this key.
        """
        if key not in self._matrices:
            raise DeliveriesLost(
                "a product needs what was not delivered; deliver all openings and shares first"
            )
        matrix = self._matrices[key]
        row_bytes = matrix.cells * self._ring.word_bytes
        for start in range(0, matrix.rows, block_rows):
            block = np.empty(min(block_rows, matrix.rows - start) * matrix.cells, dtype=self._ring.dtype)
            matrix.file.seek(start * row_bytes)
            matrix.file.readinto(block.data.cast("B"))
            yield block.reshape(-1, matrix.cells)

    def drop(self, key: Hashable) -> None:
        """Forgets a matrix, if it is there."""
        self._matrices.pop(key, None)
