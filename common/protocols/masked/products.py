"""Secure product of two parties' private matrices, as additive shares.

The left party holds M, shape (rows, m); the right one holds codes, whose indicator matrix is V, shape
(rows, n). The dealer gave each party the seed of a mask, A and B. Each party opens its matrix minus its mask
to the other: E = M - A and F = V - B, which are uniform without the masks. Then

    M^T V  =  A^T F + C_left  +  E^T V + C_right,        C_left + C_right = A^T B,

where C_left is derived from the left party's seed and the dealer sends C_right. The same holds record by
record, with the row-wise product (every column of one times every column of the other) instead of the matrix
product. It is used with a third party: left and right then hold one share each of a matrix, and each share is
the M of a further product. If the right party itself has a share of M, it adds this share to the openings of
the others in the clear, and only the masks of the others make up A: E + share = M - A still holds. A code of
-1 is a record whose row of V is zero. A person with several rows has a row of V that is not one-hot: the sum
over the rows, each in parts (`Vectors`).

Source: Beaver 1991 (multiplication from dealt randomness), here for matrices, opened once for all products.
All functions work on a block of rows; sums over blocks wrap around in the ring.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.vectors import Vectors
from ..arithmetic.ring import Ring, Words

Codes = NDArray[np.integer[Any]]

_MANY_ROWS = 16
"""With so many rows of a code, adding them up alone is faster than `reduceat`."""


def indicators(ring: Ring, codes: Codes | Vectors, cells: int) -> Words:
    """Run by a party: the indicator matrix V of its codes or vectors, shape (rows, cells)."""
    held = Vectors.of(codes)
    matrix = np.zeros((held.size, cells), dtype=ring.dtype)
    if held.weights is None:
        matrix[held.rows, held.cells] = 1
    else:
        np.add.at(matrix, (held.rows, held.cells), ring.words(held.weights))
    return matrix


def opening(matrix: Words, mask: Words) -> Words:
    """Run by either party: its matrix minus its mask. A mask is used for one matrix only."""
    return matrix - mask


def dealt_share(product: Words, left_share: Words) -> Words:
    """Run by the dealer: its message to the right party, the product of the masks minus the left share."""
    return product - left_share


def left_product(ring: Ring, mask: Words, right_opening: Words) -> Words:
    """Run by the left party: A^T F of a block, shape (m, n); their sum plus C_left is its share."""
    return ring.transposed_product(mask, right_opening)


def right_product(left_opening: Words, codes: Codes | Vectors, cells: int) -> Words:
    """Run by the right party: E^T V of a block, shape (m, n); their sum plus C_right is its share."""
    held = Vectors.of(codes)
    order = np.argsort(held.cells, kind="stable")
    ordered = held.cells[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    sums = np.zeros((cells, left_opening.shape[1]), dtype=left_opening.dtype)
    if held.weights is not None:
        weights = held.weights[order].astype(left_opening.dtype)
        for start, stop in itertools.pairwise([*starts.tolist(), ordered.size]):
            sums[ordered[start]] = weights[start:stop] @ left_opening[held.rows[order[start:stop]]]
        return sums.T
    rows = left_opening[held.rows[order]]
    if starts.size * _MANY_ROWS > ordered.size:
        sums[ordered[starts]] = np.add.reduceat(rows, starts, axis=0) if starts.size else 0
    else:
        for start, stop in itertools.pairwise([*starts.tolist(), ordered.size]):
            sums[ordered[start]] = rows[start:stop].sum(axis=0, dtype=rows.dtype)
    return sums.T


def row_products(left: Words, right: Words) -> Words:
    """Every column of the left times every column of the right, shape (rows, m * n)."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def left_rows(mask: Words, right_opening: Words, share: Words) -> Words:
    """Run by the left party: its share of the row-wise product, shape (rows, m * n)."""
    return row_products(mask, right_opening) + share


def right_rows(left_opening: Words, codes: Codes | Vectors, cells: int, dealt: Words) -> Words:
    """Run by the right party: its share of the row-wise product, shape (rows, m * n)."""
    held = Vectors.of(codes)
    if held.weights is not None:
        matrix = indicators(Ring(8 * left_opening.itemsize), held, cells)
        return row_products(left_opening, matrix) + dealt
    product = np.zeros((held.size, left_opening.shape[1], cells), dtype=left_opening.dtype)
    product[held.rows, :, held.cells] = left_opening[held.rows]
    return product.reshape(held.size, -1) + dealt
