"""Matrices of ring words that are too large for memory, stored in unnamed temporary files.

The files are deleted when the process ends. The senders then deliver their content again.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from ....common.errors import DeliveriesLost, PartyUnavailable, ProtocolError
from ....common.protocols.arithmetic.ring import Ring, Words
from ....common.protocols.masked.plan import Chain, labels
from ...policies.allowance import Quota


def opened_labels(chain: Chain, place: int) -> list[str]:
    """Labels of a range of an opening, by its number."""
    return ["opening", str(place), *labels(chain)]


class _Matrix:
    """One file; closed with its last reference, so a reader can finish after the matrix is replaced."""

    def __init__(self, ring: Ring, rows: int, cells: int, disk: Quota) -> None:
        self.ring = ring
        self.rows = rows
        self.cells = cells
        self.received = 0
        self.writing = threading.Lock()
        purpose = object()
        disk.reserve({purpose: rows * self.row_bytes})
        weakref.finalize(self, disk.free, [purpose])
        self.file = tempfile.TemporaryFile()
        weakref.finalize(self, self.file.close)

    @property
    def row_bytes(self) -> int:
        return self.cells * self.ring.word_bytes


class Openings:
    """Matrices by key, written once as a stream and read in blocks of rows.

    Args:
        disk: bytes of all files, also of those that are still written.
    """

    def __init__(self, disk: Quota) -> None:
        self._disk = disk
        self._matrices: dict[Hashable, _Matrix] = {}
        self._begun: dict[Hashable, _Matrix] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._matrices

    def put(
        self,
        key: Hashable,
        ring: Ring,
        rows: int,
        cells: int,
        chunks: Iterable[bytes],
        within: range | None = None,
    ) -> None:
        """Stores a matrix, or a range of its rows; replaces an earlier one only after it is complete.

        The first range begins a matrix, and the others follow in order. One that was received before is read
        and not stored again.

        Args:
            key: key of the matrix.
            ring: ring of its words.
            rows: number of rows.
            cells: number of columns.
            chunks: words, row-major, in chunks of any sizes.
            within: the rows that are received; None for all.

        Raises:
            ProtocolError: the number of words is not the expected one.
            DeliveriesLost: a range before this one was not received.
            PartyUnavailable: another delivery writes to the matrix.
            PolicyError: there is no room for it; nothing was read or written.
        """
        within = range(rows) if within is None else within
        matrix = self._matrix(key, ring, rows, cells, within)
        if not matrix.writing.acquire(blocking=False):
            # What is written after a range is complete would not be what was received and bound.
            raise PartyUnavailable("another delivery of the same opening has not ended; deliver it again")
        try:
            self._write(matrix, within, chunks)
        finally:
            matrix.writing.release()
        if matrix.received == rows:
            self._matrices[key] = matrix
            self._begun.pop(key, None)

    def _write(self, matrix: _Matrix, within: range, chunks: Iterable[bytes]) -> None:
        """Writes a range of a matrix, which counts as received once its last chunk was taken."""
        stored = within.start < matrix.received
        read, size = 0, len(within) * matrix.row_bytes
        matrix.file.seek(within.start * matrix.row_bytes)
        for chunk in chunks:
            read += len(chunk)
            if read > size:
                break
            if not stored:
                matrix.file.write(chunk)
        if read != size:
            raise ProtocolError("a message has more or fewer integers than expected; ask again")
        matrix.file.flush()
        matrix.received = max(matrix.received, within.stop)

    def _matrix(self, key: Hashable, ring: Ring, rows: int, cells: int, within: range) -> _Matrix:
        """The matrix that a range belongs to: a new one for the first range."""
        if not within.start:
            self._begun.pop(key, None)
            matrix = _Matrix(ring, rows, cells, self._disk)
            if within.stop < rows:
                self._begun[key] = matrix
            return matrix
        found = self._begun.get(key, self._matrices.get(key))
        if found is None or found.received < within.start:
            raise DeliveriesLost("a range of an opening needs those before it; deliver them first")
        return found

    def blocks(self, key: Hashable, block_rows: int) -> Iterator[Words]:
        """The matrix, shape (block_rows, cells) at a time.

        Raises:
            DeliveriesLost: there is no matrix with this key.
        """
        if key not in self._matrices:
            raise DeliveriesLost(
                "a product needs an opening or share that was not delivered; deliver all of them first"
            )
        matrix = self._matrices[key]
        for start in range(0, matrix.rows, block_rows):
            block = np.empty(min(block_rows, matrix.rows - start) * matrix.cells, dtype=matrix.ring.dtype)
            matrix.file.seek(start * matrix.row_bytes)
            matrix.file.readinto(block.data.cast("B"))
            yield block.reshape(-1, matrix.cells)

    def drop(self, key: Hashable) -> None:
        """Removes a matrix, if there is one."""
        self._matrices.pop(key, None)
        self._begun.pop(key, None)
