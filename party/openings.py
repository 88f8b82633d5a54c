"""Matrices of ring words that are too large for memory, kept in unnamed temporary files.

A file has no name and goes with the process. What it held comes again from those who sent it.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Hashable, Iterable, Iterator
from io import BufferedRandom

import numpy as np

from ..common.errors import ProtocolError
from ..common.protocols.masked.ring import Ring, Words
from ..common.wire.codec import row_blocks

_WRITE_BYTES = 1 << 22


class Openings:
    """Matrices under keys, written once as a stream and read in blocks of rows.

    Args:
        ring: of the words.
    """

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._files: dict[Hashable, tuple[BufferedRandom, int, int]] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._files

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
        file = tempfile.TemporaryFile()
        weakref.finalize(self, file.close)
        at_once = max(1, _WRITE_BYTES // (cells * self._ring.word_bytes))
        try:
            for block in row_blocks(chunks, self._ring.dtype, rows, cells, at_once):
                file.write(block.data)
            file.flush()
        except BaseException:
            file.close()
            raise
        self.drop(key)
        self._files[key] = (file, rows, cells)

    def blocks(self, key: Hashable, block_rows: int) -> Iterator[Words]:
        """The matrix, shape (block_rows, cells) at a time.

        Raises:
            ProtocolError: there is none under this key.
        """
        if key not in self._files:
            raise ProtocolError(
                "a product needs what was not delivered; deliver all openings and shares first"
            )
        file, rows, cells = self._files[key]
        for start in range(0, rows, block_rows):
            size = min(block_rows, rows - start) * cells
            block = np.empty(size, dtype=self._ring.dtype)
            file.seek(start * cells * self._ring.word_bytes)
            file.readinto(block.data.cast("B"))
            yield block.reshape(-1, cells)

    def drop(self, key: Hashable) -> None:
        """Forgets a matrix, if it is there, and frees its room."""
        file, _, _ = self._files.pop(key, (None, 0, 0))
        if file is not None:
            file.close()
