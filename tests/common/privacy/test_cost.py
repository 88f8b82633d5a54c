import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmosaic.common.errors import BudgetError
from dpmosaic.common.privacy.cost import Adjacency, exponential_cost, gaussian_cost, gaussian_sigma, grid_of

RHOS = st.floats(1e-9, 1e6)


@given(RHOS, st.sampled_from(Adjacency))
def test_noise_for_a_budget_never_costs_more_than_the_budget_and_hardly_less(rho, adjacency):
    sigma = gaussian_sigma(Fraction(rho), adjacency)
    cost = gaussian_cost(sigma, adjacency)
    assert cost <= Fraction(rho)
    assert float(cost) >= rho * (1 - 1e-12) - 2.0**-62


@given(st.floats(2.0**-19, 1e9))
def test_a_gaussian_costs_the_textbook_amount_up_to_the_price_of_the_grid(sigma):
    textbook = 1 / (2 * sigma**2)
    assert textbook <= float(gaussian_cost(sigma, Adjacency.ZERO_OUT)) <= textbook * 1.00004 + 2.0**-63


def test_replacing_a_record_costs_twice_as_much_as_leaving_it_out():
    assert float(gaussian_cost(10.0, Adjacency.REPLACE_ONE)) == pytest.approx(
        2 * float(gaussian_cost(10.0, Adjacency.ZERO_OUT)), rel=1e-12
    )


@pytest.mark.parametrize("sigma", [0.3, 2.0, 17.0])
def test_discrete_noise_on_the_grid_is_a_post_processed_gaussian_of_the_charged_variance(sigma):
    """The lemma behind the charge (docs/adr/0003), by numerical integration.

    A Gaussian of variance s^2 - 2.5, then rounded at random with a discrete Gaussian of variance 2.5
    centred on it, has the probabilities of the discrete Gaussian of variance s^2 up to 1e-12.
    """
    scale = sigma * grid_of(sigma) / 32  # smaller than the grid allows, so that errors would show
    inner = math.sqrt(scale**2 - 2.5)
    points = np.arange(-30, 31)
    centres, step = np.linspace(-9 * scale, 9 * scale, 40_001, retstep=True)
    density = np.exp(-((centres / inner) ** 2) / 2) / (inner * math.sqrt(2 * math.pi)) * step
    reach = np.arange(-math.ceil(9 * scale) - 30, math.ceil(9 * scale) + 31)
    normaliser = np.zeros_like(centres)
    for z in reach:
        normaliser += np.exp(-((z - centres) ** 2) / 5)
    composed = np.array([(density * np.exp(-((z - centres) ** 2) / 5) / normaliser).sum() for z in points])
    direct = np.exp(-((points / scale) ** 2) / 2) / np.exp(-((reach / scale) ** 2) / 2).sum()
    assert np.allclose(composed, direct, rtol=1e-10, atol=0)


def test_the_exponential_mechanism_costs_an_eighth_of_its_squared_parameter():
    assert float(exponential_cost(2.0)) == pytest.approx(0.5)


def test_costs_are_multiples_of_the_unit_so_that_their_sums_are_exact():
    assert (gaussian_cost(math.pi, Adjacency.ZERO_OUT) * 2**64).denominator == 1


@pytest.mark.parametrize("rho", [0, -1])
def test_no_budget_buys_no_measurement(rho):
    with pytest.raises(BudgetError, match="grant more"):
        gaussian_sigma(Fraction(rho), Adjacency.ZERO_OUT)


def test_a_budget_that_calls_for_less_noise_than_the_grid_can_carry_is_refused():
    with pytest.raises(BudgetError, match="lower the budget"):
        gaussian_sigma(Fraction(10**15), Adjacency.ZERO_OUT)


def test_more_noise_than_can_be_drawn_is_refused_before_it_is_charged():
    with pytest.raises(BudgetError, match="at most 2\\^40"):
        gaussian_cost(2.0**41, Adjacency.ZERO_OUT)


def test_an_unknown_adjacency_is_refused_with_the_known_ones():
    with pytest.raises(BudgetError, match="zero-out, replace-one"):
        Adjacency.named("swap")
