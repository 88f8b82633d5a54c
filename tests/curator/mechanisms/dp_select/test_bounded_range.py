"""Lemma 6, against numerical suprema and dp-accounting."""

import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from scipy.stats import binom

from dpmosaic.common.privacy.conversion import zcdp_epsilon
from dpmosaic.curator.mechanisms.dp_select.bounded_range import (
    composed_epsilon,
    lemma_step_epsilon,
    step_epsilon_for,
    steps_cost,
)

CASES = [(1.0, 1, 1e-6), (2.0, 8000, 1e-9), (0.5, 40_000, 1e-5), (8.0, 300, 1e-9), (2.0, 3, 1e-3)]


def worst_responses(epsilon):
    """Mechanisms of two answers whose privacy losses are t and t - epsilon: the worst of bounded range."""
    for t in np.linspace(0.02, 0.98, 25) * epsilon:
        yield t, (math.exp(epsilon) - math.exp(t)) / math.expm1(epsilon)


def delta_of_composed(epsilon, steps, at):
    """The largest delta at an epsilon over those mechanisms, each repeated, by summing binomial masses."""
    largest = 0.0
    for t, chance in worst_responses(epsilon):
        high = np.arange(steps + 1)
        loss = high * t + (steps - high) * (t - epsilon)
        masses = binom.pmf(high, steps, chance)
        largest = max(largest, float((masses * np.maximum(0, -np.expm1(at - loss))).sum()))
    return largest


@pytest.mark.parametrize(("epsilon", "steps", "delta"), CASES)
def test_the_search_finds_the_largest_step_that_the_lemma_allows(epsilon, steps, delta):
    found = lemma_step_epsilon(epsilon, steps, delta)
    assert composed_epsilon(found, steps, delta) <= epsilon
    if found < epsilon:
        assert composed_epsilon(found * (1 + 1e-9), steps, delta) > epsilon


@pytest.mark.parametrize(("step", "steps"), [(0.5, 20), (0.05, 400), (2.0, 3)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_the_lemma_holds_for_the_worst_mechanisms_of_bounded_range(step, steps, delta):
    claimed = composed_epsilon(step, steps, delta)
    assert delta_of_composed(step, steps, claimed) <= delta
    assert delta_of_composed(step, steps, claimed / 3) > delta


@pytest.mark.parametrize(("epsilon", "steps", "delta"), CASES)
def test_dp_accounting_finds_no_more_epsilon_than_the_lemma_states(epsilon, steps, delta):
    step = lemma_step_epsilon(epsilon, steps, delta)
    accountant = RdpAccountant().compose(dp_accounting.ZCDpEvent(float(steps_cost(step, steps))))
    if steps > 100:
        assert 0.75 * epsilon < accountant.get_epsilon(delta) < epsilon
        assert zcdp_epsilon(float(steps_cost(step, steps)), delta) < epsilon
    assert min(steps * step, accountant.get_epsilon(delta)) <= epsilon * (1 + 1e-9)


def test_two_steps_cost_no_more_than_two_epsilons_and_no_less_than_their_divergence():
    assert composed_epsilon(1.0, 2, 1e-9) == 2.0
    ratio = 1.0 / (1 - math.exp(-1.0))
    closed = 900 * (ratio - 1 - math.log(ratio)) + math.sqrt(900 / 2 * math.log(1e3))
    assert composed_epsilon(1.0, 900, 1e-3) == pytest.approx(closed)


def test_the_divergence_of_tiny_steps_is_a_quarter_of_the_square_over_two():
    tiny = composed_epsilon(1e-5, 10**9, 1 - 1e-12)
    assert tiny == pytest.approx(10**9 * 1e-10 / 8, rel=1e-3)


@pytest.mark.parametrize("steps", [1, 40, 8000])
@pytest.mark.parametrize("rho", [Fraction(1, 10**9), Fraction(1, 50), Fraction(10**6)])
def test_steps_that_share_a_budget_never_cost_more_and_nearly_all_of_it(rho, steps):
    found = step_epsilon_for(rho, steps)
    assert rho * Fraction(9999, 10000) < steps_cost(found, steps) <= rho


def test_a_budget_too_small_to_be_counted_gives_steps_that_cost_nothing_of_it():
    assert step_epsilon_for(Fraction(1, 2**64), 1000) == 0.0
