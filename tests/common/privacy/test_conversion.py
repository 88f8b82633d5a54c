import math

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant
from scipy import stats

from dpmosaic.common.privacy import conversion

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


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_the_gaussian_conversion_agrees_with_dp_accounting(epsilon):
    mu = conversion.gaussian_mu(epsilon, 1e-9)
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.GaussianDpEvent(1 / mu))
    assert accountant.get_epsilon(1e-9) == pytest.approx(epsilon, rel=1e-4)


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
