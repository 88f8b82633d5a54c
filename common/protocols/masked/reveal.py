"""How a sum of shares is opened to the curator with noise, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from ...data.interactions import differences
from .ring import Ring, Words


def pairwise_mask(
    ring: Ring, me: int, pair_streams: Mapping[int, RandomStream], query: str, cells: int
) -> Words:
    """Run by a party: the mask of its answer; those of all parties add up to zero.

    Args:
        ring: of the shares.
        me: the party's place in the roster.
        pair_streams: place in the roster of every other party -> the stream of the key shared with it.
        query: digest of the whole query: the masks of parties that were asked different things do not cancel.
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
) -> Words:
    """Run by a party: its share and its noise in units of 1/grid, under its mask.

    Args:
        ring: of the shares.
        share: shape (cells,).
        grid: of the noise.
        noise: shape (cells,), in units of 1/grid.
        mask: shape of the answer.
        interaction: shape of the marginal where its differences alone are answered; else empty.

    Returns:
        Shape (cells,), or (differences,).
    """
    noisy = share * ring.dtype.type(grid) + ring.words(noise)
    return (differences(noisy, interaction) if interaction else noisy) + mask


def opened_sum(ring: Ring, answers: Iterable[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Run by the curator: the noisy counts, in units of 1/grid, once every party of the roster has answered.

    Args:
        ring: of the shares.
        answers: every party's words, as signed integers, shape (cells,).
    """
    total: Words = sum((ring.words(answer) for answer in answers), start=np.zeros(1, dtype=ring.dtype))
    return ring.signed(total)
