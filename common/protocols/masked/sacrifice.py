"""Check of words of a row-wise product, by sacrificing a second product that nothing else uses.

It is stated here for words that dealers deal. `opened_rows` has the same check of what parties open.

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

from collections.abc import Iterable, Iterator

import numpy as np

from ...crypto.randomness import RandomStream
from ..arithmetic.ring import Ring, Words

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


def combine(weight: Words, factor: Words, right: bool = False) -> Words:
    """Run by the owner: X, shape (rows, cells of the other factor).

    Args:
        weight: shape (rows, m * n).
        factor: its mask, shape (rows, m); or (rows, n) if it owns the right factor.
        right: whether it does.
    """
    rows, cells = factor.shape
    if right:
        made: Words = np.einsum("rj,rcj->rc", factor, weight.reshape(rows, -1, cells))
    else:
        made = np.einsum("rc,rcj->rj", factor, weight.reshape(rows, cells, -1))
    return made


def weighted_sum(weight: Words, words: Words) -> Words:
    """Run by owner and receiver: the weighted sum of pads or of tested words, shape ().

    Args:
        weight: shape (rows, m * n).
        words: shape (rows, m * n).
    """
    return np.asarray((weight * words).sum(dtype=np.uint64))


def inner(left: Words, right: Words) -> Words:
    """Run by the receiver, and by whoever is tested: the inner products with B, shape (repetitions,).

    Args:
        left: X + X', or X'; for every repetition beside each other, shape (rows, repetitions * n).
        right: B, shape (rows, n).
    """
    parts = left.reshape(len(left), -1, right.shape[1])
    products: Words = np.einsum("rkj,rj->k", parts, right)
    return products


def hidden_sums(
    ring: Ring,
    stream: RandomStream,
    blocks: Iterable[tuple[Words, Words, Words]],
    pad: Words,
    right: bool = False,
) -> Iterator[Words]:
    """Run by the owner: X + X', block by block, then one row with the sums <w, pads> + z'.

    Args:
        ring: ring of the plan.
        stream: stream of the weights.
        blocks: for each block of rows the mask A, shape (rows, m), the pads, shape (rows, m * n), and X',
            shape (rows, repetitions * n), which is overwritten.
        pad: z', shape (repetitions,).
        right: whether A is the right factor, of shape (rows, n), and X' of shape (rows, repetitions * m).
    """
    sums = pad.copy()
    width = pad.size
    for mask, pads, sent in blocks:
        columns = sent.shape[1] // pad.size
        width = sent.shape[1]
        for k, weight in enumerate(weights(ring, stream, *pads.shape)):
            sent[:, k * columns : (k + 1) * columns] += combine(weight, mask, right)
            sums[k] += weighted_sum(weight, pads)
        yield sent
    row = np.zeros((1, width), dtype=np.uint64)
    row[0, : pad.size] = sums
    yield row


def unpaired_check(sent: Iterable[Words], others: Iterator[Words], records: int, times: int) -> Words:
    """Run by the receiver: <w, pads> + z' less <X + X', B>, shape (repetitions,).

    Args:
        sent: what an owner sent (`hidden_sums`), in blocks of any rows; B has blocks of the same.
        others: B, shape (rows, n) at a time.
        records: number of rows of the product.
        times: number of repetitions.
    """
    left, start = np.zeros(times, dtype=np.uint64), 0
    for block in sent:
        size = min(records - start, len(block))
        if size:
            left = left - inner(block[:size], next(others))
        if size < len(block):
            left = left + block[-1, :times]
        start += size
    return left


def weighted_sums(ring: Ring, stream: RandomStream, blocks: Iterable[Words]) -> Words:
    """Run by the receiver: <w, C> of the words that are tested, shape (repetitions,).

    Args:
        ring: ring of the plan.
        stream: stream of the weights.
        blocks: the words, shape (rows, m * n) at a time.
    """
    sums = np.zeros(repetitions(ring), dtype=np.uint64)
    for words in blocks:
        sums += np.array([weighted_sum(weight, words) for weight in weights(ring, stream, *words.shape)])
    return sums
