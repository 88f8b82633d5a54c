"""Noisy counts: each is charged before its noise is drawn."""

from fractions import Fraction

import numpy as np
import pytest

from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.cost import Adjacency, PrivacyUnit, gaussian_cost, grid_of
from dpmosaic.common.privacy.partition_selection import threshold
from dpmosaic.synthesis.learning.private_counts import PrivateCounts

CELLS = np.array([5, 0, 12, 7])
MANY = np.arange(100)
EXACT = 1e8

ASKED = {
    "total": lambda counts, count, rho: counts.total("rows", 24, rho),
    "histograms": lambda counts, count, rho: counts.histograms("forms", {"x": count, "y": count}, rho / 2),
    "ladders": lambda counts, count, rho: counts.ladders(
        "range", {"x": (100, count), "y": (100, count)}, rho / 2
    ),
    "frequent": lambda counts, count, rho: counts.frequent("texts", "x", count, rho, 1e-9),
}


@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_what_is_spent_is_the_cost_of_the_noise_that_was_drawn(private_counts, ask, adjacency):
    counts = private_counts(1.0, adjacency=adjacency)
    ask(counts, lambda: MANY, 0.5)
    charges = counts.accountant.charges
    unit = PrivacyUnit(adjacency)
    assert counts.accountant.spent == sum(gaussian_cost(charge.sigmas[0][0], unit) for charge in charges)
    assert Fraction(0.4999) < counts.accountant.spent <= Fraction(0.5)
    assert counts.left == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_every_count_is_charged_before_it_is_made(private_counts, ask):
    counts = private_counts(1.0)
    spent = []

    def count():
        spent.append(counts.accountant.spent)
        return MANY

    ask(counts, count, 0.5)
    assert all(before == counts.accountant.spent for before in spent)


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_count_beyond_the_grant_is_refused_before_rows_are_counted(private_counts, ask, monkeypatch):
    counts = private_counts(0.25)
    monkeypatch.setattr(PrivateCounts, "_add_noise", _counting)
    with pytest.raises(BudgetError):
        ask(counts, _counting, 0.5)
    assert counts.accountant.spent <= Fraction(0.25)


def _counting(*_):
    raise AssertionError("rows were counted")


def test_a_large_budget_makes_counts_exact(private_counts):
    counts = private_counts(10 * EXACT)
    total, variance = counts.total("rows", 24, EXACT)
    assert total == pytest.approx(24, abs=1e-2)
    assert variance < 1e-6
    found = counts.histograms("forms", {"x": lambda: CELLS}, EXACT)["x"]
    assert found.values == pytest.approx(CELLS, abs=1e-2)
    finest, *coarser = counts.ladders("range", {"x": (100, lambda: MANY)}, EXACT)["x"]
    assert finest.values == pytest.approx(MANY, abs=1e-2)
    assert coarser
    for one in coarser:
        assert sum(one.values) == pytest.approx(sum(MANY), abs=1e-2)
        assert len(one.values) < len(MANY)


def test_counts_that_do_not_exceed_their_noise_are_not_kept(private_counts):
    found = private_counts(1.0).histograms("forms", {"x": lambda: np.array([0, 1000])}, 0.02)["x"]
    assert found.sigma == pytest.approx(5.0, rel=1e-3)
    assert found.above_noise(4.0)[0] == 0.0
    assert found.above_noise(4.0)[1] == found.values[1]


def test_no_value_is_stated_whose_noisy_count_is_below_the_threshold(private_counts):
    for seed in range(20):
        counts = private_counts(1.0, seed)
        places, noisy = counts.frequent("texts", "x", lambda: MANY, 0.1, 1e-9)
        least = threshold(noisy.sigma, 1e-9) / grid_of(noisy.sigma)
        assert len(places)
        assert all(noisy.values >= least)
        assert least > 1
    assert all(charge.labels for charge in counts.accountant.charges)


def test_of_values_with_exact_counts_those_of_two_rows_are_stated_and_those_of_one_are_not(private_counts):
    counts = private_counts(EXACT)
    places, noisy = counts.frequent("texts", "x", lambda: np.array([1, 2, 1, 3]), EXACT, 1e-9)
    assert places.tolist() == [1, 3]
    assert noisy.values == pytest.approx([2, 3], abs=1e-2)


def test_one_seed_gives_one_noise_and_each_count_its_own(private_counts):
    def drawn(seed):
        counts = private_counts(1.0, seed)
        return [counts.total("rows", 0, 0.1)[0] for _ in range(3)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert len(set(drawn(1))) == 3
