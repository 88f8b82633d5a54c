"""Check of dealt row-wise shares, by sacrificing a second dealt product that nothing else uses.

Of a row-wise product, the owner of the left factor has the mask A, shape (rows, m), and pads; the receiver
has the mask B, shape (rows, n), and dealt words C. All are integers modulo 2^64. If the dealers deal as
written, then in every row, for any weights w,

    sum over c, j of  w_cj (C + pads)_cj  =  <X, B>,        X_j = sum over c of w_cj A_c.

The weights come from the key that owner and receiver share, so no dealer knows them. The owner sends X + X',
hidden by a mask X' of the check, and its sum of weighted pads, hidden by pads of the check. The dealers dealt
<X', B> less these pads. The receiver compares, summed over all rows,

    <X + X', B>  =  <w, C> + <w, pads> + <X', B>.

Nothing of it depends on data. If the check is repeated, masks and weights are the same, and so are all
words that are sent.

In a ring of 32 bits the weights are uniform below 2^32. In a ring of 64 bits the check is done 32 times at
once with weights of one bit. Either way, a dealt word of which the low 32 bits (or all 64) are wrong passes
with probability 2^-32 at most.

Source: SPDZ_2k, Cramer, Damgard, Escudero, Scholl, Xing 2018 (weights below 2^s modulo 2^(k+s)), here with a
sacrificed inner product. All functions work on a block of rows; sums over blocks wrap around modulo 2^64.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...crypto.randomness import RandomStream
from .ring import Ring, Words

WIDE = Ring(64)
"""Ring of the dealt words of row-wise products, whose low bits are words of the plan's ring."""

CHECK_MASK = "mask of a check"
"""Label of the mask X'."""

CHECK_PAD = "check share"
"""Label of the pads that hide <w, pads>."""

_WEIGHTS = Ring(32)


def repetitions(ring: Ring) -> int:
    """How often a check is done at once.

    Args:
        ring: ring of the plan.
    """
    return 1 if ring.bits == _WEIGHTS.bits else _WEIGHTS.bits


def weights(ring: Ring, stream: RandomStream, rows: int, cells: int) -> Iterator[Words]:
    """Run by owner and receiver: the weights of the next rows.

    Args:
        ring: ring of the plan.
        stream: stream of the weights, that no dealer knows.
        rows: number of rows.
        cells: columns of the product.

    Yields:
        For each repetition shape (rows, cells), uint64.
    """
    words = _WEIGHTS.uniform(stream, rows, cells).astype(np.uint64)
    if repetitions(ring) == 1:
        yield words
        return
    for bit in range(_WEIGHTS.bits):
        yield (words >> np.uint64(bit)) & np.uint64(1)


def combined(weight: Words, left: Words) -> Words:
    """Run by the owner: X, shape (rows, n).

    Args:
        weight: shape (rows, m * n).
        left: its mask, shape (rows, m).
    """
    parts = weight.reshape(*left.shape, -1)
    made: Words = np.einsum("rc,rcj->rj", left, parts)
    return made


def weighted(weight: Words, words: Words) -> Words:
    """Run by owner and receiver: the weighted sum of pads or of dealt words, shape ().

    Args:
        weight: shape (rows, m * n).
        words: shape (rows, m * n).
    """
    return np.asarray((weight * words).sum(dtype=np.uint64))


def inner(left: Words, right: Words) -> Words:
    """Run by the receiver, and by dealers of components: the inner products with B, shape (repetitions,).

    Args:
        left: X + X', or X'; for every repetition beside each other, shape (rows, repetitions * n).
        right: B, shape (rows, n).
    """
    parts = left.reshape(len(left), -1, right.shape[1])
    products: Words = np.einsum("rkj,rj->k", parts, right)
    return products
