"""Steps of a score query other than the rounds of the evaluators."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...crypto.randomness import RandomStream
from ...errors import ProtocolError
from ..masked.plan import MaskedPlan
from ..masked.ring import Ring, Words
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
    """Run by the party that subtracts the references: checks them against digest and bounds of the query.

    Args:
        references: shape (sum of cells,).
        cells: number of cells of each clique.
        digest: digest in the query.
        largest: bound in the query for one cell.
        largest_total: bound in the query for one clique.

    Raises:
        ProtocolError: they do not match the query; their scores could overflow.
    """
    totals = np.add.reduceat(references, np.cumsum([0, *cells[:-1]]))
    if (
        references_digest([references]) != digest
        or references.min() < 0
        or references.max() > largest
        or totals.max() > largest_total
    ):
        raise ProtocolError("the references are not those of the score query; send them again")


def score_shape(
    plan: MaskedPlan, cells: tuple[int, ...], sigma: float, largest_reference: int, largest_total: int
) -> ScoreShape:
    """The shape of a score query, in which neither a difference nor a noisy score overflows.

    Raises:
        ProtocolError: the plan's ring is too small.
    """
    largest = max(plan.record_count, largest_reference)
    score = plan.largest(sigma, plan.record_count + largest_total)
    return ScoreShape.holding(cells, largest, plan.ring, score)


def reshared(ring: Ring, share: Words, pair_stream: RandomStream, query: str) -> tuple[Words, Words]:
    """Run by a party that is not an evaluator: reshares its share of the cells to the two evaluators.

    Args:
        ring: ring of the share.
        share: shape (cells,).
        pair_stream: stream of the key shared with evaluator 1, which draws the same words from it.
        query: digest of the score query.

    Returns:
        The part that it sends to evaluator 0, and the part that evaluator 1 derives without a message.
    """
    part = ring.uniform(pair_stream.child("score shares", query), 1, share.size)[0]
    return share - part, part


def exact_scores(counts: Sequence[Integers], references: Integers) -> Integers:
    """Run by a party that holds every clique: its exact scores, shape (cliques,)."""
    starts = np.cumsum([0, *(count.size for count in counts)])
    pieces = [references[a:b] for a, b in pairwise(starts)]
    return np.array([np.abs(c - r).sum() for c, r in zip(counts, pieces, strict=True)], dtype=np.int64)
