"""Opening of the noisy sum of all shares, and nothing else, to the curator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from ...data.interactions import differences
from ..arithmetic.ring import Ring, Words


def pairwise_mask(
    ring: Ring, me: int, pair_streams: Mapping[int, RandomStream], query: str, cells: int
) -> Words:
    """Run by a party: the mask of its answer; the masks of all parties sum to zero.

    Args:
        ring: ring of the shares.
        me: index of the party in the roster.
        pair_streams: index of every other party in the roster -> stream of the key shared with it.
        query: digest of the query; masks of parties that received different queries do not cancel.
        cells: length of the answer.

    Returns:
        Shape (cells,).
    """
    mask = np.zeros(cells, dtype=ring.dtype)
    for other, stream in pair_streams.items():
        words = ring.uniform(stream.child("pairwise mask", query), 1, cells)[0]
        mask += words if me < other else np.negative(words)
    return mask


def masked_answer(
    ring: Ring,
    share: Words,
    grid: int,
    noise: NDArray[np.int64],
    mask: Words,
    interaction: Sequence[int] = (),
    parts: int = 1,
) -> Words:
    """Run by a party: its share plus its noise, in units of 1/grid, plus its mask.

    Args:
        ring: ring of the shares.
        share: exact share, shape (cells,).
        grid: grid of the noise.
        noise: shape (cells,), in units of 1/grid.
        mask: pairwise mask, with the shape of the answer.
        interaction: shape of the marginal if only its differences are answered; else empty.
        parts: parts of one in which the share counts (`PrivacyUnit.parts`).

    Returns:
        Shape (cells,), or (differences,).
    """
    noisy = share * ring.dtype.type(grid // parts) + ring.words(noise)
    return (differences(noisy, interaction) if interaction else noisy) + mask


def opened_sum(ring: Ring, answers: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Run by the curator: the noisy counts, in units of 1/grid, from the answers of all parties.

    Args:
        ring: ring of the shares.
        answers: words of every party, as signed integers, shape (cells,).
    """
    total: Words = sum((ring.words(answer) for answer in answers), start=np.zeros(1, dtype=ring.dtype))
    return ring.as_signed(total)
