"""Products of ranges of rows, as functions of public sizes, keys and words: any process can do them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...data.vectors import Vectors
from ..arithmetic.ring import Ring, Words
from . import products
from .masks import Mask
from .products import Codes

Masked = tuple[Mask, int]
"""A mask and its number of columns."""


def left_range(ring: Ring, masks: Sequence[Masked], start: int, opened: Sequence[Words]) -> Words:
    """Run for the left party: A^T F of a range of rows, shape (m, n).

    Args:
        ring: ring of the words.
        masks: its masks, one beside the other.
        start: first row.
        opened: what was opened to it, one matrix beside the other, shapes (rows, cells).
    """
    rows = len(opened[0])
    mask = np.hstack([mask.uniform(ring, start, rows, cells) for mask, cells in masks])
    return products.left_product(ring, mask, np.hstack(opened))


def right_range(opened: Sequence[Words], codes: Sequence[tuple[Codes | Vectors, int]]) -> list[Words]:
    """Run for the right party: E^T V of a range of rows, for each of its factors of shape (m, cells).

    Args:
        opened: what was opened to it, one matrix beside the other.
        codes: of each of its factors: the cell of each row, and the number of cells.
    """
    beside = np.hstack(opened)
    return [products.right_product(beside, cell, cells) for cell, cells in codes]


def dealt_range(
    ring: Ring,
    terms: Sequence[tuple[int, tuple[int, ...]]],
    lefts: Sequence[tuple[Sequence[Mask], int]],
    rights: Sequence[Masked],
    start: int,
    rows: int,
) -> Words:
    """Run for a dealer: its terms of the product of masks of a range of rows, shape (m, n).

    Args:
        ring: ring of the words.
        terms: components that it multiplies (`dealers.dealt_terms`).
        lefts: for each left factor, the masks whose sum it is, and its number of columns.
        rights: the right factors.
        start: first row.
        rows: number of rows.
    """
    left = _beside(
        [_sum_masks([m.components(ring, start, rows, cells) for m in masks]) for masks, cells in lefts]
    )
    right = _beside([mask.components(ring, start, rows, cells) for mask, cells in rights])
    return sum_of([ring.transposed_product(left[x], sum_of([right[y] for y in ys])) for x, ys in terms])


def sum_of(blocks: Sequence[Words]) -> Words:
    """The sum of matrices of one shape."""
    return sum(blocks[1:], start=blocks[0])


def _sum_masks(known: Sequence[dict[int, Words]]) -> dict[int, Words]:
    """The sums of masks, component by component."""
    return {number: sum_of([words[number] for words in known]) for number in known[0]}


def _beside(known: Sequence[dict[int, Words]]) -> dict[int, Words]:
    """Masks one beside the other, component by component."""
    return {number: np.hstack([words[number] for words in known]) for number in known[0]}
