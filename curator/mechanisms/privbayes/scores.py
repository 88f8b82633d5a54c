"""Scores of pairs: how far each is from independence, by what noise leaves of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from ....common.data.domain import Clique, Domain
from ....common.measurement import Measurement
from ..parts.steps import PublicFacts
from .table_consistency import NoisyTable, nonnegative

Array = NDArray[np.float64]

LARGEST_COUNTED_CELLS = 2**22
"""Parties count single cells before they add up boxes: no table has more of them."""


def countable(domain: Domain, clique: Sequence[str]) -> bool:
    """Whether parties can count the single cells of a clique."""
    return domain.cells(clique) <= LARGEST_COUNTED_CELLS


def pairs_to_score(facts: PublicFacts, budget: Fraction) -> list[Clique]:
    """All pairs that have a score and that the protocol can measure.

    Args:
        facts: of the table and the protocol.
        budget: of all scores.
    """
    return [
        pair
        for pair in combinations(facts.domain.names, 2)
        if min(facts.domain.shape(pair)) > 1
        and countable(facts.domain, pair)
        and math.isfinite(facts.expected_sigma(pair, budget))
    ]


def independent_counts(
    one_way: Iterable[Measurement], pairs: Iterable[Clique], records: float
) -> dict[Clique, Array]:
    """Expected counts of each pair's cells, were its attributes independent.

    Args:
        one_way: noisy marginals of all attributes.
        pairs: in domain order.
        records: that the counts add up to.
    """
    shares = {}
    for measurement in one_way:
        values = nonnegative(NoisyTable((), measurement.values, 1.0)).values
        total = values.sum()
        shares[measurement.clique[0]] = values / total if total > 0 else np.full(values.size, 1 / values.size)
    return {pair: records * np.outer(*(shares[name] for name in pair)).ravel() for pair in pairs}


def without_sampling(
    distances: Mapping[Clique, float], expected: Mapping[Clique, Array], rounded: bool
) -> dict[Clique, float]:
    """Distances from independence, less what sampling alone adds to each.

    Args:
        distances: in records.
        expected: counts of the pairs' cells, were their attributes independent.
        rounded: whether distances are from these counts rounded to whole numbers.
    """
    return {pair: found - sampling_distance(expected[pair], rounded) for pair, found in distances.items()}


def sampling_distance(expected: Array, rounded: bool) -> float:
    """Expected L1 distance of Poisson counts from their means, or from these rounded to whole numbers.

    So far from independence is a table whose attributes are independent: the records that it happens to have.
    """
    reference = np.rint(expected) if rounded else expected
    below = np.floor(reference)
    # E|X - r| = m - r + 2 E max(0, r - X), and k P(X = k) = m P(X = k - 1).
    short = reference * pdtr(below, expected) - expected * np.where(below > 0, pdtr(below - 1, expected), 0.0)
    return float((expected - reference + 2 * short).sum())
