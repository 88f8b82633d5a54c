from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.curator.mechanisms.parts.allocation import EXPECTED_L1, allocate, measurable


def test_a_budget_is_split_by_the_two_thirds_power_and_adds_up():
    parts = allocate(Fraction(1), [1, 8, 27])
    assert [float(part) for part in parts] == pytest.approx([1 / 14, 4 / 14, 9 / 14])
    assert Fraction(1) - Fraction(1, 2**70) < sum(parts) <= 1


def test_the_split_minimises_the_expected_error():
    """Against a fine search over two cliques of 10 and 200 cells."""
    shares = np.linspace(0.001, 0.999, 9999)
    errors = 10 / np.sqrt(shares) + 200 / np.sqrt(1 - shares)
    assert float(allocate(Fraction(1), [10, 200])[0]) == pytest.approx(shares[errors.argmin()], abs=2e-4)


class PublicFacts:
    """Public facts for `measurable`: only the noise at a cost."""

    domain = Domain.coded({"a": 4, "b": 4, "huge": 5000})

    def __init__(self, records):
        self.record_count = records

    def expected_sigma(self, view, rho):
        return float(2 * rho) ** -0.5


PAIRS = [("a", "b"), ("a", "huge"), ("b", "huge")]


def test_drops_marginals_of_too_much_noise_and_gives_their_budget_to_the_others():
    facts = PublicFacts(records=500)
    budget = Fraction(1, 50)
    alone, shared = (
        facts.expected_sigma(View(PAIRS[0]), allocate(budget, sizes)[0]) for sizes in ([16], [16, 20_000])
    )
    assert EXPECTED_L1 * 16 * alone < facts.record_count < EXPECTED_L1 * 16 * shared
    assert measurable(facts, PAIRS, budget) == [0]


def test_a_large_table_keeps_them_all_and_a_tiny_one_none():
    assert measurable(PublicFacts(records=10**9), PAIRS, Fraction(1, 50)) == [0, 1, 2]
    assert measurable(PublicFacts(records=1), PAIRS, Fraction(1, 50)) == []
