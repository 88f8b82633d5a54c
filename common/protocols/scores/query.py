"""Steps of a score query other than the rounds of the evaluators."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from ...errors import ProtocolError
from ..arithmetic.ring import Ring, Words
from ..masked.plan import MaskedPlan
from .shape import ScoreShape

Integers = NDArray[np.int64]


def references_digest(references: Iterable[Integers]) -> bytes:
    """SHA-256 of references, one clique after the other, as little-endian int64."""
    digest = hashlib.sha256()
    for reference in references:
        digest.update(np.ascontiguousarray(reference, dtype="<i8").data)
    return digest.digest()


def check_references(
    references: Integers, cells: Sequence[int], digest: bytes, largest: int, largest_total: int
) -> None:
    """Run by the role that subtracts the references: checks them against digest and bounds of the query.

    Args:
        references: shape (sum of cells,).
        cells: number of cells of each clique.
        digest: digest in the query.
        largest: bound in the query for one cell.
        largest_total: bound in the query for one clique.

    Raises:
        ProtocolError: they do not match the query; their scores could overflow.
    """
    starts = np.cumsum([0, *cells[:-1]])
    totals = np.add.reduceat(references, starts)
    # A sum that leaves the integers is far more than it may be, and in floating point stays so.
    rough = np.add.reduceat(references, starts, dtype=np.float64)
    if (
        references_digest([references]) != digest
        or references.min() < 0
        or references.max() > largest
        or totals.max() > largest_total
        or rough.max() > 1.5 * largest_total
    ):
        raise ProtocolError("the references are not those of the score query; send them again")


def score_shape(
    plan: MaskedPlan, cells: tuple[int, ...], sigma: float, largest_reference: int, largest_total: int
) -> ScoreShape:
    """The shape of a score query, in which neither a difference nor a noisy score overflows.

    Raises:
        ProtocolError: the plan's ring is too small.
    """
    largest = plan.parts * max(plan.record_count, largest_reference)
    score = plan.largest(sigma, plan.record_count + largest_total)
    return ScoreShape.holding(cells, max(largest, score), plan.ring)


def resharing_seed(pair_stream: RandomStream, query: str, place: int) -> bytes:
    """The 32 secret bytes from which a party and evaluators 1 and 2 derive their part of the party's cells.

    Args:
        pair_stream: stream of the key that the party shares with evaluator 1; of evaluators 1 and 2 for their
            own cells.
        query: digest of the score query.
        place: index of the party.
    """
    return pair_stream.child_key("score shares", query, str(place))


def share_to_send(ring: Ring, share: Words, seed: bytes) -> Words:
    """Run by every party but evaluator 0: the part of its share of the cells that it sends to evaluator 0.

    Guarantee: uniform to evaluator 0, which does not know the seed.

    Args:
        ring: ring of the share.
        share: shape (cells,).
        seed: see `resharing_seed`.
    """
    return share - _part(ring, seed, share.size)


def known_part(ring: Ring, seeds: Iterable[bytes], cells: int) -> Words:
    """Run by evaluators 1 and 2: b, the sum of what all parties subtract from their shares, shape (cells,).

    Args:
        ring: ring of the shares.
        seeds: see `resharing_seed`, of every party but evaluator 0.
        cells: number of cells.
    """
    parts = (_part(ring, seed, cells) for seed in seeds)
    return sum(parts, start=np.zeros(cells, dtype=ring.dtype))


def pair_stream_of(stream: RandomStream, query: str) -> RandomStream:
    """The stream of two evaluators for one score query.

    Args:
        stream: stream of the key that they share.
        query: digest of the score query.
    """
    return stream.child("scores", query)


def _part(ring: Ring, seed: bytes, cells: int) -> Words:
    words: Words = ring.uniform(RandomStream(seed), 1, cells)[0]
    return words


def exact_scores(counts: Sequence[Integers], references: Integers) -> Integers:
    """Run by a party that holds every clique: its exact scores, shape (cliques,)."""
    starts = np.cumsum([0, *(count.size for count in counts)])
    pieces = [references[a:b] for a, b in pairwise(starts)]
    return np.array([np.abs(c - r).sum() for c, r in zip(counts, pieces, strict=True)], dtype=np.int64)
