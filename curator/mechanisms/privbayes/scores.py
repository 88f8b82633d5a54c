"""Scores of pairs: noisy distances from independence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ....common.data.domain import Clique, Domain
from ....common.data.view import View
from ....common.measurement import Measurement
from ..parts.steps import PublicFacts
from .table_consistency import NoisyTable, nonnegative

Array = NDArray[np.float64]

LARGEST_COUNTED_CELLS = 2**22
"""Most single cells of a table; parties count single cells before they add up boxes."""


def countable(domain: Domain, clique: Sequence[str]) -> bool:
    """Whether parties can count the single cells of a clique."""
    return domain.cells(clique) <= LARGEST_COUNTED_CELLS


def pairs_to_score(facts: PublicFacts, budget: Fraction) -> list[Clique]:
    """All pairs of attributes with several values that the protocol can measure.

    Args:
        facts: public facts of the table and the protocol.
        budget: budget of all scores, zCDP.
    """
    return [
        pair
        for pair in combinations(facts.domain.names, 2)
        if min(facts.domain.shape(pair)) > 1
        and countable(facts.domain, pair)
        and math.isfinite(facts.expected_sigma(View(pair), budget))
    ]


def independent_counts(
    one_way: Iterable[Measurement], pairs: Iterable[Clique], records: float
) -> dict[Clique, Array]:
    """Expected counts of each pair's cells if its attributes were independent.

    Args:
        one_way: noisy marginals of all attributes.
        pairs: pairs of attributes in domain order.
        records: sum of the counts of each pair.
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
    """Distances from independence, minus the expected effect of sampling.

    Args:
        distances: distances in records.
        expected: counts of the pairs' cells if their attributes were independent.
        rounded: whether the distances are from these counts rounded to integers.
    """
    return {pair: found - sampling_distance(expected[pair], rounded) for pair, found in distances.items()}


def sampling_distance(expected: Array, rounded: bool) -> float:
    """Expected L1 distance of Poisson counts from their means, or from the rounded means.

    This is the expected distance of a sampled table whose attributes are independent.
    """
    # Late: other mechanisms need nothing of SciPy, which takes a tenth of a second.
    from scipy.special import pdtr

    reference = np.rint(expected) if rounded else expected
    below = np.floor(reference)
    # E|X - r| = m - r + 2 E max(0, r - X), and k P(X = k) = m P(X = k - 1).
    short = reference * pdtr(below, expected) - expected * np.where(below > 0, pdtr(below - 1, expected), 0.0)
    return float((expected - reference + 2 * short).sum())
