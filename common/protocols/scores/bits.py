"""Bits of many cells, packed eight to a byte."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arithmetic.ring import Words

Plane = NDArray[np.uint8]
"""One bit of every cell, shape (bytes,); the first cell is the lowest bit of the first byte."""

Planes = NDArray[np.uint8]
"""Shape (rows, bytes)."""

_PLACES = np.left_shift(1, np.arange(8)).astype(np.uint8)[:, None]


def planes_of(words: Words) -> Planes:
    """The bits of words, lowest first, shape (bits of a word, bytes); the last byte is padded with 0."""
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(words.size, -1)
    columns = (np.ascontiguousarray(column) for column in octets.T)
    return np.vstack([np.packbits(column & _PLACES, axis=-1, bitorder="little") for column in columns])


def unpack_bits(plane: Plane, cells: int) -> NDArray[np.bool_]:
    """The bits of a plane, shape (cells,)."""
    return np.unpackbits(plane, count=cells, bitorder="little").view(np.bool_)


def negate_cells(words: Words, plane: Plane) -> Words:
    """Words, negated in the cells whose bit is 1.

    Args:
        words: shape (..., cells).
        plane: a bit of every cell.
    """
    return np.where(unpack_bits(plane, words.shape[-1]), np.negative(words), words)
