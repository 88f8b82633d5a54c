"""How two parties come to share the product of matrices that neither may show the other.

The left party holds M, shape (rows, m); the right one holds codes, whose indicator matrix is V, shape
(rows, n). The dealer gave each a seed for a mask, A and B, that it knows too. Each opens to the other its
matrix without its mask: E = M - A and F = V - B, uniform words to whoever does not know the masks. Then

    M^T V  =  A^T F + C_left  +  E^T V + C_right,        C_left + C_right = A^T B,

where C_left comes from the left party's seed and the dealer sends C_right. The same holds record by record,
with the row-wise product (every column of one times every column of the other) in place of the matrix
product, which is how a third party's matrix is multiplied in: after it, left and right hold a share each
of a matrix, and either share is an M of its own.

Source: Beaver 1991 (multiplication from dealt randomness), here for matrices, opened once for all products.
All functions work on a block of rows; sums over blocks wrap around as the ring does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ring import Ring, Words

Codes = NDArray[np.integer[Any]]


def indicators(ring: Ring, codes: Codes, cells: int) -> Words:
    """Run by a party: the indicator matrix V of its codes, shape (rows, cells)."""
    matrix = np.zeros((codes.size, cells), dtype=ring.dtype)
    matrix[np.arange(codes.size), codes] = 1
    return matrix


def opening(matrix: Words, mask: Words) -> Words:
    """Run by either party: what it may show, its matrix without its mask. A mask opens one matrix only."""
    return matrix - mask


def dealt_share(product: Words, left_share: Words) -> Words:
    """Run by the dealer: what it sends the right party, the product of the masks without the left's share."""
    return product - left_share


def left_product(ring: Ring, mask: Words, right_opening: Words) -> Words:
    """Run by the left party: A^T F, shape (m, n); the block's part of its share, to which it adds C_left."""
    return ring.transposed_product(mask, right_opening)


def right_product(left_opening: Words, codes: Codes, cells: int) -> Words:
    """Run by the right party: E^T V, shape (m, n), a sum by groups; to which it adds C_right."""
    columns = left_opening.shape[1]
    sums = np.zeros(cells * columns, dtype=left_opening.dtype)
    places = codes.astype(np.int64)[:, None] * columns + np.arange(columns)
    np.add.at(sums, places.ravel(), left_opening.ravel())
    return sums.reshape(cells, columns).T


def row_products(left: Words, right: Words) -> Words:
    """Every column of the left times every column of the right, shape (rows, m * n)."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def left_rows(mask: Words, right_opening: Words, share: Words) -> Words:
    """Run by the left party: its share of the row-wise product, shape (rows, m * n)."""
    return row_products(mask, right_opening) + share


def right_rows(left_opening: Words, codes: Codes, cells: int, dealt: Words) -> Words:
    """Run by the right party: its share of the row-wise product, shape (rows, m * n)."""
    rows, columns = left_opening.shape
    product = np.zeros((rows, columns, cells), dtype=left_opening.dtype)
    product[np.arange(rows), :, codes] = left_opening
    return product.reshape(rows, -1) + dealt
