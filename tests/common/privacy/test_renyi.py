"""Charges at one Rényi order, against numerical integration, dp-accounting and closed forms."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant

from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.conversion import zcdp_delta, zcdp_rho
from dpmosaic.common.privacy.renyi import (
    affordable_steps,
    noise_multiplier,
    renyi_order,
    sampled_gaussian_rho,
)

PLANS = [(0.01, 1.0, 1000), (0.01, 4.0, 300), (0.001, 0.7, 5000), (0.2, 6.0, 50), (1.0, 30.0, 10)]


def sampled(rate, multiplier, steps):
    once = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(multiplier))
    return dp_accounting.SelfComposedDpEvent(once, steps)


def integrated(rate, multiplier, alpha):
    """The larger of the two Rényi divergences of the mixture and the Gaussian, by the trapezoidal rule."""
    x = np.linspace(-12 * multiplier - alpha, 12 * multiplier + alpha, 400_001)
    plain = -(x**2) / (2 * multiplier**2) - math.log(multiplier * math.sqrt(2 * math.pi))
    mixed = plain + np.log1p(rate * np.expm1((2 * x - 1) / (2 * multiplier**2)))

    def divergence(p, q):
        return math.log(np.trapezoid(np.exp(alpha * p + (1 - alpha) * q), x)) / (alpha - 1)

    return max(divergence(mixed, plain), divergence(plain, mixed))


@pytest.mark.parametrize("alpha", [2, 3, 7])
@pytest.mark.parametrize(("rate", "multiplier"), [(0.1, 1.0), (0.3, 2.0), (0.01, 0.8)])
def test_the_cost_of_a_step_is_the_divergence_of_its_two_outputs(rate, multiplier, alpha):
    cost = sampled_gaussian_rho(rate, multiplier, 1, alpha)
    assert cost * alpha == pytest.approx(integrated(rate, multiplier, alpha), rel=1e-6)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("alpha", [2, 12, 40])
def test_the_cost_at_an_order_is_that_of_dp_accounting(plan, alpha):
    accountant = RdpAccountant(orders=[alpha]).compose(sampled(*plan))
    divergence = sampled_gaussian_rho(*plan, alpha) * alpha
    delta = 1e-12
    expected = divergence + math.log1p(-1 / alpha) - math.log(delta * alpha) / (alpha - 1)
    assert accountant.get_epsilon(delta) == pytest.approx(expected, rel=1e-9)
    assert divergence >= accountant.get_epsilon(delta) - (expected - divergence)


def test_without_sampling_a_step_costs_what_zcdp_charges():
    assert sampled_gaussian_rho(1.0, 5.0, 7, 9) == pytest.approx(7 / 50, rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-9])
def test_one_whole_order_gives_nearly_all_that_zcdp_gives(epsilon, delta):
    order = renyi_order(epsilon, delta)
    best = zcdp_rho(epsilon, delta)
    assert 0.97 * best < order.zcdp_rho <= best
    assert zcdp_delta(order.zcdp_rho, epsilon) <= delta


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_zcdp_and_sampled_noise_that_add_up_to_the_order_keep_the_promise_by_dp_accounting(epsilon):
    delta, rate, steps = 1e-6, 0.01, 800
    order = renyi_order(epsilon, delta)
    half = order.zcdp_rho / 2
    multiplier = noise_multiplier(rate, steps, order.alpha, half)
    accountant = RdpAccountant()
    accountant.compose(dp_accounting.ZCDpEvent(half)).compose(sampled(rate, multiplier, steps))
    assert 0.97 * epsilon < accountant.get_epsilon(delta) <= epsilon * (1 + 1e-6)


def test_the_multiplier_is_the_least_that_fits_and_so_many_steps_can_be_paid_and_no_more():
    multiplier = noise_multiplier(0.02, 500, 15, 0.05)
    assert sampled_gaussian_rho(0.02, multiplier, 500, 15) <= 0.05
    assert sampled_gaussian_rho(0.02, multiplier * (1 - 1e-6), 500, 15) > 0.05
    assert affordable_steps(0.02, multiplier, 15, 0.05) in (499, 500)
    assert affordable_steps(0.02, multiplier, 15, 0.025) in (249, 250)


def test_refuses_a_promise_too_small_for_every_order():
    with pytest.raises(BudgetError, match="expected a larger one with delta = 1e-09"):
        renyi_order(1e-4, 1e-9)


def test_refuses_a_budget_too_small_for_any_noise():
    with pytest.raises(BudgetError, match="expected a budget that allows some noise"):
        noise_multiplier(1.0, 100, 5, 1e-14)


@pytest.mark.parametrize(("rate", "multiplier"), [(0.0, 1.0), (1.1, 1.0), (0.5, 0.0), (0.5, math.nan)])
def test_refuses_a_rate_or_a_multiplier_out_of_range(rate, multiplier):
    with pytest.raises(ValueError, match="rate in"):
        sampled_gaussian_rho(rate, multiplier, 1, 2)
