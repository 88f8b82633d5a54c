import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant
from scipy import stats
from scipy.special import log_ndtr

from dpmosaic.common.privacy import conversion, cost
from dpmosaic.common.privacy.budget import Budget
from dpmosaic.common.privacy.cost import Adjacency

ROOT = Path(__file__).parents[3]

EPSILONS = [0.01, 0.1, 1.0, 10.0, 50.0]
DELTAS = [1e-3, 1e-6, 1e-9, 1e-12]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_calibrated_gaussian_meets_the_promise_and_a_little_less_noise_does_not(epsilon, delta):
    mu = conversion.gaussian_mu(epsilon, delta)
    exact = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
    assert exact == pytest.approx(delta, rel=1e-6)
    assert conversion.gaussian_delta(mu, epsilon) <= delta
    assert conversion.gaussian_delta(mu * 1.0001, epsilon) > delta


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_gaussian_conversion_agrees_with_dp_accounting(epsilon):
    mu = conversion.gaussian_mu(epsilon, 1e-9)
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.GaussianDpEvent(1 / mu))
    assert accountant.get_epsilon(1e-9) == pytest.approx(epsilon, rel=1e-4)


@pytest.mark.parametrize(("zero_out", "replaced"), [(1.0, 2.07), (4.0, 8.59)])
def test_documents_state_epsilon_against_replacing_a_record_at_the_noise_of_zero_out(zero_out, replaced):
    """A score moves by 2 in place of 1, which doubles mu; nothing that is measured moves by more."""
    sigma = cost.score_sigma(Budget(zero_out, 1e-9).granted(gaussian_only=True), Adjacency.ZERO_OUT, 1)
    mu = {adjacency: math.sqrt(2 * cost.score_cost(sigma, adjacency, 1)) for adjacency in Adjacency}
    marginals, interactions = (
        math.sqrt(
            2
            * cost.gaussian_cost(
                cost.gaussian_sigma(Fraction(1, 2), Adjacency.ZERO_OUT, shape), Adjacency.REPLACE_ONE, shape
            )
        )
        for shape in ((), (2, 2))
    )
    assert conversion.gaussian_epsilon(mu[Adjacency.ZERO_OUT], 1e-9) == pytest.approx(zero_out, rel=1e-4)
    assert round(conversion.gaussian_epsilon(mu[Adjacency.REPLACE_ONE], 1e-9), 2) == replaced
    assert max(marginals, interactions) <= 2.0001
    assert f"{replaced}" in (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_zcdp_conversion_agrees_with_dp_accounting(epsilon):
    orders = [1 + x / 100 for x in range(1, 2000)] + [21 + x / 4 for x in range(4000)]
    accountant = rdp_privacy_accountant.RdpAccountant(orders)
    accountant.compose(dp_event.ZCDpEvent(conversion.zcdp_rho(epsilon, 1e-9)))
    assert accountant.get_epsilon(1e-9) == pytest.approx(epsilon, rel=1e-4)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_conversions_are_inverse_to_each_other(epsilon, delta):
    rho, mu = conversion.zcdp_rho(epsilon, delta), conversion.gaussian_mu(epsilon, delta)
    assert conversion.zcdp_epsilon(rho, delta) == pytest.approx(epsilon, rel=1e-6)
    assert conversion.gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_exact_calibration_allows_most_and_the_papers_conversion_least(epsilon, delta):
    gaussian = conversion.gaussian_mu(epsilon, delta) ** 2 / 2
    assert gaussian > conversion.zcdp_rho(epsilon, delta) > conversion.bun_steinke_rho(epsilon, delta)


def test_the_papers_conversion_solves_its_own_equation():
    rho = conversion.bun_steinke_rho(1.0, 1e-9)
    assert rho + 2 * math.sqrt(rho * math.log(1e9)) == pytest.approx(1.0)


def test_conversions_hold_at_the_ends_of_the_range():
    assert conversion.gaussian_delta(conversion.gaussian_mu(1e-6, 1e-30), 1e-6) <= 1e-30 * (1 + 1e-5)
    assert conversion.zcdp_rho(1e6, 1e-9) > 9e5


@pytest.mark.parametrize("delta", [1e-18, 1e-16, 3.8485876122315344e-14, 1e-9, 1e-3])
def test_the_promise_is_met_where_the_smaller_probability_has_few_digits(delta):
    for epsilon in (*np.linspace(640, 780, 300), 712.4583576541554):
        mu = conversion.gaussian_mu(epsilon, delta)
        upper, lower = log_ndtr(mu / 2 - epsilon / mu), log_ndtr(-mu / 2 - epsilon / mu)
        assert math.exp(upper) - math.exp(epsilon + lower) <= delta * (1 + 1e-9)
